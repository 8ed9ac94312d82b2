package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// An operation is an operator and how to call it.
type operation struct {
	op      *ir.Op
	dtypes  ir.DTypeSet
	typed   func(d ir.DType) ir.DType // the kernel's dtype for operands of d; nil: d
	result  func(d ir.DType) ir.DType // nil: d
	scalars []ir.Scalar
	exact   bool
}

func real(d ir.DType) ir.DType { return d.Real() }

func always(d ir.DType) func(ir.DType) ir.DType { return func(ir.DType) ir.DType { return d } }

func sumType(d ir.DType) ir.DType {
	if d.Category() <= ir.CategoryInt {
		return ir.Int64
	}
	return d
}

// element returns an element-wise operator with the code of a standard one.
func element(name, expr string, n int, std *ir.Op, promote ir.Promotion) *ir.Op {
	op := &ir.Op{Name: name, Kind: ir.Elementwise, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Promote: promote, Switch: -1,
		Bodies: []ir.Body{{Exprs: []string{expr}}}, Code: std.Code}
	for i := range n {
		op.In = append(op.In, ir.Operand{Name: string(rune('x' + i))})
	}
	return op
}

func folding(name string, kind ir.BodyKind, std *ir.Op, promote ir.Promotion) *ir.Op {
	op := &ir.Op{Name: name, Kind: kind, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll,
		Promote: promote, Switch: -1, Bodies: []ir.Body{{}}, Code: std.Code}
	if kind == ir.Scan {
		op.Attrs = []ir.Attr{{Name: "dim", Kind: ir.AttrInt}}
	} else {
		op.Attrs = []ir.Attr{{Name: "dim", Kind: ir.AttrInts}, {Name: "keepdim", Kind: ir.AttrBool}}
	}
	return op
}

func operations() []operation {
	where := element("where", "where(x, y, z)", 3, ops.WhereOp(), ir.PromoteArith)
	where.In[0].Fixed = ir.Bool
	leaky := element("leaky_relu", "x*slope", 1, ops.LeakyReLUOp(), ir.PromoteArith)
	leaky.Attrs = []ir.Attr{{Name: "negative_slope", Kind: ir.AttrScalar}}
	arange := element("arange_sized", "index", 0, ops.ArangeSizedOp(), ir.PromoteArith)
	arange.Bodies[0].Indexed = true
	arange.Attrs = []ir.Attr{{Name: "start", Kind: ir.AttrScalar}, {Name: "step", Kind: ir.AttrScalar}}
	anyOp := folding("any", ir.Reduction, ops.AnyOp(), ir.PromoteNone)
	anyOp.Out[0].DType = ir.Bool
	keep := []ir.Scalar{ir.BoolScalar(false)}
	dim := []ir.Scalar{ir.IntScalar(0)}
	return []operation{
		{op: element("add", "x + y", 2, ops.AddOp(), ir.PromoteArith), dtypes: ir.ClassAll, exact: true},
		{op: element("mul", "x * y", 2, ops.MulOp(), ir.PromoteArith), dtypes: ir.ClassNum},
		{op: where, dtypes: ir.ClassAll, exact: true},
		{op: element("lt", "x < y", 2, ops.LtOp(), ir.PromoteCompare), dtypes: ir.ClassReal, result: always(ir.Bool), exact: true},
		{op: element("abs", "abs(x)", 1, ops.AbsOp(), ir.PromoteToReal), dtypes: ir.ClassNum, result: real},
		{op: element("exp", "exp(x)", 1, ops.ExpOp(), ir.PromoteArithFloat), dtypes: ir.ClassFloat | ir.ClassComplex},
		{op: leaky, dtypes: ir.ClassFloat, scalars: []ir.Scalar{ir.FloatScalar(0.1)}, exact: true},
		{op: arange, dtypes: ir.ClassInt | ir.ClassFloat, scalars: []ir.Scalar{ir.IntScalar(5), ir.IntScalar(2)}, exact: true},
		{op: folding("sum", ir.Reduction, ops.SumOp(), ir.PromoteSumAcc), dtypes: ir.ClassAll, typed: sumType, result: sumType, scalars: keep},
		{op: folding("mean", ir.Reduction, ops.MeanOp(), ir.PromoteNone), dtypes: ir.ClassFloat | ir.ClassComplex, scalars: keep},
		{op: folding("max", ir.Reduction, ops.MaxOp(), ir.PromoteNone), dtypes: ir.ClassReal, scalars: keep, exact: true},
		{op: anyOp, dtypes: ir.ClassAll, result: always(ir.Bool), scalars: keep, exact: true},
		{op: folding("cumsum", ir.Scan, ops.CumsumOp(), ir.PromoteSumAcc), dtypes: ir.ClassAll, typed: sumType, result: sumType, scalars: dim},
		{op: folding("logcumsumexp", ir.Scan, ops.FloatLogcumsumexpOp(), ir.PromoteNone), dtypes: ir.ClassFloat, scalars: dim},
	}
}

