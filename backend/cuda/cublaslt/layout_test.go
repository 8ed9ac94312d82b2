package cublaslt

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

// A layoutCase is a product: shapes, and strides in elements or nil for dense ones.
type layoutCase struct {
	name       string
	x, y       []int
	xs, ys, ds []int
	copies     bool // an operand or the result has no layout of the library's
	calls      int  // of the library
}

var layoutCases = []layoutCase{
	{"dense", []int{3, 5}, []int{5, 4}, nil, nil, nil, false, 1},
	{"x transposed", []int{3, 5}, []int{5, 4}, []int{1, 3}, nil, nil, false, 1},
	{"y transposed", []int{3, 5}, []int{5, 4}, nil, []int{1, 5}, nil, false, 1},
	{"both transposed", []int{3, 5}, []int{5, 4}, []int{1, 3}, []int{1, 5}, nil, false, 1},
	{"rows apart", []int{3, 5}, []int{5, 4}, []int{9, 1}, []int{7, 1}, []int{6, 1}, false, 1},
	{"columns apart", []int{3, 5}, []int{5, 4}, []int{1, 8}, []int{1, 6}, nil, false, 1},
	{"result transposed", []int{3, 5}, []int{5, 4}, nil, nil, []int{1, 3}, false, 1},
	{"all transposed, apart", []int{3, 5}, []int{5, 4}, []int{1, 4}, []int{1, 7}, []int{1, 5}, false, 1},
	{"no unit stride in x", []int{3, 5}, []int{5, 4}, []int{10, 2}, nil, nil, true, 1},
	{"rows of x repeat", []int{3, 5}, []int{5, 4}, []int{0, 1}, nil, nil, true, 1},
	{"columns of y repeat", []int{3, 5}, []int{5, 4}, nil, []int{1, 0}, nil, true, 1},
	{"no unit stride in the result", []int{3, 5}, []int{5, 4}, nil, nil, []int{8, 2}, true, 1},
	{"dot", []int{5}, []int{5}, nil, nil, nil, false, 1},
	{"dot, strided", []int{5}, []int{5}, []int{3}, []int{2}, nil, false, 1},
	{"row", []int{5}, []int{5, 4}, nil, nil, nil, false, 1},
	{"column", []int{3, 5}, []int{5}, nil, nil, nil, false, 1},
	{"column, transposed, strided", []int{3, 5}, []int{5}, []int{1, 3}, []int{2}, nil, false, 1},
	{"one column", []int{3, 5}, []int{5, 1}, nil, nil, nil, false, 1},
	{"one row", []int{1, 5}, []int{5, 4}, nil, nil, nil, false, 1},
	{"inner extent 1", []int{3, 1}, []int{1, 4}, nil, nil, nil, false, 1},
	{"inner extent 1, odd strides", []int{3, 1}, []int{1, 4}, []int{1, 7}, []int{9, 1}, nil, false, 1},
	{"one element", []int{1, 1}, []int{1, 1}, []int{0, 0}, []int{5, 5}, nil, false, 1},
	{"batch", []int{6, 3, 5}, []int{6, 5, 4}, nil, nil, nil, false, 1},
	{"batch, two axes", []int{2, 3, 3, 5}, []int{2, 3, 5, 4}, nil, nil, nil, false, 1},
	{"batch, y the same", []int{6, 3, 5}, []int{5, 4}, nil, nil, nil, false, 1},
	{"batch, y the same, extent 1", []int{6, 3, 5}, []int{1, 5, 4}, nil, nil, nil, false, 1},
	{"batch, x the same", []int{3, 5}, []int{6, 5, 4}, nil, nil, nil, false, 1},
	{"batch, x transposed, y the same", []int{6, 3, 5}, []int{5, 4}, []int{15, 1, 3}, nil, nil, false, 1},
	{"batch, both broadcast", []int{5, 1, 2, 3}, []int{6, 3, 4}, nil, nil, nil, false, 5},
	{"batch, y the same for rows, x for the rest", []int{6, 2, 3}, []int{5, 1, 3, 4}, nil, nil, nil, false, 1},
	{"heads beside each other", []int{2, 3, 4, 5}, []int{2, 3, 5, 4}, []int{60, 5, 15, 1}, nil, nil, false, 2},
	{"row for each of a batch", []int{5}, []int{6, 5, 4}, nil, nil, nil, false, 1},
	{"column for each of a batch", []int{6, 3, 5}, []int{5}, nil, nil, nil, false, 1},
	{"batch of one row", []int{6, 1, 5}, []int{5, 4}, nil, nil, nil, false, 1},
	{"batch of one row, apart", []int{6, 1, 5}, []int{5, 4}, []int{8, 2, 1}, nil, nil, false, 1},
	{"batch, result transposed", []int{6, 3, 5}, []int{6, 5, 4}, nil, nil, []int{12, 1, 3}, false, 1},
	{"batch, result's axes exchanged", []int{2, 3, 3, 5}, []int{2, 3, 5, 4}, nil, nil, []int{12, 24, 4, 1}, false, 2},
}

// shape returns that of the result.
func (c layoutCase) shape(t *testing.T) []int {
	t.Helper()
	x, y := c.x, c.y
	if len(x) == 1 {
		x = []int{1, x[0]}
	}
	if len(y) == 1 {
		y = []int{y[0], 1}
	}
	out, err := ir.Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		t.Fatal(err)
	}
	if len(c.x) > 1 {
		out = append(out, x[len(x)-2])
	}
	if len(c.y) > 1 {
		out = append(out, y[len(y)-1])
	}
	return out
}

