package launch

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/brief"
)

// operator returns an element-wise operator of n operands.
func operator(n int, expr string, attrs ...ir.Attr) *ir.Op {
	op := &ir.Op{
		Name: "op", Kind: ir.Elementwise, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Promote: ir.PromoteArith,
		Switch: -1, Bodies: []ir.Body{{Exprs: []string{expr}, Indexed: expr == "index"}}, Attrs: attrs, Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "m", Symbol: "op"}}},
	}
	for i := range n {
		op.In = append(op.In, ir.Operand{Name: string(rune('x' + i))})
	}
	return op
}

// layouts are strides of a shape as programs make them.
func randomStrides(rng *rand.Rand, shape []int) []int {
	strides := make([]int, len(shape))
	order := rng.Perm(len(shape))
	if rng.IntN(2) == 0 {
		slices.SortFunc(order, func(a, b int) int { return b - a }) // as it is
	}
	n := 1
	if rng.IntN(4) == 0 {
		n = 1 + rng.IntN(3)
	}
	for _, a := range order {
		strides[a] = n
		n *= shape[a]
		if rng.IntN(6) == 0 {
			n += 8
		}
	}
	return strides
}

func repeatAxes(rng *rand.Rand, strides []int) []int {
	for a := range strides {
		if rng.IntN(4) == 0 {
			strides[a] = 0
		}
	}
	return strides
}

func randomShape(rng *rand.Rand, rank, most int) []int {
	shape := make([]int, rank)
	for a := range shape {
		shape[a] = 1 + rng.IntN(most)
		if rng.IntN(3) == 0 {
			shape[a] = 8 * (1 + rng.IntN(3))
		}
	}
	return shape
}

// TestElementwiseCoverage runs random calls and follows the addresses their
// launches compute: every position once, with the offsets its coordinates have.
func TestElementwiseCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range brief.Times(400) {
		shape := randomShape(rng, rng.IntN(5), 5)
		dt := ir.ClassAll.List()[rng.IntN(12)]
		out := deviceView(1<<30, dt, shape, randomStrides(rng, shape))
		if rng.IntN(3) == 0 {
			out.Addr += uint64(dt.Size())
		}
		c := &ir.Call{Kernel: operator(2, []string{"x + y", "index"}[rng.IntN(2)]).Kernel(0, dt), Space: shape, Out: []ir.View{out}}
		for k := range 2 {
			c.In = append(c.In, deviceView(uint64(2+k)<<30, dt, shape, repeatAxes(rng, randomStrides(rng, shape))))
		}
		f, d := newFake(t)
		must(t, d.Run(7, c))
		checkPositions(t, f, c, seen)
	}
	for _, loop := range []string{"", "_strided", "_rows"} {
		if seen[loop] < brief.Times(20) {
			t.Errorf("only %d launches of the loop %q", seen[loop], loop)
		}
	}
}

func checkPositions(t *testing.T, f *fake, c *ir.Call, seen map[string]int) {
	t.Helper()
	got := map[[3]uint64]int{}
	indexed := c.Op.Bodies[0].Exprs[0] == "index"
	for _, l := range f.launches {
		loop := strings.TrimPrefix(l.name, "op_"+c.In[0].DType.String())
		seen[loop]++
		r := reader{t: t, data: l.params}
		for _, p := range devicePositions(&r, loop, c.In[0].DType) {
			at := [3]uint64{p.at[0], p.at[1], p.at[2]}
			got[at]++
			if indexed {
				want := [3]uint64{}
				coords := coordinates(c.Space, int(p.index))
				for k, v := range []ir.View{c.Out[0], c.In[0], c.In[1]} {
					want[k] = address(v, coords)
				}
				if at != want {
					t.Fatalf("%s of shape %v: index %d is at %v, want %v", l.name, c.Space, p.index, at, want)
				}
			}
		}
	}
	want := map[[3]uint64]int{}
	enumerate(c.Space, func(_ int, at []int) {
		want[[3]uint64{address(c.Out[0], at), address(c.In[0], at), address(c.In[1], at)}]++
	})
	if maps.Equal(want, got) {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("shape %v, strides %v, %v, %v: -want +got\n%s", c.Space, c.Out[0].Strides, c.In[0].Strides, c.In[1].Strides, diff)
	}
}

