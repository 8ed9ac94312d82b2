package onnx

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	only   = flag.String("only", "", "run the node tests whose names contain this")
	update = flag.Bool("update", false, "write docs/onnx.md")
	rounds = flag.Int("rounds", 3, "how often a node test runs: by itself, as it becomes a program, and by this")
)

// A nodeCase is a test of the standard: the files of its directory, by name.
type nodeCase struct {
	name  string
	files map[string][]byte
}

// nodeCases returns the tests that testdata/nodes.py packs.
func nodeCases(t testing.TB) []nodeCase {
	t.Helper()
	cases, err := standardCases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// standardCases reads what all tests of the standard's nodes share, and no one changes, once.
var standardCases = sync.OnceValues(func() ([]nodeCase, error) { return archived("testdata/nodes.tar.zst") })

// packedCases returns the tests of an archive.
func packedCases(t testing.TB, name string) []nodeCase {
	t.Helper()
	cases, err := archived(name)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func archived(name string) ([]nodeCase, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	var cases []nodeCase
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return cases, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		name, rest, _ := strings.Cut(h.Name, "/")
		if len(cases) == 0 || cases[len(cases)-1].name != name {
			cases = append(cases, nodeCase{name, map[string][]byte{}})
		}
		cases[len(cases)-1].files[rest] = data
	}
}

// stored reads a value of a test.
func stored(raw []byte, v Value, typ *format.Type) (*value, error) {
	if typ == nil {
		return nil, errors.New("a value without a type")
	}
	switch typ.Form {
	case format.FormTensor:
		t, err := format.ReadTensor(raw)
		if err != nil {
			return nil, err
		}
		return storedTensor(t)
	case format.FormSequence:
		s, err := format.ReadSequence(raw)
		if err != nil {
			return nil, err
		}
		return storedSequence(s)
	case format.FormOptional:
		o, err := format.ReadOptional(raw)
		switch {
		case err != nil:
			return nil, err
		case o.Tensor != nil:
			return storedTensor(o.Tensor)
		case o.Sequence != nil:
			return storedSequence(o.Sequence)
		}
		return &value{form: formNone}, nil
	}
	return nil, fmt.Errorf("%w: a value that is no tensor", ErrUnsupported)
}

func storedTensor(t *format.Tensor) (*value, error) {
	raw, shape, _, err := contents(t, nil, nil)
	if err != nil {
		return nil, err
	}
	x := tensor.FromBytes(raw, carriers[t.Elem], shape)
	return &value{t: x, elem: t.Elem}, x.Err()
}

func storedSequence(s *format.Sequence) (*value, error) {
	out := &value{form: formSequence}
	for _, t := range s.Tensors {
		v, err := storedTensor(t)
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, v)
	}
	return out, nil
}

// run runs a test on a device. The error is nil if it passes, and wraps ErrUnsupported if
// it is refused.
func (c nodeCase) run(d device.Device) error {
	model, err := LoadBytes(c.files["model.onnx"], tensor.On(d))
	if err != nil {
		return err
	}
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		return err
	}
	var rtol, atol float64
	if _, err := fmt.Sscan(string(c.files["tolerance"]), &rtol, &atol); err != nil {
		return err
	}
	rounds := *rounds
	if d != device.CPU && strings.HasSuffix(c.name, "_expanded") {
		rounds = 1
	}
	return tensor.Scope(func() error {
		for set := 0; ; set++ {
			dir := fmt.Sprintf("test_data_set_%d", set)
			if _, ok := c.files[path.Join(dir, "output_0.pb")]; !ok {
				if set == 0 {
					return errors.New("no data")
				}
				return nil
			}
			inputs, err := c.inputs(model, file, dir)
			if err != nil {
				return err
			}
			for round := range rounds {
				got, err := model.run(context.Background(), inputs, nil)
				if err != nil {
					return err
				}
				for i, out := range file.Graph.Outputs {
					want, err := stored(c.files[fmt.Sprintf("%s/output_%d.pb", dir, i)], model.outputs[i], out.Type)
					if err != nil {
						return err
					}
					if strings.HasPrefix(c.name, "test_bernoulli") { // drawn by another generator
						err = alike(got[out.Name], want)
					} else {
						err = agree(got[out.Name], want, rtol, max(atol, c.noise(want)))
					}
					if err != nil {
						return fmt.Errorf("run %d, output %q: %w", round, out.Name, err)
					}
				}
			}
		}
	})
}