// A bed holds the device's side of a test's operands.
type bed struct {
	t    testing.TB
	d    *Driver
	used []device.Memory
}

// reach is how many elements v's memory has from the first on.
func reach(v ir.View) int {
	n := 1
	for a, d := range v.Shape {
		n += max(0, d-1) * v.Strides[a]
	}
	return n
}

// put copies v's memory to the device, at elements after an aligned address.
func (b *bed) put(v ir.View, at int) ir.View {
	b.t.Helper()
	n := int64(reach(v) * v.DType.Size())
	m, err := b.d.Alloc(0, n+256)
	must(b.t, err)
	b.used = append(b.used, m)
	out := v
	out.Ptr, out.Addr = nil, m.Addr+uint64(at*v.DType.Size())
	must(b.t, b.d.CopyFromHost(0, 0, out.Addr, v.Ptr, n))
	return out
}

// get copies the device's memory of v over host's.
func (b *bed) get(v, host ir.View) {
	b.t.Helper()
	must(b.t, b.d.CopyToHost(0, 0, host.Ptr, v.Addr, int64(reach(v)*v.DType.Size())))
	must(b.t, b.d.SyncStream(context.Background(), 0, 0))
}

func (b *bed) free() {
	for _, m := range b.used {
		must(b.t, b.d.Free(0, m))
	}
	b.used = nil
}

// near reports whether got is want but for rounding of n terms in dtype d.
func near(got, want complex128, d ir.DType, exact bool, n int) bool {
	if got == want || cmplx.IsNaN(got) && cmplx.IsNaN(want) {
		return true
	}
	if exact && !d.IsFloat() {
		return false
	}
	eps := map[ir.DType]float64{ir.Float16: 1e-3, ir.BFloat16: 8e-3, ir.Float32: 2e-6, ir.Complex64: 2e-6, ir.Float64: 1e-13, ir.Complex128: 1e-13}[d]
	if exact {
		eps = 0
	}
	return cmplx.Abs(got-want) <= eps*math.Sqrt(float64(n))*max(1, cmplx.Abs(want))
}

// checkSums compares the running sums along an axis that a backend made of x with
// those in double precision. Rounding n sums in turn is an error of the largest of
// them, which the last may be far below, about sqrt(n) times; n times where all
// terms are one repeated, for then the errors go one way.
func checkSums(backend string, x, got ir.View, axis int) error {
	unit := map[ir.DType]float64{ir.Float16: 0x1p-11, ir.BFloat16: 0x1p-8, ir.Float32: 0x1p-24, ir.Complex64: 0x1p-24, ir.Float64: 0x1p-53, ir.Complex128: 0x1p-53}
	inner := ir.NumElements(x.Shape[axis+1:])
	sums, peaks := make([]complex128, ir.NumElements(x.Shape)), make([]float64, ir.NumElements(x.Shape))
	for i := range sums {
		sums[i] = cputest.Get(x, i)
		n := i / inner % x.Shape[axis]
		if n > 0 {
			sums[i] += sums[i-inner]
			peaks[i] = peaks[i-inner]
		}
		peaks[i] = max(peaks[i], cmplx.Abs(sums[i]))
		errs := 4 * math.Sqrt(float64(n))
		if x.Strides[axis] == 0 {
			errs = float64(n)
		}
		bound := unit[got.DType]*cmplx.Abs(sums[i]) + errs*unit[got.DType.Compute()]*peaks[i]
		if g := cputest.Get(got, i); !(cmplx.Abs(g-sums[i]) <= bound) {
			return fmt.Errorf("%s: shape %v, axis %d, %s%v of %s%v: element %d is %v, want %v within %g", backend, x.Shape, axis, got.DType, got.Strides, x.DType, x.Strides, i, g, sums[i], bound)
		}
	}
	return nil
}