func coordinates(shape []int, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}

type position struct {
	index int64
	at    []uint64
}

// devicePositions does what the loops of elementwise.cuh do with three operands of
// one dtype.
func devicePositions(r *reader, loop string, dt ir.DType) (out []position) {
	size := uint64(dt.Size())
	width := int64(8)
	if size > 2 {
		width = int64(16 / size)
	}
	if loop == "" {
		count := r.i64()
		p := [3]uint64{uint64(r.i64()), uint64(r.i64()), uint64(r.i64())}
		for i := range count {
			off := uint64(i) * size
			out = append(out, position{i, []uint64{p[0] + off, p[1] + off, p[2] + off}})
		}
		return out
	}
	s := r.space(3)
	p := [3]uint64{uint64(r.i64()), uint64(r.i64()), uint64(r.i64())}
	for i := range s.count {
		if loop == "_strided" {
			at := s.locate(uint32(i), 0)
			q := position{index: s.first + i}
			for k := range p {
				q.at = append(q.at, p[k]+uint64(at[k])*size)
			}
			out = append(out, q)
			continue
		}
		row := uint32(0)
		if s.rank > 1 {
			row = s.quotient(uint32(i), 0)
		}
		start := (i - int64(row)*int64(s.dividers[0][0])) * width
		at := s.locate(row, 1)
		for v := range width {
			q := position{index: s.first + i*width + v}
			for k := range p {
				from := p[k] + uint64(start*s.strides[k][0]+at[k])*size
				if s.strides[k][0] == 1 && from%(uint64(width)*size) != 0 {
					r.t.Fatalf("a vector of operand %d is at %#x", k, from)
				}
				q.at = append(q.at, from+uint64(v*s.strides[k][0])*size)
			}
			out = append(out, q)
		}
	}
	return out
}

// TestContiguousCover: the blocks of every count cover it, and none too many.
func TestContiguousCover(t *testing.T) {
	_, d := newFake(t)
	x := &Context{device: d, views: make([]ir.View, 2)}
	for count := int64(1); count < 1<<17; count += 37 {
		for _, widest := range []int{1, 4, 8, 16} {
			width, each := vectorsOf(widest)
			grid, block := x.contiguousShape(&elements{count: count, widest: widest})
			all := int64(grid.X) * int64(block.X) * width * each
			if all < count || all-count >= int64(block.X)*width*each || block.X%warp != 0 || block.X > elementwiseThreads {
				t.Fatalf("%d elements of %d bytes: %d blocks of %d threads", count, widest, grid.X, block.X)
			}
		}
	}
}

