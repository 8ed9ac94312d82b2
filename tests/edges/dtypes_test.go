package edges_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// takes is what an operator makes of a dtype: the dtype of its first result, or "" where it
// refuses it.
type takes map[ir.DType]string

// libraryTakes reads what PyTorch's operators make of every dtype.
func libraryTakes(t *testing.T) map[string]takes {
	t.Helper()
	byName := map[string]ir.DType{}
	for _, d := range ir.ClassAll.List() {
		byName[d.String()] = d
	}
	out := map[string]takes{}
	text, err := os.ReadFile("../vectors/dtypes.txt")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if out[words[0]] == nil {
			out[words[0]] = takes{}
		}
		out[words[0]][byName[words[1]]] = strings.Split(words[2], ",")[0]
	}
	return out
}

// counting returns 1, 2, 3 and so on for the arguments of a factory, which has no samples.
func counting(op *ir.Op) []ir.Value {
	var out []ir.Value
	for i := range op.Attrs {
		out = append(out, ir.Value{Int: int64(i + 1), Ints: []int{2}, Scalar: ir.IntScalar(int64(i + 1))})
	}
	return out
}

// ourTakes applies an operator to its first sample, or to a vector of ones, in every dtype.
func ourTakes(o *optest.Operator) takes {
	out := takes{}
	for _, d := range ir.ClassAll.List() {
		for _, s := range append(slices.Clone(o.Samples), optest.Sample{}) {
			if s.Shapes == nil {
				if len(o.Samples) > 0 {
					continue
				}
				s = optest.Sample{Shapes: slices.Repeat([][]int{{2}}, len(o.Op.In)), Attrs: o.Defaults}
				if len(o.Op.In) == 0 {
					s.Attrs = counting(o.Op)
				}
			}
			if r, ok := applied(o, s, d); ok {
				out[d] = r
				break
			}
		}
	}
	return out
}

// applied returns the dtype of the first result of a sample in dtype d; ok is false where it is
// refused.
func applied(o *optest.Operator, s optest.Sample, d ir.DType) (dtype string, ok bool) {
	in := make([]*core.Tensor, max(len(s.Shapes), len(o.Op.In)))
	for i, shape := range s.Shapes {
		p := o.Op.In[min(i, len(o.Op.In)-1)]
		fill, of := tensor.Ones, d
		switch {
		case p.Fixed != ir.Invalid:
			of = p.Fixed
		case p.DTypes != 0 && p.DTypes != o.Op.DTypes && !p.DTypes.Has(d):
			of = p.DTypes.List()[0]
		}
		if of != d && of.IsInt() {
			fill = tensor.Zeros
		}
		in[i] = fill(shape, tensor.OfType(of)).Handle()
	}
	var names []string // of the results, in order
	for _, r := range o.Call(optest.Args{In: in, Attrs: s.Attrs, Place: &core.Placement{Device: device.CPU, DType: d}}) {
		if r.Err() != nil {
			return "", false
		}
		names = append(names, r.DType().String())
	}
	return names[0], true
}

// explained returns the dtypes that an entry says are treated otherwise than by PyTorch.
func explained(op *schema.Op) (set ir.DTypeSet) {
	for _, d := range op.Differs {
		set |= d.DTypes
	}
	return set
}

// TestDTypes holds that operators take what PyTorch's take, and give the same dtypes. A
// difference stands in the operator's entry with its reason; to take more is none.
func TestDTypes(t *testing.T) {
	library := libraryTakes(t)
	spec, err := schema.Load("../../ops.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]*schema.Op{}
	for _, op := range spec.Ops {
		entries[op.Name] = op
	}
	for i := range opcases.Cases {
		if brief.Skip(i) {
			continue
		}
		o := &opcases.Cases[i]
		theirs := library[o.Op.Name]
		set := explained(entries[o.Op.Name])
		if theirs == nil || o.Op.Name == "einsum" {
			if set != 0 {
				t.Errorf("%s: differs, from an operator that PyTorch's table has not", o.Op.Name)
			}
			continue
		}
		ours := ourTakes(o)
		for _, d := range ir.ClassAll.List() {
			a, b := ours[d], theirs[d]
			same := a == b || b == "" || b == "-" && a != ""
			switch {
			case same && set.Has(d) && a == b:
				t.Errorf("%s of %s: differs says that PyTorch's is another; both give %q", o.Op.Name, d, a)
			case !same && !set.Has(d):
				t.Errorf("%s of %s gives %q, PyTorch's %q (empty: refused)", o.Op.Name, d, a, b)
			}
		}
	}
}