func randomSpace(rng *rand.Rand) []int {
	shape := make([]int, rng.IntN(5))
	for a := range shape {
		shape[a] = 1 + rng.IntN(7)
	}
	if len(shape) > 0 {
		switch a := rng.IntN(len(shape)); rng.IntN(5) {
		case 0:
			shape[a] = 64 * (1 + rng.IntN(4))
		case 1:
			shape[a] = 1 + rng.IntN(3000)
		case 2:
			shape[a] = rng.IntN(2)
		case 3:
			shape[a] = 40000
			for k := range shape {
				if k != a {
					shape[k] = min(shape[k], 2)
				}
			}
		}
	}
	return shape
}

func operandIn(rng *rand.Rand, d ir.DType, space []int) ir.View {
	v := cputest.NewView(d, cputest.Layouts[rng.IntN(len(cputest.Layouts))], space...)
	if rng.IntN(4) == 0 { // repeats some axes
		shape := slices.Clone(space)
		for a := range shape {
			if rng.IntN(2) == 0 {
				shape[a] = min(shape[a], 1)
			}
		}
		if ir.NumElements(space) > 0 {
			v = cputest.NewView(d, "contiguous", shape...)
			fill(v, rng)
			return cputest.Expand(v, space...)
		}
	}
	return fill(v, rng)
}

func fill(v ir.View, rng *rand.Rand) ir.View {
	if v.DType.Category() >= ir.CategoryFloat && rng.IntN(2) == 0 {
		return cputest.FillFloat(v, rng, -2, 2)
	}
	return cputest.Fill(v, rng, 0, 3)
}

// TestCalls runs random calls on the device and on the CPU.
func TestCalls(t *testing.T) {
	d := onGPU(t)
	for _, o := range operations() {
		t.Run(o.op.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			failures := 0
			for i := range 25 * len(o.dtypes.List()) {
				dt := o.dtypes.List()[i%len(o.dtypes.List())]
				if err := tryCall(t, d, rng, o, dt); err != nil {
					t.Errorf("%s: %v", dt, err)
					if failures++; failures > 6 {
						t.FailNow()
					}
				}
			}
		})
	}
}