// TestStored lists which kernel calls of mixed dtypes run, and what is converted.
func TestStored(t *testing.T) {
	compare := operator(2, "x < y")
	compare.Promote = ir.PromoteCompare
	fixed := operator(2, "where(x, y, y)")
	fixed.In[0].Fixed = ir.Bool
	real := operator(2, "abs(x)")
	real.Promote = ir.PromoteToReal
	h, f, d := ir.Float16, ir.Float32, ir.Float64
	tests := []struct {
		name  string
		op    *ir.Op
		dtype ir.DType // that operands promote to
		out   ir.DType
		in    [2]ir.DType
		want  []string
	}{
		{"alike", operator(2, "x + y"), f, f, [2]ir.DType{f, f}, []string{"op_float32"}},
		{"half", operator(2, "x + y"), h, h, [2]ir.DType{h, h}, []string{"op_float16"}},
		{"half and bfloat16", operator(2, "x + y"), f, f, [2]ir.DType{h, ir.BFloat16}, []string{"convert_float16_float32", "convert_bfloat16_float32", "op_float32"}},
		{"half with a float32 result", operator(2, "x + y"), h, f, [2]ir.DType{h, h}, []string{"convert_float16_float32", "convert_float16_float32", "op_float32"}},
		{"half and float32 into half", operator(2, "x + y"), f, h, [2]ir.DType{h, f}, []string{"convert_float16_float32", "op_float32", "convert_float32_float16"}},
		{"integers to double", operator(2, "x + y"), d, d, [2]ir.DType{ir.Int32, d}, []string{"convert_int32_float64", "op_float64"}},
		{"bool to int64", operator(2, "x + y"), ir.Int64, ir.Int64, [2]ir.DType{ir.Bool, ir.Int64}, []string{"convert_uint8_int64", "op_int64"}},
		{"comparison of halves", compare, h, ir.Bool, [2]ir.DType{h, h}, []string{"op_float16"}},
		{"comparison into float32", compare, h, f, [2]ir.DType{h, h}, []string{"op_float16", "convert_uint8_float32"}},
		{"fixed operand", fixed, h, h, [2]ir.DType{ir.Bool, h}, []string{"op_float16"}},
		{"fixed operand of another dtype", fixed, h, h, [2]ir.DType{f, h}, []string{"convert_float32_bool", "op_float16"}},
		{"complex to real", real, ir.Complex64, f, [2]ir.DType{ir.Complex64, ir.Complex64}, []string{"op_complex64"}},
	}
	for _, tt := range tests {
		f, dev := newFake(t)
		shape := []int{2, 3}
		c := &ir.Call{
			Space: shape, Out: []ir.View{deviceView(1<<20, tt.out, shape, nil)},
			In: []ir.View{deviceView(2<<20, tt.in[0], shape, nil), deviceView(3<<20, tt.in[1], shape, nil)},
		}
		c.Kernel = tt.op.Stored(0, tt.dtype, c.Out, c.In)
		must(t, dev.Run(0, c))
		var got []string
		for _, l := range f.launches {
			got = append(got, l.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestParams holds the bytes of launches against what C makes of their structs.
func TestParams(t *testing.T) {
	half, whole, c16 := 0.1, int64(7), complex128(3+4i)
	tests := []struct {
		name    string
		dt      ir.DType
		number  ir.View
		attrs   []ir.Attr
		scalars []ir.Scalar
		want    func(p *driver.Params)
	}{
		{
			name: "a number in the compute dtype", dt: ir.Float16, number: hostNumber(&half, ir.Float64, []int{4}),
			want: func(p *driver.Params) {
				p.Int64(4)
				p.Ptr(1 << 20)
				p.Ptr(2 << 20)
				p.Uint64(uint64(math.Float32bits(0.1)))
				p.Uint64(4) // padded
				p.Uint8(0)
			},
		}, {
			name: "attributes in order", dt: ir.Float32, number: hostNumber(&whole, ir.Int64, []int{4}),
			attrs:   []ir.Attr{{Name: "keep", Kind: ir.AttrBool}, {Name: "a", Kind: ir.AttrScalar}, {Name: "dims", Kind: ir.AttrInts}, {Name: "n", Kind: ir.AttrInt}, {Name: "f", Kind: ir.AttrFloat}},
			scalars: []ir.Scalar{ir.BoolScalar(true), ir.FloatScalar(0.5), ir.IntScalar(-2), ir.FloatScalar(1.5)},
			want: func(p *driver.Params) {
				p.Int64(4)
				p.Ptr(1 << 20)
				p.Ptr(2 << 20)
				p.Uint64(uint64(math.Float32bits(7)))
				p.Uint64(4)
				p.Bool(true)
				p.Float32(0.5)
				p.Int64(-2)
				p.Float32(1.5)
				p.Align(8)
			},
		}, {
			name: "a complex attribute", dt: ir.Complex64, number: hostNumber(&c16, ir.Complex128, []int{4}),
			attrs:   []ir.Attr{{Name: "a", Kind: ir.AttrScalar}, {Name: "f", Kind: ir.AttrFloat}},
			scalars: []ir.Scalar{ir.ComplexScalar(1 - 2i), ir.IntScalar(9)},
			want: func(p *driver.Params) {
				p.Int64(4)
				p.Ptr(1 << 20)
				p.Ptr(2 << 20)
				p.Float32(3)
				p.Float32(4)
				p.Uint64(4)
				p.Float32(1)
				p.Float32(-2)
				p.Float32(9)
				p.Align(8)
			},
		},
	}
	for _, tt := range tests {
		f, d := newFake(t)
		shape := []int{4}
		must(t, d.Run(0, &ir.Call{
			Kernel: operator(2, "x + y", tt.attrs...).Kernel(0, tt.dt), Space: shape, Scalars: tt.scalars,
			Out: []ir.View{deviceView(1<<20, tt.dt, shape, nil)}, In: []ir.View{deviceView(2<<20, tt.dt, shape, nil), tt.number},
		}))
		if len(f.launches) != 1 {
			t.Fatalf("%s: %d launches", tt.name, len(f.launches))
		}
		var want driver.Params
		tt.want(&want)
		if diff := cmp.Diff(want.Bytes(), f.launches[0].params); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestContiguousShape lists the blocks of loops over contiguous operands.
func TestContiguousShape(t *testing.T) {
	half := 0.5
	tests := []struct {
		name            string
		dt              ir.DType
		count           int
		in              string // d for an operand on the device, n for a number
		blocks, threads uint32
	}{
		{"one operand", ir.Float32, 1 << 26, "d", 1 << 16, 128},
		{"one operand and a number", ir.Float32, 1 << 26, "dn", 1 << 16, 128},
		{"two operands", ir.Float32, 1 << 26, "dd", 1 << 15, 256},
		{"vectors of 8", ir.Float16, 1 << 26, "d", 1 << 15, 128},
		{"vectors of 8 bytes", ir.Uint8, 1 << 26, "dd", 1 << 14, 256},
		{"vectors of one", ir.Complex128, 1 << 20, "dd", 1 << 11, 256},
		{"half as large to fill the device", ir.Float32, 1 << 18, "dd", 1 << 8, 128},
		{"the smallest", ir.Float32, 4096, "d", 8, 64},
		{"a vector a thread", ir.Float32, 1000, "dn", 1, 256},
		{"threads without work", ir.Float32, 129, "dd", 1, 64},
		{"a last block with two", ir.Float32, 4000, "dd", 8, 64},
		{"a last block with one", ir.Float32, 1500, "dd", 2, 128},
	}
	for _, tt := range tests {
		f, d := newFake(t)
		shape := []int{tt.count}
		c := &ir.Call{Kernel: operator(len(tt.in), "x + y").Kernel(0, tt.dt), Space: shape, Out: []ir.View{deviceView(1<<36, tt.dt, shape, nil)}}
		for i, kind := range tt.in {
			v := deviceView(uint64(2+i)<<36, tt.dt, shape, nil)
			if kind == 'n' {
				v = hostNumber(&half, ir.Float64, shape)
			}
			c.In = append(c.In, v)
		}
		must(t, d.Run(0, c))
		want := [2]driver.Dim3{{X: tt.blocks, Y: 1, Z: 1}, {X: tt.threads, Y: 1, Z: 1}}
		if diff := cmp.Diff(want, [2]driver.Dim3{f.launches[0].grid, f.launches[0].block}); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestLargeNumber has a number that Operands cannot hold uploaded by a fill.
func TestLargeNumber(t *testing.T) {
	f, d := newFake(t)
	shape, z := []int{3}, complex128(1+2i)
	must(t, d.Run(0, &ir.Call{
		Kernel: operator(2, "x + y").Kernel(0, ir.Complex128), Space: shape, Out: []ir.View{deviceView(1<<20, ir.Complex128, shape, nil)},
		In: []ir.View{deviceView(2<<20, ir.Complex128, shape, nil), hostNumber(&z, ir.Complex128, shape)},
	}))
	var names []string
	for _, l := range f.launches {
		names = append(names, l.name)
	}
	if diff := cmp.Diff([]string{"fill_b16", "op_complex128_strided"}, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	f, d := newFake(t)
	f.fail = errFake
	shape := []int{4}
	err := d.Run(0, &ir.Call{
		Kernel: operator(1, "x * x").Kernel(0, ir.Float32), Space: shape,
		Out: []ir.View{deviceView(1<<20, ir.Float32, shape, nil)}, In: []ir.View{deviceView(2<<20, ir.Float32, shape, nil)},
	})
	if !errors.Is(err, driver.IllegalAddress) || !strings.Contains(err.Error(), "op_float32") || !strings.Contains(err.Error(), "cuda:0") {
		t.Errorf("error %v", err)
	}
	err = d.Run(0, &ir.Call{Kernel: (&ir.Op{Name: "own", Kind: ir.Opaque}).Kernel(0, ir.Int8)})
	if err == nil || !strings.Contains(err.Error(), "own: not implemented for int8 on cuda") {
		t.Errorf("error %v", err)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	_, d := newFake(t)
	d.api = silent{d.api}
	shape := []int{4, 4}
	half := 0.5
	add := &ir.Call{
		Kernel: operator(2, "x + y").Kernel(0, ir.Float32), Space: shape, Out: []ir.View{deviceView(1<<20, ir.Float32, shape, nil)},
		In: []ir.View{deviceView(2<<20, ir.Float32, shape, nil), deviceView(3<<20, ir.Float32, shape, nil)},
	}
	scale := *add
	scale.In = []ir.View{add.In[0], hostNumber(&half, ir.Float64, shape)}
	transposed := *add
	transposed.In = []ir.View{add.In[0], deviceView(3<<20, ir.Float32, shape, []int{1, 4})}
	for name, c := range map[string]*ir.Call{"add": add, "number": &scale, "transposed": &transposed} {
		t.Run(name, func(t *testing.T) { allocations.AtMost(t, 0, func() { must(t, d.Run(0, c)) }) })
	}
}

// silent is a driver whose launches do nothing.
type silent struct{ driver.API }

func (silent) LaunchKernel(int, driver.Launch) error { return nil }

func BenchmarkRun(b *testing.B) {
	_, d := newFake(b)
	d.api = silent{d.api}
	few, many := []int{1024}, []int{1 << 20}
	for name, c := range map[string]*ir.Call{
		"add": {
			Kernel: operator(2, "x + y").Kernel(0, ir.Float32), Space: few, Out: []ir.View{deviceView(1<<20, ir.Float32, few, nil)},
			In: []ir.View{deviceView(2<<20, ir.Float32, few, nil), deviceView(3<<20, ir.Float32, few, nil)},
		},
		"fold of few": {
			Kernel: folder(ir.Reduction).Kernel(0, ir.Float32), Space: few, Axes: []int{0},
			Out: []ir.View{deviceView(1<<20, ir.Float32, []int{1}, []int{0})}, In: []ir.View{deviceView(2<<20, ir.Float32, few, nil)},
		},
		"fold in slices": {
			Kernel: folder(ir.Reduction).Kernel(0, ir.Float32), Space: many, Axes: []int{0},
			Out: []ir.View{deviceView(1<<20, ir.Float32, []int{1}, []int{0})}, In: []ir.View{deviceView(2<<20, ir.Float32, many, nil)},
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Run(0, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
