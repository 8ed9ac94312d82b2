package optest_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/tests/brief"
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
	for i, c := range []struct {
		name, want string
		mistake    func(o *optest.Operator)
	}{
		{"nothing", "", func(*optest.Operator) {}},
		{"literal result", "case: ", func(o *optest.Operator) {
			o.Cases = []optest.Case{{In: []ir.Scalar{ir.FloatScalar(3)}, Want: []ir.Scalar{ir.FloatScalar(9.5)}}}
		}},
		{"value", "values: ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return x.Mul(x).Add(x.MulScalar(1e-5)) })
		}},
		{"special value", "special values: ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return tensor.NaNToNum(squareOf(x)) })
		}},
		{"shape", "shape ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return squareOf(x).Unsqueeze(0) })
		}},
		{"dtype", "dtype ", func(o *optest.Operator) {
			o.Call = onCPU(func(x tensor.Tensor) tensor.Tensor { return squareOf(x).ToType(ir.Complex128) })
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
		{"sample", "sample [[7]]: no sample could be run", func(o *optest.Operator) {
			o.Samples = []optest.Sample{{Shapes: [][]int{{5}}}, {Shapes: [][]int{{7}}}}
			o.Call = func(a optest.Args) []*core.Tensor {
				if x := tensor.Wrap(a.In[0]); x.Size(0) == 7 {
					return optest.Results(x.Reshape(-7).Handle())
				}
				return right(a)
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
		if brief.Skip(i) {
			continue
		}
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

// TestTF32Flags holds that RunOn compares with the flags off and sets them back.
func TestTF32Flags(t *testing.T) {
	defer precision.SetMatmulTF32(precision.MatmulTF32())
	defer precision.SetConvTF32(precision.ConvTF32())
	precision.SetMatmulTF32(true)
	precision.SetConvTF32(false)
	var on atomic.Int32
	o := operator(t, "matmul")
	right := o.Call
	o.Call = func(a optest.Args) []*core.Tensor {
		if precision.MatmulTF32() || precision.ConvTF32() {
			on.Add(1)
		}
		return right(a)
	}
	t.Run("matmul", func(t *testing.T) { optest.RunOn(t, []optest.Operator{o}, device.CPU) })
	if n := on.Load(); n != 0 {
		t.Errorf("%d calls with a flag on", n)
	}
	if !precision.MatmulTF32() || precision.ConvTF32() {
		t.Error("the flags are not as they were")
	}
	t.Run("matmul in TF32", func(t *testing.T) { optest.RunTF32On(t, []optest.Operator{o}, device.CPU) })
	if on.Load() == 0 {
		t.Error("RunTF32On left the flags off")
	}
}

// TestCheckTF32 holds that an error of the operands below 2^-10 is allowed and
// one above is not.
func TestCheckTF32(t *testing.T) {
	for _, c := range []struct {
		err  float64
		want bool
	}{{0x1p-11, true}, {0x1p-6, false}} {
		o := operator(t, "matmul")
		right := o.Call
		o.Call = func(a optest.Args) []*core.Tensor {
			if x := a.In[0]; x.Device() == device.CPU {
				a.In = []*core.Tensor{tensor.Wrap(x).MulScalar(1 + c.err).Handle(), a.In[1]}
			}
			return right(a)
		}
		if errs := optest.CheckTF32(&o, device.CPU); (len(errs) == 0) != c.want {
			t.Errorf("operands off by %g: %v", c.err, errs)
		}
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
	op := o.Op
	o.Call = func(a optest.Args) []*core.Tensor {
		if t := core.Refused(op, a.In...); t != nil {
			return optest.Results(t)
		}
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