func tryCall(t *testing.T, d *Driver, rng *rand.Rand, o operation, dt ir.DType) error {
	b := &bed{t: t, d: d}
	defer b.free()
	space := randomSpace(rng)
	c := &ir.Call{Space: space, Scalars: o.scalars}
	typed, result := dt, dt
	if o.typed != nil {
		typed = o.typed(dt)
	}
	if o.result != nil {
		result = o.result(dt)
	}
	outShape := slices.Clone(space)
	switch o.op.Kind {
	case ir.Reduction:
		for a := range space {
			if rng.IntN(2) == 0 {
				c.Axes = append(c.Axes, a)
				outShape[a] = 1
			}
		}
		if ir.NumElements(outShape) == 0 || o.op.Name == "max" && ir.NumElements(space) == 0 {
			return nil
		}
	case ir.Scan:
		if len(space) == 0 || ir.NumElements(space) == 0 {
			return nil
		}
		c.Axes = []int{rng.IntN(len(space))}
	}
	layout := "contiguous"
	if rng.IntN(3) == 0 {
		layout = []string{"transposed", "sliced", "offset"}[rng.IntN(3)]
	}
	out := cputest.NewView(result, layout, outShape...)
	deviceOut := b.put(out, rng.IntN(2))
	for _, a := range c.Axes {
		if o.op.Kind == ir.Reduction {
			out.Strides[a], deviceOut.Strides[a] = 0, 0
		}
	}
	onDevice := *c
	c.Out, onDevice.Out = []ir.View{out}, []ir.View{deviceOut}
	for k, p := range o.op.In {
		from := dt
		if p.Fixed != ir.Invalid {
			from = p.Fixed
		} else if rng.IntN(8) == 0 && dt == ir.Float32 && o.op.Kind == ir.Elementwise && !o.op.Bodies[0].Identity {
			from = []ir.DType{ir.Int32, ir.Float16, ir.Float64}[rng.IntN(3)]
		}
		if k > 0 && rng.IntN(4) == 0 && ir.NumElements(space) > 0 { // a number
			v := cputest.FillFloat(cputest.NewView(ir.Float64, "contiguous"), rng, -2, 2)
			if dt.Category() < ir.CategoryFloat {
				v = cputest.Fill(cputest.NewView(ir.Int64, "contiguous"), rng, 0, 3)
			}
			v = cputest.Expand(v, space...)
			c.In, onDevice.In = append(c.In, v), append(onDevice.In, v)
			continue
		}
		v := operandIn(rng, from, space)
		c.In, onDevice.In = append(c.In, v), append(onDevice.In, b.put(v, rng.IntN(2)*(1+rng.IntN(3))))
	}
	c.Kernel = o.op.Stored(0, typed, c.Out, c.In)
	onDevice.Kernel = o.op.Stored(0, typed, onDevice.Out, onDevice.In)
	c.Flat, onDevice.Flat = c.AllFlat(), onDevice.AllFlat()
	if err := exec.Run(c); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	if err := d.Launch(0, 0, &onDevice); err != nil {
		return fmt.Errorf("space %v: %w", space, err)
	}
	got := cputest.NewView(result, layout, outShape...)
	back := deviceOut
	back.Strides = got.Strides
	b.get(back, got)
	if o.op.Name == "cumsum" && result.Category() >= ir.CategoryFloat {
		return errors.Join(checkSums("cpu", c.In[0], out, c.Axes[0]), checkSums("cuda", c.In[0], got, c.Axes[0]))
	}
	terms := 1
	for _, a := range c.Axes {
		terms *= max(1, space[a])
	}
	for i := range ir.NumElements(outShape) {
		g, w := cputest.Get(got, i), cputest.Get(out, i)
		if !near(g, w, result, o.exact, terms) {
			describe := ""
			for _, v := range c.In {
				describe += fmt.Sprintf(" %s%v", v.DType, v.Strides)
			}
			return fmt.Errorf("space %v, axes %v, %s%v of%s: element %d is %v, want %v", space, c.Axes, out.DType, deviceOut.Strides, describe, i, g, w)
		}
	}
	return nil
}

// TestCopies converts between all pairs of dtypes, in random layouts.
func TestCopies(t *testing.T) {
	d := onGPU(t)
	identity := copying()
	rng := rand.New(rand.NewPCG(13, 14))
	for _, from := range ir.ClassAll.List() {
		for _, to := range ir.ClassAll.List() {
			o := operation{op: identity, exact: true, result: always(to)}
			for range 8 {
				if err := tryCall(t, d, rng, o, from); err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
					break
				}
			}
		}
	}
}

// copying returns an operator whose result is its operand, which no kernel computes.
func copying() *ir.Op {
	op := element("copy", "x", 1, new(ir.Op), ir.PromoteNone)
	op.Code = []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{copyLoops()}}}, {For: "cuda", Of: &code.Kernels{Module: "copy", Symbol: "copy"}}}
	op.Bodies[0].Identity = true
	return op
}

func copyLoops() *[ir.NumDTypes]vector.Func {
	var loops [ir.NumDTypes]vector.Func
	for _, dt := range ir.ClassAll.List() {
		size := dt.Size()
		loops[dt] = func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(unsafe.Slice((*byte)(p[0]), n*size), unsafe.Slice((*byte)(p[1]), n*size))
		}
	}
	return &loops
}

