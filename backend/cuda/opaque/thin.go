package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

const (
	// thinMost is the extent up to which a matrix is thin, thinWork how many products of
	// elements are few enough for the kernels of thin.cuh to be the quickest.
	thinMost = 16
	thinWork = 1 << 22
	// thinDeep is the most of k that thin_outer takes, whose blocks are few.
	thinDeep = 256

	thinRows, thinColumns = 8, 32 // of a tile
	thinSlices            = 8     // of k, at most
	thinSlice             = 2     // the least of k that a slice has
	dotWarps              = 4     // of a block
	dotSlice              = 128   // of k, that a warp takes at a time
)

// A Thin is a product of small matrices of float32 of which one extent is small.
type Thin struct {
	x, y    ir.View // matrices
	m, n, k int
	dot     bool // elements of both lie next to each other along k
}

// ThinOf returns the product of x and y as one of a thin matrix; ok is false where it is
// none, or another kernel is better.
func ThinOf(x, y ir.View) (t Thin, ok bool) {
	if len(x.Shape) != 2 || len(y.Shape) != 2 || x.DType != ir.Float32 || y.DType != ir.Float32 || x.Ptr != nil || y.Ptr != nil {
		return t, false
	}
	t = Thin{x: x, y: y, m: x.Shape[0], n: y.Shape[1], k: x.Shape[1]}
	if min(t.m, t.n, t.k) == 0 || t.m*t.n*t.k > thinWork || min(t.m, t.n, t.k) > thinMost {
		return t, false
	}
	along := func(v ir.View, axis int) bool { return v.Strides[axis] == 1 || v.Shape[axis] == 1 }
	t.dot = t.n <= thinMost && along(x, 1) && along(y, 0) && t.k > thinMost
	return t, t.dot || along(y, 1) && min(t.m, t.k) <= thinMost && t.k <= thinDeep
}

// Params appends struct Thin. Sums is the address of the sums of x along k, or 0.
func (t *Thin) Params(p *driver.Params, sums uint64) {
	for _, a := range []uint64{t.x.Addr, t.y.Addr, sums} {
		p.Uint64(a)
	}
	for _, s := range []int{t.x.Strides[0], t.x.Strides[1], t.y.Strides[0], t.y.Strides[1]} {
		p.Int64(int64(s))
	}
	for _, n := range []int{t.m, t.n, t.k} {
		p.Int32(int32(n))
	}
	p.Align(8)
}

// Dot reports whether thin_dot is the kernel for the product, rather than thin_outer, and
// whether it may read vectors.
func (t *Thin) Dot() (dot, vectors bool) { return t.dot, t.dot && t.vectors() }

// Blocks are the grid and the block of the product's kernel.
func (t *Thin) Blocks() (size, block [3]int) {
	if t.dot {
		slices := 1
		for slices < dotWarps && slices*dotSlice < t.k {
			slices *= 2
		}
		rows := dotWarps / slices
		return grid(int64(t.m), int64(rows)), [3]int{32, slices, rows}
	}
	slices := int(min(thinSlices, ceil(int64(t.k), thinSlice)))
	return [3]int{int(ceil(int64(t.n), thinColumns)), int(ceil(int64(t.m), thinRows)), 1}, [3]int{32, slices, 1}
}

// vectors reports whether rows of x and columns of y are whole vectors.
func (t *Thin) vectors() bool {
	const width = vectorBytes / 4
	return (t.x.Addr|t.y.Addr)%vectorBytes == 0 && (t.k|t.x.Strides[0]|t.y.Strides[1])%width == 0
}

// thin computes x @ y, and a bias with it where one is given, and the sums of x along k where
// sums is not 0; done is false where other kernels are to.
func thin(g code.GPU, x, y, d ir.View, bias, sums uint64) (done bool, err error) {
	t, ok := ThinOf(x, y)
	if !ok || t.dot && sums != 0 || d.DType != ir.Float32 || d.Ptr != nil || !d.IsContiguous() {
		return false, nil
	}
	var p driver.Params
	t.Params(&p, sums)
	p.Uint64(d.Addr)
	p.Uint64(bias)
	kernel := "thin_outer"
	switch {
	case t.dot && t.vectors():
		kernel = "thin_dot_vector"
	case t.dot:
		kernel = "thin_dot"
	}
	size, block := t.Blocks()
	return true, g.Launch("thin", kernel, size, block, 0, p.Bytes())
}
