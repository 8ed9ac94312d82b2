package optest_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestCheckFails proves that the runner finds what is wrong: each operator is
// square with one mistake, on the CPU alone where values must differ.
func TestCheckFails(t *testing.T) {
	square := operator(t, "square")
	right := square.Call
	// onCPU applies f where the operator is under test and square on the oracle.
	onCPU := func(f func(x tensor.Tensor) tensor.Tensor) func(optest.Args) []*core.Tensor {
		return func(a optest.Args) []*core.Tensor {
			if a.In[0].Device() != device.CPU {
				return right(a)
			}
			return optest.Results(f(tensor.Wrap(a.In[0])).Handle())
		}
	}
	squareOf := func(x tensor.Tensor) tensor.Tensor { return x.Mul(x) }
	for _, c := range []struct {
		name, want string
		mistake    func(o *optest.Operator)
	}{
		{"nothing", "", func(*optest.Operator) {}},
		{"literal result", "case: ", func(o *optest.Operator) {
			o.Cases = []optest.Case{{In: []ir.Scalar{ir.FloatScalar(3)}, Want: ir.FloatScalar(9.5)}}
		}},
		{"value", "values: ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return x.Mul(x).Add(x.MulScalar(1e-5)) })
		}},
		{"special value", "special values: ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return tensor.NanToNum(squareOf(x)) })
		}},
		{"shape", "shape ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return squareOf(x).Unsqueeze(0) })
		}},
		{"dtype", "dtype ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return squareOf(x).ToDType(ir.Complex128) })
		}},
		{"error", "values: ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return x.MatMul(x).Add(squareOf(x)) })
		}},
		{"refusal", "no sample could be run", func(o *optest.Operator) {
			o.Call = func(a optest.Args) []*core.Tensor {
				x := tensor.Wrap(a.In[0])
				return optest.Results(x.Reshape(-7).Handle())
			}
		}},
		{"in-place form", "in-place form", func(o *optest.Operator) {
			o.InPlace = func(a optest.Args) error { return tensor.Wrap(a.In[0]).NegInPlace() }
		}},
		{"gradient", "gradient: ", func(o *optest.Operator) {
			o.Call = func(a optest.Args) []*core.Tensor {
				x := tensor.Wrap(a.In[0])
				return optest.Results(x.Mul(x.Detach()).Handle())
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := square
			c.mistake(&o)
			var all strings.Builder
			for _, err := range optest.Check(&o, device.CPU) {
				all.WriteString(err.Error() + "\n")
			}
			if got := all.String(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("want mistakes that name %q, have:\n%s", c.want, got)
			}
		})
	}
}

func operator(t *testing.T, name string) optest.Operator {
	for _, o := range opcases.Cases {
		if o.Op.Name == name {
			return o
		}
	}
	t.Fatalf("the table has no %s", name)
	return optest.Operator{}
}

// TestWithoutDifferences: a gradient that is wrong in both ways alike is found by
// central differences alone, one that differs between them always.
func TestWithoutDifferences(t *testing.T) {
	o := operator(t, "square")
	o.Call = func(a optest.Args) []*core.Tensor {
		x := tensor.Wrap(a.In[0])
		return optest.Results(x.Mul(x.Detach()).Handle())
	}
	if errs := optest.Check(&o, device.CPU, optest.WithoutDifferences()); len(errs) > 0 {
		t.Errorf("without central differences: %v", errs)
	}
	if errs := optest.Check(&o, device.CPU); len(errs) == 0 {
		t.Error("with central differences nothing is found")
	}
}
