package tile

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// diff is cmp.Diff, quicker where there is no difference.
func diff[T comparable](want, got []T) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

var shapes = [][]int{{}, {1}, {9}, {3, 4}, {1, 5, 1}, {4, 1, 130}, {200, 3}, {3, 4, 5}, {2, 3, 4, 5}, {2, 300}}

// reversed returns v backwards along its last axis.
func reversed(v ir.View) ir.View {
	if a := len(v.Shape) - 1; a >= 0 && v.NumElements() > 0 {
		v.Strides = append([]int(nil), v.Strides...)
		v.Ptr = unsafe.Add(v.Ptr, (v.Shape[a]-1)*v.Strides[a]*v.DType.Size())
		v.Strides[a] = -v.Strides[a]
	}
	return v
}

func TestLoadStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range shapes {
		for _, layout := range cputest.Layouts {
			for _, dtype := range []ir.DType{ir.Int8, ir.Float32, ir.Complex128} {
				for _, back := range []bool{false, true} {
					v := cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 0, 9)
					if back {
						v = reversed(v)
					}
					checkPieces(t, v, rng)
				}
			}
		}
	}
}

// checkPieces loads random pieces of v as float32 and, where v's elements are
// distinct, stores what it loaded plus one.
func checkPieces(t *testing.T, v ir.View, rng *rand.Rand) {
	t.Helper()
	s := Borrow(2)
	defer s.Return()
	o := Of(v, ir.Float32)
	total := v.NumElements()
	distinct := true
	for a, st := range v.Strides {
		distinct = distinct && (st != 0 || v.Shape[a] == 1)
	}
	for range 5 {
		lo := rng.IntN(total)
		n := 1 + rng.IntN(min(total-lo, Size))
		got := append([]float32(nil), unsafe.Slice((*float32)(o.Load(lo, n, s.Buffer(0))), n)...)
		want := make([]float32, n)
		for i := range want {
			want[i] = float32(real(cputest.Get(v, lo+i)))
		}
		if d := diff(want, got); d != "" {
			t.Fatalf("%s %v %v, [%d, %d): %s", v.DType, v.Shape, v.Strides, lo, lo+n, d)
		}
		if !distinct {
			continue
		}
		before := cputest.Reals(v)
		res := o.Target(lo, n, s.Buffer(1))
		for i, x := range got {
			unsafe.Slice((*float32)(res), n)[i] = x + 1
		}
		o.Store(lo, n, res)
		for i := range n {
			before[lo+i]++
		}
		if d := diff(before, cputest.Reals(v)); d != "" {
			t.Fatalf("stored %s %v %v, [%d, %d): %s", v.DType, v.Shape, v.Strides, lo, lo+n, d)
		}
	}
}

func TestCoalescing(t *testing.T) {
	v := cputest.NewView(ir.Float32, "contiguous", 3, 1, 4, 5)
	o := Of(v, ir.Float32)
	if !o.Contiguous() || o.Row() != 60 {
		t.Errorf("contiguous: row %d", o.Row())
	}
	scalar := Of(cputest.Expand(cputest.NewView(ir.Float32, "contiguous"), 3, 4), ir.Float32)
	if !scalar.Constant() || scalar.Contiguous() {
		t.Error("an expanded scalar is one element")
	}
	sliced := v
	sliced.Shape = []int{3, 1, 4, 3}
	if o := Of(sliced, ir.Float32); o.Flat() || o.Row() != 3 || !o.Direct() {
		t.Errorf("sliced: row %d", o.Row())
	}
}