// inputs returns the operands of a test's set.
func (c nodeCase) inputs(model *Model, file *format.Model, dir string) (map[string]*value, error) {
	out := map[string]*value{}
	for i, in := range file.Graph.Inputs {
		raw, ok := c.files[fmt.Sprintf("%s/input_%d.pb", dir, i)]
		if !ok {
			continue
		}
		v, err := stored(raw, model.inputs[i], in.Type)
		if err != nil {
			return nil, err
		}
		out[in.Name] = lent(v)
	}
	return out, nil
}

// lent returns a value whose memory no run gives back.
func lent(v *value) *value {
	v.borrowed = true
	for _, x := range v.list {
		lent(x)
	}
	return v
}

// noise returns how far the standard's own results may be off: those of its Fourier
// transforms by a part of the largest number.
func (c nodeCase) noise(want *value) float64 {
	if !strings.HasPrefix(c.name, "test_dft") && !strings.HasPrefix(c.name, "test_stft") {
		return 0
	}
	largest, err := want.t.ToType(tensor.Float64).Abs().Max().Item()
	if err != nil {
		return 0
	}
	return math.Ldexp(largest, -22)
}

// alike reports an error unless got has the type and the shape of want, and its elements
// are all 0 or 1.
func alike(got, want *value) error {
	if got.elem != want.elem || !slices.Equal(got.t.Shape(), want.t.Shape()) {
		return fmt.Errorf("%s %v, want %s %v", got.elem, got.t.Shape(), want.elem, want.t.Shape())
	}
	list, err := tensor.Data[float64](got.t.CPU().ToType(tensor.Float64))
	if err == nil && slices.ContainsFunc(list, func(x float64) bool { return x != 0 && x != 1 }) {
		err = fmt.Errorf("%v are not all 0 or 1", list)
	}
	return err
}

// agree compares a result with the stored one.
func agree(got, want *value, rtol, atol float64) error {
	if got.form != want.form {
		return fmt.Errorf("form %d, want %d", got.form, want.form)
	}
	if got.form == formSequence {
		if len(got.list) != len(want.list) {
			return fmt.Errorf("%d elements, want %d", len(got.list), len(want.list))
		}
		for i := range got.list {
			if err := agree(got.list[i], want.list[i], rtol, atol); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	}
	if got.form != formTensor {
		return nil
	}
	if got.elem != want.elem || !slices.Equal(got.t.Shape(), want.t.Shape()) {
		return fmt.Errorf("%s %v, want %s %v", got.elem, got.t.Shape(), want.elem, want.t.Shape())
	}
	if c := got.t.DType().Category(); c != tensor.Float32.Category() {
		a, err := got.t.Bytes()
		if err != nil {
			return err
		}
		b, err := want.t.Bytes()
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("got %v, want %v", got.t, want.t)
		}
		return nil
	}
	switch got.t.DType() { // the standard's own answers are rounded after each operator of an expansion, by NumPy
	case tensor.Float16:
		rtol = max(rtol, math.Ldexp(1, -9))
	case tensor.BFloat16:
		rtol = max(rtol, math.Ldexp(1, -6))
	}
	a, err := tensor.Data[float64](got.t.CPU().ToType(tensor.Float64))
	if err != nil {
		return err
	}
	b, err := tensor.Data[float64](want.t.ToType(tensor.Float64))
	if err != nil {
		return err
	}
	for i := range a {
		switch {
		case math.IsNaN(a[i]) && math.IsNaN(b[i]), a[i] == b[i]:
		case math.IsNaN(a[i]) || math.IsNaN(b[i]) || math.IsInf(b[i], 0) || !(math.Abs(a[i]-b[i]) <= atol+rtol*math.Abs(b[i])):
			return fmt.Errorf("element %d is %g, want %g", i, a[i], b[i])
		}
	}
	return nil
}

// TestNodes runs the node tests of the standard on the CPU. A case passes, or is refused
// by name. The results are docs/onnx.md, which -update writes. A short run takes a part of the cases.
func TestNodes(t *testing.T) {
	r := runNodes(t, device.CPU)
	if *only != "" || t.Failed() || testing.Short() {
		return
	}
	const name = "../docs/onnx.md"
	if *update {
		if err := os.WriteFile(name, []byte(r.document()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), r.document()); diff != "" {
		t.Errorf("docs/onnx.md is not what this run says (-have +want); run go test ./onnx -run TestNodes -update\n%s", diff)
	}
}

// TestContrib runs the tests of operators of com.microsoft, and of sums of many small integers,
// that testdata/contrib.py packs with onnxruntime's results.
func TestContrib(t *testing.T) {
	for i, c := range packedCases(t, "testdata/contrib.tar.zst") {
		if testing.Short() && i%8 > 1 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for k, d := range []device.Device{device.CPU, device.Sim(0)} {
				if testing.Short() && (i+k)%2 != 0 { // each on one of them
					continue
				}
				if err := c.run(d); err != nil {
					t.Errorf("%s: %v", d, err)
				}
			}
		})
	}
}

