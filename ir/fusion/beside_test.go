package fusion

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// places returns the elements of a view that begins at an offset in elements.
func places(v *ir.View, from int) map[int]bool {
	all := map[int]bool{from: true}
	for a, n := range v.Shape {
		next := map[int]bool{}
		for at := range all {
			for i := range n {
				next[at+i*v.Strides[a]] = true
			}
		}
		all = next
	}
	return all
}

// TestApart: views are apart only where they have no element in common, and always where they
// are parts next to each other of a tensor, along any axis, whose extents are whole.
func TestApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 20000 {
		v := ir.View{DType: ir.Float32}
		for range 1 + r.IntN(3) {
			v.Shape, v.Strides = append(v.Shape, 1+r.IntN(4)), append(v.Strides, r.IntN(15)-3)
		}
		a, b := r.IntN(20), r.IntN(20)
		x, y := access{view: v, ref: program.Ref{Offset: int64(4 * a)}}, access{view: v, ref: program.Ref{Offset: int64(4 * b)}}
		meet, of := false, places(&v, b)
		for at := range places(&v, a) {
			meet = meet || of[at]
		}
		apart := x.apart(&y)
		if apart && meet {
			t.Fatalf("%v %v at %d and %d are not apart", v.Shape, v.Strides, a, b)
		}
		if apart != y.apart(&x) {
			t.Fatalf("%v %v at %d and %d: the order counts", v.Shape, v.Strides, a, b)
		}
		if apart {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("%d are apart", found)
	}
	for range 1000 {
		shape := []int{1 + r.IntN(9), 1 + r.IntN(9), 1 + r.IntN(9)}
		axis, parts := r.IntN(3), 2+r.IntN(3)
		whole := append([]int(nil), shape...)
		whole[axis] *= parts
		v := ir.View{DType: ir.Float64, Shape: shape, Strides: ir.ContiguousStrides(whole)}
		step := int64(8 * shape[axis] * v.Strides[axis])
		i, k := r.IntN(parts), r.IntN(parts)
		x, y := access{view: v, ref: program.Ref{Offset: int64(i) * step}}, access{view: v, ref: program.Ref{Offset: int64(k) * step}}
		if x.apart(&y) != (i != k) {
			t.Fatalf("parts %d and %d of %v along axis %d", i, k, whole, axis)
		}
	}
}
