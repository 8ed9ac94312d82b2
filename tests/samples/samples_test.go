// Package samples compares operators with the answers of other libraries, results and
// gradients: with PyTorch's to the samples of its own test suite, which
// tests/vectors/samples.py writes, and to those of tests/vectors/structured.py, of
// operators whose meaning is in how elements meet, such as convolution, indexing and
// losses. Fourier transforms are compared with NumPy's. What is refused here and taken there
// stands in refused.txt with a reason, what is answered otherwise on purpose in
// differs.txt.
package samples

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/sinter-go/sinter/backend/all"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

var (
	path     = flag.String("samples", committed, "`file` of samples")
	specials = flag.String("special", committedSpecial, "`file` of samples of special values")
	listed   = flag.Bool("refused", false, "print every sample that is refused")
)

// tensorJSON is an operand or a result. An operand may also be a number or a list.
type tensorJSON struct {
	DType  string
	Shape  []int
	Data   string
	Number any
	List   []tensorJSON
}

type sample struct {
	Op      string
	In      map[string]tensorJSON
	Attrs   map[string]any
	Out     []tensorJSON
	Refused string        // PyTorch's message, in the place of results
	Grad    []*tensorJSON // by tensor operand, in the order of the signature; null where none is wanted
}

// engine is what backward passes are made of.
var engine = core.Operators{
	Add: func(x, y *core.Tensor) *core.Tensor { return ops.Add(x, y) },
	OnesLike: func(x *core.Tensor) *core.Tensor {
		return ops.Ones(x.Shape(), core.PlacementLike(x))
	},
	Clone: core.Copy,
}

// errUnbound marks samples whose operator or arguments the schema has no more.
var errUnbound = errors.New("cannot be bound")

// The samples that every reason in the lists is of, but those behind otherSamples.
const (
	committed        = "samples.jsonl.gz"
	committedSpecial = "special.jsonl.gz"
)

// TestSamples holds every sample against the operator of its name.
func TestSamples(t *testing.T) {
	refusals, others := readReasons(t, "refused.txt", *path == committed), readReasons(t, "differs.txt", *path == committed)
	refused, differing := hold(t, *path, refusals, others)
	if *path == committed && !testing.Short() {
		for _, got := range append(stale(refusals, refused), stale(others, differing)...) {
			t.Errorf("%s: this reason is of no sample any more", got)
		}
	}
}

// TestSpecial does the same with operands that are full of infinities, NaN, zeros of both
// signs and numbers near the ends of the range, and with the gradients there.
func TestSpecial(t *testing.T) {
	ours := *specials == committedSpecial
	refusals, others := readReasons(t, "refused.txt", ours), readReasons(t, "special.txt", ours)
	maps.Copy(refusals, others)
	refused, differing := hold(t, *specials, refusals, others)
	maps.Copy(differing, refused)
	if ours && !testing.Short() {
		for _, got := range stale(others, differing) {
			if simd.Active() != simd.Portable || !strings.HasSuffix(others[got], ofOrder) { // without vectors it may be PyTorch's
				t.Errorf("%s: this reason is of no sample any more", got)
			}
		}
	}
}

// ofOrder ends reasons of sums whose order is another without vector instructions.
const ofOrder = "depends on the order"

// TestEdges does the same with the calls that tests/vectors/edges.py makes: where an early
// version was wrong, or refused what people expect to work.
func TestEdges(t *testing.T) {
	reasons := readReasons(t, "edges.txt", true)
	refused, _ := hold(t, "edges.jsonl.gz", reasons, nil)
	if testing.Short() {
		return
	}
	for _, got := range stale(reasons, refused) {
		t.Errorf("%s: this reason is of no call any more", got)
	}
}