// TestLarge runs calls of 2^31 elements and more, and of offsets beyond.
func TestLarge(t *testing.T) {
	d := onGPU(t)
	giga := 1 << 30 // no constant: multiples of it have more bits than an int of some platforms
	n := 2*giga + 12345
	m, err := d.Alloc(0, 3*int64(n))
	if errors.Is(err, device.ErrOutOfMemory) {
		t.Skip(err)
	}
	must(t, err)
	defer func() { must(t, d.Free(0, m)) }()
	view := func(at uint64, shape, strides []int) ir.View {
		return ir.View{Addr: m.Addr + at, DType: ir.Uint8, Shape: shape, Strides: strides}
	}
	must(t, d.Zero(0, 0, m, 3*int64(n)))
	two := uint8(2)
	add := element("add", "x + y", 2, ops.AddOp(), ir.PromoteArith)
	space := []int{n}
	number := ir.View{Ptr: unsafe.Pointer(&two), DType: ir.Uint8, Shape: space, Strides: []int{0}}
	must(t, d.Launch(0, 0, &ir.Call{Kernel: add.Kernel(0, ir.Uint8), Space: space, Out: []ir.View{view(0, space, []int{1})}, In: []ir.View{view(0, space, []int{1}), number}}))
	// A row of twos, added to three of 2^30 elements.
	identity := copying()
	row, square := []int{1 << 30}, []int{3, 1 << 30}
	number.Shape = row
	must(t, d.Launch(0, 0, &ir.Call{Kernel: identity.Kernel(0, ir.Uint8), Space: row, Out: []ir.View{view(1<<32, row, []int{1})}, In: []ir.View{number}}))
	must(t, d.Launch(0, 0, &ir.Call{Kernel: add.Kernel(0, ir.Uint8), Space: square,
		Out: []ir.View{view(0, square, []int{1 << 30, 1})}, In: []ir.View{view(0, square, []int{1 << 30, 1}), view(1<<32, square, []int{0, 1})}}))
	sum := folding("sum", ir.Reduction, ops.SumOp(), ir.PromoteNone)
	total := cputest.NewView(ir.Uint8, "contiguous", 1)
	b := &bed{t: t, d: d}
	defer b.free()
	out := b.put(total, 0)
	out.Strides = []int{0}
	must(t, d.Launch(0, 0, &ir.Call{Kernel: sum.Kernel(0, ir.Uint8), Space: []int{3 * giga}, Axes: []int{0}, Scalars: []ir.Scalar{ir.BoolScalar(false)},
		Out: []ir.View{out}, In: []ir.View{view(0, []int{3 * giga}, []int{1})}}))
	b.get(out, total)
	if got, want := int(cputest.Reals(total)[0]), (2*n+2*3*giga)%256; got != want {
		t.Errorf("the sum modulo 256 is %d, want %d", got, want)
	}
	odd := view(0, []int{1 << 16, 1 << 15}, []int{1, 1<<16 + 3})
	even := view(1<<32, []int{1 << 16, 1 << 15}, []int{1 << 15, 1})
	must(t, d.Launch(0, 0, &ir.Call{Kernel: identity.Kernel(0, ir.Uint8), Space: odd.Shape, Out: []ir.View{even}, In: []ir.View{odd}}))
	must(t, d.SyncDevice(context.Background(), 0))
}

// sizes of the benchmarks' operands.
const (
	side = 8192
	mega = 64 << 20
)

type benchmark struct {
	name  string
	bytes int64 // read and written
	call  *ir.Call
}