func (c layoutCase) views(t *testing.T) (x, y, d ir.View) {
	view := func(shape, strides []int) ir.View {
		if strides == nil {
			strides = ir.ContiguousStrides(shape)
		}
		return ir.View{DType: ir.Float64, Shape: shape, Strides: strides}
	}
	return view(c.x, c.xs), view(c.y, c.ys), view(c.shape(t), c.ds)
}

// naive multiplies by the definition: memory and views in, values out.
func naive(x, y, d ir.View, mx, my []complex128) []complex128 {
	var out []complex128
	librarytest.Each(d.Shape, func(at []int) {
		lead := at
		row, column := 0, 0
		if len(y.Shape) > 1 {
			lead, column = lead[:len(lead)-1], lead[len(lead)-1]
		}
		if len(x.Shape) > 1 {
			lead, row = lead[:len(lead)-1], lead[len(lead)-1]
		}
		var sum complex128
		for k := range x.Shape[len(x.Shape)-1] {
			sum += mx[operandOffset(x, lead, row, k, true)] * my[operandOffset(y, lead, k, column, false)]
		}
		out = append(out, sum)
	})
	return out
}

func operandOffset(v ir.View, lead []int, row, column int, left bool) int {
	r := len(v.Shape)
	if r == 1 {
		if left {
			return column * v.Strides[0]
		}
		return row * v.Strides[0]
	}
	n := row*v.Strides[r-2] + column*v.Strides[r-1]
	for i := range r - 2 {
		if v.Shape[i] > 1 {
			n += lead[len(lead)-(r-2)+i] * v.Strides[i]
		}
	}
	return n
}

// memory returns distinct values for all that v spans.
func memory(v ir.View, rng *rand.Rand) []complex128 {
	_, end := ir.Layout{Shape: v.Shape, Strides: v.Strides}.Span()
	m := make([]complex128, end)
	for i := range m {
		m[i] = complex(float64(rng.IntN(19)-9), 0)
	}
	return m
}

// columnMajor is what the library does with a geometry.
func columnMajor(g geometry, a, b, d []complex128, offA, offB, offD int) {
	at := func(m []complex128, off, ld, row, column int, trans bool) complex128 {
		if trans {
			row, column = column, row
		}
		return m[off+column*ld+row]
	}
	for i := range g.batch {
		for row := range g.m {
			for column := range g.n {
				var sum complex128
				for k := range g.k {
					sum += at(a, offA+i*g.sa, g.lda, row, k, g.transA) * at(b, offB+i*g.sb, g.ldb, k, column, g.transB)
				}
				d[offD+i*g.sd+column*g.ldd+row] = sum
			}
		}
	}
}

func TestLayouts(t *testing.T) {
	for _, c := range layoutCases {
		for _, biased := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				x, y, d := c.views(t)
				p, ok := describe(x, y, d)
				if !ok {
					t.Fatal("too many axes")
				}
				last, others := p.widest()
				g, ok := p.geometry(biased)
				if !ok {
					if !c.copies && !biased {
						t.Fatalf("no layout for %+v", p)
					}
					return
				}
				if c.copies {
					t.Fatalf("a layout was found: %+v", g)
				}
				if biased && g.swapped {
					t.Error("a product with a bias is swapped")
				}
				g.batched(last)
				if others != c.calls {
					t.Errorf("%d calls, want %d", others, c.calls)
				}
				mx, my, md := memory(x, rng), memory(y, rng), memory(d, rng)
				for i := range others {
					ox, oy, od := p.at(i)
					if a, b := my, mx; g.swapped {
						columnMajor(g, b, a, md, ox, oy, od)
					} else {
						columnMajor(g, a, b, md, oy, ox, od)
					}
				}
				var got []complex128
				librarytest.Each(d.Shape, func(at []int) { got = append(got, md[librarytest.Offset(at, d.Strides)]) })
				if diff := cmp.Diff(naive(x, y, d, mx, my), got); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", g, diff)
				}
			})
		}
	}
}

// TestThinSide has the extent of 1 be the library's n, never its m: a matrix
// times a vector is then what the library knows as one.
func TestThinSide(t *testing.T) {
	for _, c := range []layoutCase{
		{x: []int{30, 50}, y: []int{50}},
		{x: []int{30, 50}, y: []int{50, 1}},
		{x: []int{50}, y: []int{50, 40}},
		{x: []int{1, 50}, y: []int{50, 40}},
	} {
		p, _ := describe(c.views(t))
		g, ok := p.geometry(false)
		if !ok || g.n != 1 || g.m == 1 {
			t.Errorf("%v @ %v: %+v", c.x, c.y, g)
		}
	}
}

func TestTooManyAxes(t *testing.T) {
	x := ir.View{DType: ir.Float32, Shape: []int{2, 3, 2, 3, 2, 3, 2, 3, 2, 4, 5}}
	x.Strides = ir.ContiguousStrides(x.Shape)
	y := ir.View{DType: ir.Float32, Shape: []int{2, 1, 2, 1, 2, 1, 2, 1, 2, 5, 4}}
	y.Strides = ir.ContiguousStrides(y.Shape)
	d := ir.View{DType: ir.Float32, Shape: []int{2, 3, 2, 3, 2, 3, 2, 3, 2, 4, 4}}
	d.Strides = ir.ContiguousStrides(d.Shape)
	if _, ok := describe(x, y, d); ok {
		t.Error("nine axes that do not join were described")
	}
}

func TestAlignment(t *testing.T) {
	for addr, want := range map[uint64]uint8{0x7f0000000200: 8, 0x7f0000000010: 4, 0x7f0000000002: 1, 0x7f0000000100: 8} {
		if got := alignment(addr); got != want {
			t.Errorf("alignment(%#x) = %d, want %d", addr, got, want)
		}
	}
}