// TestErrors: what PyTorch refuses is refused, or stands in taken.txt with the reason.
func TestErrors(t *testing.T) {
	reasons, met := readReasons(t, "taken.txt", true), map[string]int{}
	err := each("errors.jsonl.gz", func(line int, s sample) {
		o := caseOf(s.Op)
		if o == nil {
			t.Errorf("line %d: no operator %s: run tests/vectors/errors.py again", line, s.Op)
			return
		}
		refusal, err := check(o, s)
		switch key := s.Op + " " + s.dtype(); {
		case refusal != nil || err != nil:
		case reasons[key] != "" || reasons[s.Op] != "":
			met[key]++
		default:
			t.Errorf("line %d: %s(%s) is taken; PyTorch says: %s", line, s.Op, s.arguments(), s.Refused)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range stale(reasons, met) {
		t.Errorf("%s: this reason is of no call any more", got)
	}
}

func caseOf(name string) *optest.Operator {
	for i := range opcases.Cases {
		if opcases.Cases[i].Op.Name == name {
			return &opcases.Cases[i]
		}
	}
	return nil
}

// hold holds every sample of a file against the operator of its name, and counts those
// that are refused or answered otherwise, by operator and dtype.
func hold(t *testing.T, path string, refusals, others map[string]string) (refused, differing map[string]int) {
	table := map[string]*optest.Operator{}
	for i := range opcases.Cases {
		table[opcases.Cases[i].Op.Name] = &opcases.Cases[i]
	}
	passed := 0
	refused, differing = map[string]int{}, map[string]int{}
	err := each(path, func(line int, s sample) {
		if brief.Skip(line) {
			return
		}
		key := s.Op + " " + s.dtype()
		o := table[s.Op]
		if o == nil {
			t.Errorf("line %d: no operator %s: run tests/vectors/samples.py again", line, s.Op)
			return
		}
		switch refusal, err := check(o, s); {
		case err != nil && (others[key] != "" || others[s.Op] != ""):
			differing[key]++
		case err != nil:
			t.Errorf("line %d: %s(%s): %v", line, s.Op, s.arguments(), err)
		case refusal != nil:
			refused[key]++
			if *listed || refusals[key] == "" && refusals[s.Op] == "" {
				t.Errorf("line %d: %s(%s) is refused: %v", line, s.Op, s.arguments(), refusal)
			}
		default:
			passed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d samples agree; %d kinds of samples are refused for the reasons in refused.txt", passed, len(refused))
	if passed < brief.Times(400) {
		t.Errorf("only %d samples agree", passed)
	}
	return refused, differing
}

// stale returns the refusals that no sample met.
func stale(refusals map[string]string, refused map[string]int) (out []string) {
	for key := range refusals {
		met := refused[key] > 0
		for k := range refused {
			met = met || strings.HasPrefix(k, key+" ")
		}
		if !met {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// otherSamples begins the part of a list that only samples of other seeds than the
// committed ones meet.
const otherSamples = "# Of other samples:"

// readReasons reads lines "operator [dtype]: reason", those of the committed samples or all.
func readReasons(t *testing.T, name string, committed bool) map[string]string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == otherSamples && committed {
			break
		}
		if line == "" || line[0] == '#' {
			continue
		}
		key, reason, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Fatalf("%s: %q has no reason", name, line)
		}
		out[key] = strings.TrimSpace(reason)
	}
	return out
}

// each decodes the lines of a compressed file.
func each(name string, f func(line int, s sample)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(z, 1<<20)
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var s sample
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		f(line, s)
	}
}

// dtype is the first operand's, in the order of names, or the result's.
func (s sample) dtype() string {
	if len(s.Out) > 0 && len(s.In) == 0 {
		return s.Out[0].DType
	}
	for _, name := range []string{"x", "xs", "input", "weight"} {
		if in, ok := s.In[name]; ok {
			if len(in.List) > 0 {
				return in.List[0].DType
			}
			return in.DType
		}
	}
	return ""
}

func (s sample) arguments() string {
	var parts []string
	for name, in := range s.In {
		switch {
		case in.Number != nil:
			parts = append(parts, fmt.Sprintf("%s=%v", name, in.Number))
		case in.DType == "":
			for _, one := range in.List {
				parts = append(parts, fmt.Sprintf("%s=%s%v", name, one.DType, one.Shape))
			}
		default:
			parts = append(parts, fmt.Sprintf("%s=%s%v", name, in.DType, in.Shape))
		}
	}
	for name, a := range s.Attrs {
		parts = append(parts, fmt.Sprintf("%s=%v", name, a))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// check applies the operator of a sample. A refusal is the operator's error, err a
// wrong answer.
func check(o *optest.Operator, s sample) (refusal, err error) {
	args, leaves, err := bind(o, s)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		if i < len(s.Grad) && s.Grad[i] != nil {
			if err := leaf.SetRequiresGrad(true); err != nil {
				return nil, err
			}
		}
	}
	outs := o.Call(args)
	for _, out := range outs {
		if refusal := out.Err(); refusal != nil {
			return refusal, nil
		}
	}
	if len(outs) < len(s.Out) {
		return nil, fmt.Errorf("%d results, want %d", len(outs), len(s.Out))
	}
	for i, want := range s.Out {
		if err := want.compare(outs[i]); err != nil {
			return nil, fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil, gradients(s, outs, leaves)
}

// gradients compares the gradients of the sum of the results by the cotangents.
func gradients(s sample, outs, leaves []*core.Tensor) error {
	var inputs, roots, cots []*core.Tensor
	var wants []*tensorJSON
	for i, want := range s.Grad {
		if want != nil && i < len(leaves) {
			inputs, wants = append(inputs, leaves[i]), append(wants, want)
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	for _, out := range outs[:len(s.Out)] {
		if out.RequiresGrad() {
			roots, cots = append(roots, out), append(cots, cotangent(out))
		}
	}
	if len(roots) == 0 {
		return errors.New("the results have no gradient")
	}
	got, err := core.Gradients(roots, cots, inputs, core.BackwardOptions{Ops: &engine})
	if err != nil {
		return fmt.Errorf("backward: %w", err)
	}
	for i, want := range wants {
		if got[i] == nil {
			return fmt.Errorf("no gradient of operand %d", i)
		}
		if err := want.compare(got[i]); err != nil {
			return fmt.Errorf("gradient of operand %d: %w", i, err)
		}
	}
	return nil
}

// cotangent has cos(i) for element i, and sin(i) as imaginary part.
func cotangent(like *core.Tensor) *core.Tensor {
	n := ir.NumElements(like.Shape())
	data := make([]complex128, n)
	for i := range data {
		data[i] = complex(math.Cos(float64(i)), math.Sin(float64(i)))
	}
	if like.DType().IsComplex() {
		return core.Cast(core.From(data, like.Shape(), core.Placement{}), like.DType())
	}
	parts := make([]float64, n)
	for i := range parts {
		parts[i] = real(data[i])
	}
	return core.Cast(core.From(parts, like.Shape(), core.Placement{}), like.DType())
}

// bind makes the arguments of the call, and lists its tensors in order.
func bind(o *optest.Operator, s sample) (a optest.Args, leaves []*core.Tensor, err error) {
	used := 0
	for _, operand := range o.Op.In {
		in, ok := s.In[operand.Name]
		if !ok {
			if !operand.Variadic {
				a.In = append(a.In, nil)
			}
			continue
		}
		used++
		list := in.List
		if !operand.Variadic {
			list = []tensorJSON{in}
		}
		for _, one := range list {
			t, err := one.tensor()
			if err != nil {
				return a, nil, err
			}
			if one.Number == nil {
				leaves = append(leaves, t)
			}
			a.In = append(a.In, t)
		}
	}
	a.Attrs = slices.Clone(o.Defaults)
	for i, attr := range o.Op.Attrs {
		v, ok := s.Attrs[attr.Name]
		if !ok {
			continue
		}
		used++
		if a.Attrs[i], err = attribute(attr, v); err != nil {
			return a, nil, err
		}
	}
	if used != len(s.In)+len(s.Attrs) {
		return a, nil, fmt.Errorf("%w: the schema has other arguments", errUnbound)
	}
	a.Place = &core.Placement{Device: device.CPU}
	if len(s.In) == 0 && len(s.Out) > 0 {
		a.Place.DType, err = ir.ParseDType(s.Out[0].DType)
	}
	return a, leaves, err
}

// attribute converts an attribute's value from JSON.
func attribute(attr ir.Attr, v any) (ir.Value, error) {
	switch attr.Kind {
	case ir.AttrInts:
		list := []int{}
		for _, n := range v.([]any) {
			list = append(list, int(n.(float64)))
		}
		return ir.IntsValue(list), nil
	case ir.AttrEnum:
		i := slices.Index(attr.Enum, v.(string))
		if i < 0 {
			return ir.Value{}, fmt.Errorf("%w: no %s %q", errUnbound, attr.Name, v)
		}
		return ir.IntValue(i), nil
	case ir.AttrDType:
		d, err := ir.ParseDType(v.(string))
		return ir.IntValue(d), err
	case ir.AttrString:
		return ir.StringValue(v.(string)), nil
	}
	s, err := scalarOf(v)
	switch attr.Kind {
	case ir.AttrInt, ir.AttrBool:
		return ir.IntValue(s.Int()), err
	case ir.AttrFloat:
		return ir.FloatValue(s.Float()), err
	}
	return ir.ScalarValue(s), err
}

// scalarOf converts a number from JSON: integers as they are, floats as {"float": text},
// complex numbers as {"re": ..., "im": ...}.
func scalarOf(v any) (ir.Scalar, error) {
	switch v := v.(type) {
	case bool:
		return ir.BoolScalar(v), nil
	case float64:
		return ir.IntScalar(int64(v)), nil
	case map[string]any:
		if text, ok := v["float"]; ok {
			f, err := strconv.ParseFloat(text.(string), 64)
			return ir.FloatScalar(f), err
		}
		re, err := scalarOf(v["re"])
		if err != nil {
			return re, err
		}
		im, err := scalarOf(v["im"])
		return ir.ComplexScalar(complex(re.Float(), im.Float())), err
	}
	return ir.Scalar{}, fmt.Errorf("no number: %v", v)
}

// tensor makes the operand, of bytes in little-endian order.
func (j tensorJSON) tensor() (*core.Tensor, error) {
	if j.Number != nil {
		s, err := scalarOf(j.Number)
		return core.ScalarTensor(s), err
	}
	d, err := ir.ParseDType(j.DType)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(j.Data)
	if err != nil {
		return nil, err
	}
	t := core.FromBytes(native(raw, d), d, j.Shape, core.Placement{})
	return t, t.Err()
}

// native turns little-endian elements into the machine's order.
func native(raw []byte, d ir.DType) []byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return raw
	}
	size := d.Real().Size()
	for i := 0; i+size <= len(raw); i += size {
		slices.Reverse(raw[i : i+size])
	}
	return raw
}

// compare holds got against what PyTorch answered, within the tolerance of samples.
func (j tensorJSON) compare(got *core.Tensor) error {
	if err := got.Err(); err != nil {
		return err
	}
	want, err := j.tensor()
	if err != nil {
		return err
	}
	if got.DType() != want.DType() {
		return fmt.Errorf("dtype %s, want %s", got.DType(), want.DType())
	}
	if diff := cmp.Diff(append([]int{}, want.Shape()...), append([]int{}, got.Shape()...)); diff != "" {
		return fmt.Errorf("shape (-want +got):\n%s", diff)
	}
	g, err := core.Scalars(got)
	if err != nil {
		return err
	}
	w, err := core.Scalars(want)
	if err != nil {
		return err
	}
	return optest.Agree(g, w, want.DType())
}