// TestRepeatIsKept checks that one element is repeated once for all pieces, and
// again for another.
func TestRepeatIsKept(t *testing.T) {
	x := cputest.Expand(cputest.From(ir.Float32, []int{2, 1}, 5, 6), 2, 200)
	s := Borrow(1)
	defer s.Return()
	o := Of(x, ir.Float32)
	for _, c := range []struct {
		lo, n int
		want  float32
	}{{0, 100, 5}, {50, 150, 5}, {200, 10, 6}, {0, 3, 5}} {
		p := unsafe.Slice((*float32)(o.Load(c.lo, c.n, s.Buffer(0))), c.n)
		if p[0] != c.want || p[c.n-1] != c.want {
			t.Errorf("[%d, %d): %v, want %v", c.lo, c.lo+c.n, p[0], c.want)
		}
	}
}

func TestCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range append(shapes, []int{0, 3}, []int{150, 250}) {
		for _, from := range cputest.Layouts {
			for _, to := range []string{"contiguous", "transposed", "sliced"} {
				src := cputest.Fill(cputest.NewView(ir.Int16, from, shape...), rng, -9, 9)
				dst := cputest.NewView(ir.Float64, to, shape...)
				Copy(dst, src)
				if d := diff(cputest.Reals(src), cputest.Reals(dst)); d != "" {
					t.Fatalf("%v %s to %s: %s", shape, from, to, d)
				}
				dense := Dense(src, ir.Int16)
				if !dense.IsContiguous() || !slices.Equal(cputest.Reals(src), cputest.Reals(dense)) {
					t.Fatalf("Dense of %v %s", shape, from)
				}
				d := TargetOf(dst, ir.Float32)
				Copy(d, src)
				Finish(dst, d)
				if !slices.Equal(cputest.Reals(src), cputest.Reals(dst)) {
					t.Fatalf("TargetOf %v %s", shape, to)
				}
			}
		}
	}
	v := cputest.NewView(ir.Float32, "contiguous", 4)
	if Dense(v, ir.Float32).Ptr != v.Ptr || TargetOf(v, ir.Float32).Ptr != v.Ptr {
		t.Error("a contiguous view of the dtype is used where it is")
	}
}

func BenchmarkCopy(b *testing.B) {
	dst := cputest.NewView(ir.Float32, "contiguous", 1024, 1024)
	for _, layout := range []string{"contiguous", "transposed", "sliced"} {
		src := cputest.NewView(ir.Float32, layout, 1024, 1024)
		b.Run(layout, func(b *testing.B) {
			b.SetBytes(8 << 20)
			for b.Loop() {
				Copy(dst, src)
			}
		})
	}
}

// TestRows: rows have the distances that their positions have, and one is refused only where
// distances differ.
func TestRows(t *testing.T) {
	for _, v := range []struct{ shape, strides []int }{
		{[]int{60}, []int{1}}, {[]int{60}, []int{0}}, {[]int{5, 12}, []int{20, 1}}, {[]int{5, 12}, []int{0, 1}}, {[]int{5, 12}, []int{3, 0}}, {[]int{3, 4, 5}, []int{50, 5, 1}}, {[]int{3, 4, 5}, []int{0, 1, 0}},
	} {
		memory := make([]float32, 300)
		view := ir.View{Ptr: unsafe.Pointer(&memory[0]), DType: ir.Float32, Shape: v.shape, Strides: v.strides}
		o := Of(view, ir.Float32)
		for lo := range 60 {
			for _, n := range []int{1, 2, 4, 5, 12} {
				for _, step := range []int{1, 2, 4, 5, 10, 12, 20, 24} {
					for rows := 1; lo+(rows-1)*step+n <= 60; rows++ {
						off, down, ok := o.Rows(lo, n, rows, step)
						if !ok && len(o.shape) == 1 {
							t.Fatalf("%v: %d rows of %d from %d, %d apart, are refused", v, rows, n, lo, step)
						}
						for i := 0; ok && i < rows*n; i++ {
							if got, want := off+i/n*down+i%n*o.Step(), o.Offset(lo+i/n*step+i%n); got != want {
								t.Fatalf("%v: %d rows of %d from %d, %d apart: element %d is at %d, want %d", v, rows, n, lo, step, i, got, want)
							}
						}
					}
				}
			}
		}
	}
}
