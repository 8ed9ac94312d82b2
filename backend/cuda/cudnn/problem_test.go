package cudnn

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// A problem is a convolution's shapes and attributes.
type problem struct {
	name                      string
	x, weight                 []int
	stride, padding, dilation []int
	groups                    int
}

var problems = []problem{
	{"1d", []int{2, 3, 8}, []int{4, 3, 3}, []int{1}, []int{1}, []int{1}, 1},
	{"1d strided, dilated", []int{2, 4, 19}, []int{6, 4, 3}, []int{2}, []int{3}, []int{2}, 1},
	{"2d", []int{2, 3, 6, 5}, []int{4, 3, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
	{"2d grouped", []int{2, 4, 6, 5}, []int{6, 2, 3, 2}, []int{2, 1}, []int{1, 0}, []int{1, 2}, 2},
	{"2d depthwise", []int{2, 8, 9, 9}, []int{8, 1, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 8},
	{"2d pointwise", []int{3, 16, 7, 7}, []int{8, 16, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
	{"2d not all used", []int{1, 2, 10, 10}, []int{3, 2, 2, 2}, []int{3, 3}, []int{0, 0}, []int{1, 1}, 1},
	{"3d", []int{2, 2, 4, 5, 6}, []int{4, 2, 2, 3, 2}, []int{1, 2, 1}, []int{1, 0, 1}, []int{1, 1, 2}, 1},
	{"3d grouped", []int{1, 2, 4, 4, 4}, []int{2, 1, 2, 2, 2}, []int{2, 2, 2}, []int{0, 0, 0}, []int{1, 1, 1}, 2},
}

// y returns the shape of the result, by its definition.
func (p problem) y() []int {
	out := []int{p.x[0], p.weight[0]}
	for i := range p.stride {
		reach := p.dilation[i]*(p.weight[2+i]-1) + 1
		out = append(out, (p.x[2+i]+2*p.padding[i]-reach)/p.stride[i]+1)
	}
	return out
}

func view(dt ir.DType, shape []int) ir.View {
	return ir.View{DType: dt, Shape: shape, Strides: ir.ContiguousStrides(shape)}
}

func (p problem) convolution(dt ir.DType) Convolution {
	return Convolution{X: view(dt, p.x), Weight: view(dt, p.weight), Y: view(dt, p.y()),
		Stride: p.stride, Padding: p.padding, Dilation: p.dilation, Groups: p.groups, TF32: true}
}

func TestKey(t *testing.T) {
	v := problems[1].convolution(ir.Float32)
	got, ok := keyOf(GradInput, &v)
	want := key{
		direction: GradInput, dtype: ir.Float32, tf32: true, spatial: 2,
		x: [5]int32{2, 4, 1, 19}, weight: [5]int32{6, 4, 1, 3}, y: [5]int32{2, 6, 1, 11},
		stride: [3]int32{1, 2}, padding: [3]int32{0, 3}, dilation: [3]int32{1, 2}, groups: 1,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); !ok || diff != "" {
		t.Errorf("one axis is two, the first of extent 1: %t (-want +got):\n%s", ok, diff)
	}
	three := problems[7].convolution(ir.Float16)
	if k, ok := keyOf(Forward, &three); !ok || k.spatial != 3 || k.tf32 || k.x != [5]int32{2, 2, 4, 5, 6} {
		t.Errorf("three axes: %t, %+v", ok, k)
	}
	four := Convolution{Stride: []int{1, 1, 1, 1}}
	if _, ok := keyOf(Forward, &four); ok {
		t.Error("four axes have a key")
	}
	large := problems[0].convolution(ir.Float32)
	large.X.Shape = []int{1, 1, math.MaxInt}
	if _, ok := keyOf(Forward, &large); ok && math.MaxInt > math.MaxInt32 {
		t.Error("an extent beyond 32 bits has a key")
	}
}

// TestMath is S18 for convolutions: the flag is part of the key and decides what
// the library may do.
func TestMath(t *testing.T) {
	for _, c := range []struct {
		dt   ir.DType
		tf32 bool
		want uintptr
	}{
		{ir.Float32, true, mathDefault}, {ir.Float32, false, mathFMA}, {ir.Float64, true, mathDefault},
		{ir.Float16, false, mathTensor}, {ir.BFloat16, true, mathTensor},
	} {
		v := problems[0].convolution(c.dt)
		v.TF32 = c.tf32
		if k, _ := keyOf(Forward, &v); k.mathOf() != c.want {
			t.Errorf("%v, TF32 %t: math type %d, want %d", c.dt, c.tf32, k.mathOf(), c.want)
		}
	}
}

func TestDense(t *testing.T) {
	if got, ok := dense([]int32{2, 3, 4, 5}); !ok || got != [5]int32{60, 20, 5, 1} {
		t.Errorf("%v, %t", got, ok)
	}
	if _, ok := dense([]int32{1 << 16, 1 << 15}); ok {
		t.Error("2^31 elements are few enough")
	}
}

func TestSupports(t *testing.T) {
	a, b := ir.View{DType: ir.Float32}, ir.View{DType: ir.Float16}
	if !Supports(a, a, a) || Supports(a, b) || Supports(ir.View{DType: ir.Int32}) {
		t.Error("float32 alone, but not two dtypes nor integers")
	}
}