// A results is what a run of all tests came to, by operator.
type results struct {
	passed, refused map[string]int
	reasons         map[string]map[string]bool
}

func runNodes(t *testing.T, d device.Device) results {
	r := results{map[string]int{}, map[string]int{}, map[string]map[string]bool{}}
	operators := map[string]string{} // by the names of tests that are not expansions
	for i, c := range nodeCases(t) {
		if !strings.Contains(c.name, *only) || testing.Short() && i%64 != 0 {
			continue
		}
		operator := c.operator(t, operators)
		switch err := c.run(d); {
		case err == nil:
			r.passed[operator]++
		case errors.Is(err, ErrUnsupported):
			r.refused[operator]++
			if r.reasons[operator] == nil {
				r.reasons[operator] = map[string]bool{}
			}
			r.reasons[operator][reason(err)] = true
		default:
			t.Errorf("%s: %v", c.name, err)
		}
	}
	return r
}

// operator returns what a test is about: its node's operator, and of an expansion the
// operator that was expanded.
func (c nodeCase) operator(t *testing.T, known map[string]string) string {
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	for name := c.name; ; {
		if op, ok := known[name]; ok {
			return op
		}
		i := strings.LastIndex(name, "_expanded")
		if i < 0 {
			break
		}
		name = name[:i]
	}
	n := file.Graph.Nodes[len(file.Graph.Nodes)-1]
	op := n.Operator
	if d := domain(n.Domain); d != "" {
		op = d + "." + op
	}
	known[c.name] = op
	return op
}

// reason returns why a test is refused, without the names in its model.
func reason(err error) string {
	var all *UnsupportedError
	if errors.As(err, &all) {
		u := all.All[len(all.All)-1]
		return u.Operator + ": " + u.Reason
	}
	text := err.Error()
	return text[strings.LastIndex(text, ErrUnsupported.Error()+": ")+len(ErrUnsupported.Error())+2:]
}

// document returns the results as docs/onnx.md shows them.
func (r results) document() string {
	total := func(m map[string]int) (n int) {
		for _, v := range m {
			n += v
		}
		return n
	}
	var b strings.Builder
	p, q := total(r.passed), total(r.refused)
	fmt.Fprintf(&b, `<!-- Written by go test ./onnx -run TestNodes -update. DO NOT EDIT. -->

# ONNX

What package onnx does with the node tests of the standard, from onnx 1.23.2: of %d cases %d pass, on the CPU and on
simulated accelerators, and %d are refused by an error that names the operator. None gives another result.
[The guide](guide/onnx.md) shows how models are loaded and run. 16-bit floats are compared to two units in the last place of the
result, Fourier transforms to 2^-22 of their largest number, everything else as each case says. Of random numbers, as Bernoulli's,
types, shapes and ranges are compared.

## Refused

| operator | cases | of | why |
| --- | --- | --- | --- |
`, p+q, p, q)
	for _, op := range slices.Sorted(maps.Keys(r.refused)) {
		why := slices.Sorted(maps.Keys(r.reasons[op]))
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", op, r.refused[op], r.refused[op]+r.passed[op], strings.Join(why, "; "))
	}
	b.WriteString("\n## Passed\n\n| operator | cases |\n| --- | --- |\n")
	for _, op := range slices.Sorted(maps.Keys(r.passed)) {
		fmt.Fprintf(&b, "| %s | %d |\n", op, r.passed[op])
	}
	b.WriteString("\n## Operators\n\nThe operators of the standard's own domain that are not there:\n")
	var missing []string
	for _, name := range standard.Names("") {
		op, _ := standard.Find("", name, standard.Newest(""))
		body, _, _ := op.Body(standard.Newest(""))
		if _, ok := loweringOf("", name); !ok && body == nil && !op.Deprecated {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	b.WriteString(strings.Join(missing, ", ") + ".\n")
	return b.String()
}