// benchmarks are the rows of the table of device speed that are not written by hand.
func benchmarks(b *testing.B, d *Driver) []benchmark {
	m, err := d.Alloc(0, 4*4*mega)
	must(b, err)
	b.Cleanup(func() { must(b, d.Free(0, m)) })
	must(b, d.Zero(0, 0, m, m.Bytes))
	at := func(i int, dt ir.DType, shape []int, strides ...int) ir.View {
		if len(strides) == 0 {
			strides = ir.ContiguousStrides(shape)
		}
		return ir.View{Addr: m.Addr + uint64(i)*4*mega, DType: dt, Shape: shape, Strides: strides}
	}
	f32, rows := ir.Float32, []int{side, side}
	ops := map[string]*ir.Op{}
	for _, o := range operations() {
		ops[o.op.Name] = o.op
	}
	ops["copy"] = copying()
	half := new(float64)
	*half = 0.5
	n := int64(mega)
	call := func(name string, out ir.View, scalars []ir.Scalar, axes []int, in ...ir.View) *ir.Call {
		c := &ir.Call{Kernel: ops[name].Kernel(0, ir.Float32), Space: in[0].Shape, Axes: axes, Out: []ir.View{out}, In: in, Scalars: scalars}
		return c
	}
	keep := []ir.Scalar{ir.BoolScalar(false)}
	flat := []int{mega}
	number := ir.View{Ptr: unsafe.Pointer(half), DType: ir.Float64, Shape: flat, Strides: []int{0}}
	return []benchmark{
		{"copy", 8 * n, call("copy", at(1, f32, flat), nil, nil, at(0, f32, flat))},
		{"add", 12 * n, call("add", at(2, f32, flat), nil, nil, at(0, f32, flat), at(1, f32, flat))},
		{"scale", 8 * n, call("mul", at(2, f32, flat), nil, nil, at(0, f32, flat), number)},
		{"exp", 8 * n, call("exp", at(2, f32, flat), nil, nil, at(0, f32, flat))},
		{"add half", 6 * n, call("add", at(2, ir.Float16, flat), nil, nil, at(0, ir.Float16, flat), at(1, ir.Float16, flat))},
		{"add row", 8 * n, call("add", at(2, f32, rows), nil, nil, at(0, f32, rows), at(1, f32, rows, 0, 1))},
		{"add column", 8 * n, call("add", at(2, f32, rows), nil, nil, at(0, f32, rows), at(1, f32, rows, 1, 0))},
		{"add transposed", 12 * n, call("add", at(2, f32, rows), nil, nil, at(0, f32, rows), at(1, f32, rows, 1, side))},
		{"transpose", 8 * n, call("copy", at(1, f32, rows), nil, nil, at(0, f32, rows, 1, side))},
		{"transpose half", 4 * n, call("copy", at(1, ir.Float16, rows), nil, nil, at(0, ir.Float16, rows, 1, side))},
		{"transpose bytes", 2 * n, call("copy", at(1, ir.Uint8, rows), nil, nil, at(0, ir.Uint8, rows, 1, side))},
		{"transpose double", 8 * n, call("copy", at(1, ir.Float64, []int{4096, 8192}), nil, nil, at(0, ir.Float64, []int{4096, 8192}, 1, 4096))},
		{"to half", 6 * n, call("copy", at(1, ir.Float16, flat), nil, nil, at(0, f32, flat))},
		{"slice rows", 8 * n / 2, call("copy", at(1, f32, []int{side, side / 2}), nil, nil, at(0, f32, []int{side, side / 2}, side, 1))},
		{"sum", 4 * n, call("sum", at(1, f32, []int{1}, 0), keep, []int{0}, at(0, f32, flat))},
		{"sum rows", 4 * n, call("sum", at(1, f32, []int{side, 1}, 1, 0), keep, []int{1}, at(0, f32, rows))},
		{"sum columns", 4 * n, call("sum", at(1, f32, []int{1, side}, 0, 1), keep, []int{0}, at(0, f32, rows))},
		{"sum half", 2 * n, call("sum", at(1, ir.Float16, []int{1}, 0), keep, []int{0}, at(0, ir.Float16, flat))},
		{"sum short rows", 4 * n, call("sum", at(1, f32, []int{mega / 64, 1}, 1, 0), keep, []int{1}, at(0, f32, []int{mega / 64, 64}))},
		{"cumsum rows", 8 * n, call("cumsum", at(1, f32, rows), []ir.Scalar{ir.IntScalar(1)}, []int{1}, at(0, f32, rows))},
		{"cumsum columns", 8 * n, call("cumsum", at(1, f32, rows), []ir.Scalar{ir.IntScalar(0)}, []int{0}, at(0, f32, rows))},
		{"cumsum all", 8 * n, call("cumsum", at(1, f32, flat), []ir.Scalar{ir.IntScalar(0)}, []int{0}, at(0, f32, flat))},
	}
}

// BenchmarkDevice measures kernels by events, 20 launches between two.
func BenchmarkDevice(b *testing.B) {
	d := onGPU(b)
	ctx := context.Background()
	start, err := d.NewEvent(0, true)
	must(b, err)
	end, err := d.NewEvent(0, true)
	must(b, err)
	for _, m := range benchmarks(b, d) {
		b.Run(m.name, func(b *testing.B) {
			const launches = 20
			must(b, d.Launch(0, 0, m.call))
			var took []float64
			for b.Loop() {
				must(b, d.RecordEvent(0, start, 0))
				for range launches {
					must(b, d.Launch(0, 0, m.call))
				}
				must(b, d.RecordEvent(0, end, 0))
				must(b, d.SyncStream(ctx, 0, 0))
				t, err := d.Elapsed(0, start, end)
				must(b, err)
				took = append(took, t.Seconds()/launches)
			}
			slices.Sort(took)
			median := took[len(took)/2]
			b.ReportMetric(float64(m.bytes)/median/1e9, "GB/s")
			b.ReportMetric(math.Round(median*1e7)/10, "us/launch")
		})
	}
}

// BenchmarkLaunch measures the host's time of one small call.
func BenchmarkLaunch(b *testing.B) {
	d := onGPU(b)
	m, err := d.Alloc(0, 1<<20)
	must(b, err)
	defer func() { must(b, d.Free(0, m)) }()
	s, err := d.NewStream(0, 0)
	must(b, err)
	at := func(i uint64, shape []int, strides ...int) ir.View {
		return ir.View{Addr: m.Addr + i<<16, DType: ir.Float32, Shape: shape, Strides: strides}
	}
	add := element("add", "x + y", 2, ops.AddOp(), ir.PromoteArith)
	sum := folding("sum", ir.Reduction, ops.SumOp(), ir.PromoteSumAcc)
	flat, square, half := []int{1024}, []int{32, 32}, 0.5
	number := ir.View{Ptr: unsafe.Pointer(&half), DType: ir.Float64, Shape: flat, Strides: []int{0}}
	for _, c := range []struct {
		name string
		call *ir.Call
	}{
		{"add", &ir.Call{Kernel: add.Kernel(0, ir.Float32), Space: flat, Out: []ir.View{at(0, flat, 1)}, In: []ir.View{at(1, flat, 1), at(2, flat, 1)}}},
		{"number", &ir.Call{Kernel: add.Kernel(0, ir.Float32), Space: flat, Out: []ir.View{at(0, flat, 1)}, In: []ir.View{at(1, flat, 1), number}}},
		{"transposed", &ir.Call{Kernel: add.Kernel(0, ir.Float32), Space: square, Out: []ir.View{at(0, square, 32, 1)}, In: []ir.View{at(1, square, 32, 1), at(2, square, 1, 32)}}},
		{"sum", &ir.Call{Kernel: sum.Kernel(0, ir.Float32), Space: flat, Axes: []int{0}, Scalars: []ir.Scalar{ir.BoolScalar(false)}, Out: []ir.View{at(0, []int{1}, 0)}, In: []ir.View{at(1, flat, 1)}}},
	} {
		for _, on := range []device.StreamID{0, s} {
			b.Run(fmt.Sprintf("%s/stream=%v", c.name, on != 0), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					must(b, d.Launch(0, on, c.call))
					if i++; i%512 == 0 {
						b.StopTimer()
						must(b, d.SyncStream(context.Background(), 0, on))
						b.StartTimer()
					}
				}
			})
		}
	}
	must(b, d.DestroyStream(0, s))
}
