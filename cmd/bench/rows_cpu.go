package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/generated/tensor"
)

// cpuThreads are the numbers of threads that rows of the CPU are measured with: one,
// two and one for each processor.
var cpuThreads = slices.Compact([]int{1, 2, max(2, runtime.NumCPU())})

// cpuSizes are the elements of vectors that the caches hold, from the first to the
// last, and of one that none does.
var cpuSizes = []sized{{2 << 10, "L1"}, {32 << 10, "L2"}, {1 << 20, "L3"}, {64 << 20, "memory"}}

type sized struct {
	n     int
	level string
}

// cpuRows are the rows of the CPU, with each number of threads.
func (w *workload) cpuRows() (rows []row) {
	rows = w.cpuCallRows()
	for _, threads := range cpuThreads {
		for _, part := range [][]row{
			w.limitRows(), w.vectorRows(), w.cpuRowRows(), w.cpuProductRows(threads), w.cpuConvolutionRows(), w.cpuStepRows(), w.operatorRows(),
		} {
			for _, r := range part {
				rows = append(rows, r.with(threads))
			}
		}
	}
	for _, r := range w.cpuOtherRows() {
		rows = append(rows, r.with(1))
	}
	return rows
}

// with returns the row for a number of threads, on operands that stay the same.
func (r row) with(threads int) row {
	r.threads, r.again = threads, true
	r.name, r.group = withThreads(r.name, threads), withThreads(r.group, threads)
	if r.native != "" {
		r.native = fmt.Sprintf(r.native, threads)
	}
	if r.limit {
		r.fact, r.native = limitOf(r.native, r.unit), ""
	}
	r.targets = slices.Clone(r.targets)
	for i, t := range r.targets {
		if l, ok := limits[t.of]; ok {
			r.bound = fmt.Sprintf(l.native, threads)
		}
		if t.or != nil { // another row with as many
			r.targets[i] = t.orAtLeast(t.or.atLeast, withThreads(t.or.of, threads))
		}
	}
	return r
}

// withThreads says with how many threads something was done.
func withThreads(what string, threads int) string {
	if threads == 1 {
		return what + ", 1 thread"
	}
	return fmt.Sprintf("%s, %d threads", what, threads)
}

// What the machine can do, which others are compared with.
const (
	memcpyLimit = "memcpy of 256 MiB"
	peak32Limit = "fused multiply-adds float32"
	peak64Limit = "fused multiply-adds float64"
	tilesLimit  = "tile multiply-adds bfloat16"
)

// limits are the native side's work that tells them, with its numbers and %d for
// the threads.
var limits = map[string]struct {
	native string
	unit   unit
}{
	memcpyLimit: {"memcpy %d 268435456", bandwidth},
	peak32Limit: {"peak32 %d 100000", gigaflops},
	peak64Limit: {"peak64 %d 100000", gigaflops},
	tilesLimit:  {"tiles %d 10000", gigaflops},
}

// limitRows show the limits by themselves; a quick run does not ask for them.
func (w *workload) limitRows() (rows []row) {
	if w.spread == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if name == tilesLimit && simd.Active() < simd.AMX {
			continue
		}
		rows = append(rows, row{name: name, unit: limits[name].unit, limit: true, native: limits[name].native})
	}
	return grouped("Limits of the machine", rows)
}

// A vectorOp is an element-wise operator, on all sides. Native is its name there.
type vectorOp struct {
	name, torch string
	inputs      int
	positive    bool // takes numbers above 0
	costly      bool // computes more than it moves while in a cache
	ours        func(x []T) T
}

var vectorOps = []vectorOp{
	{name: "add", torch: "a + b", inputs: 2, ours: func(x []T) T { return x[0].Add(x[1]) }},
	{name: "mul", torch: "a * b", inputs: 2, ours: func(x []T) T { return x[0].Mul(x[1]) }},
	{name: "addcmul", torch: "torch.addcmul(a, b, c)", inputs: 3, ours: func(x []T) T { return x[0].Addcmul(x[1], x[2]) }},
	{name: "exp", torch: "torch.exp(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].Exp() }},
	{name: "log", torch: "torch.log(a)", inputs: 1, positive: true, costly: true, ours: func(x []T) T { return x[0].Log() }},
	{name: "tanh", torch: "torch.tanh(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].Tanh() }},
	{name: "erf", torch: "torch.erf(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].Erf() }},
	{name: "gelu", torch: "F.gelu(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].GELU() }},
	{name: "silu", torch: "F.silu(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].SiLU() }},
	{name: "sigmoid", torch: "torch.sigmoid(a)", inputs: 1, costly: true, ours: func(x []T) T { return x[0].Sigmoid() }},
}

// vectorRows are element-wise operators on vectors of all sizes.
func (w *workload) vectorRows() (rows []row) {
	for _, at := range w.cpuSizes() {
		for _, op := range vectorOps {
			v := f32(at.n)
			v.Positive = op.positive
			r := row{
				name: fmt.Sprintf("%s %s (%s)", op.name, size(at.n), at.level), in: repeated(v, op.inputs), work: float64(op.inputs+1) * float64(v.bytes()),
				ours: result(op.ours), torch: op.torch, native: fmt.Sprintf("%s %%d %d", op.name, at.n),
				targets: []target{atLeast(0.95, byPyTorch)},
			}
			switch {
			case at.level == "memory" && op.inputs == 3:
				r.targets = append(r.targets, atLeast(0.8, memcpyLimit))
			case at.level == "memory":
				r.targets = append(r.targets, atLeast(0.9, memcpyLimit))
			case op.costly && at.level != "L3":
				r.targets[0] = atLeast(1.5, byPyTorch)
			}
			rows = append(rows, r)
		}
	}
	return grouped("Element-wise float32", measured(wallTime, bandwidth, rows))
}

// cpuSizes are the sizes of vectors that a workload has time for.
func (w *workload) cpuSizes() []sized {
	if w.spread == 0 {
		return cpuSizes[:1]
	}
	return cpuSizes
}

// cpuRowRows are reductions, scans, rows of matrices, copies and sorts.
func (w *workload) cpuRowRows() []row {
	side, long, flat, keys := 1024, 4096, 64<<20, 1<<20
	if w.spread == 0 {
		side, long, flat, keys = 32, 64, 1<<10, 1<<10
	}
	m, tall := f32(side, side), f32(long, 768)
	rows := []row{
		{name: "sum " + size(2<<10), in: []operand{f32(2 << 10)}, ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()", native: "sum %d 2048"},
		{name: "sum " + size(32<<10), in: []operand{f32(32 << 10)}, ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()", native: "sum %d 32768"},
		{name: "sum " + size(flat), in: []operand{f32(flat)}, ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()", native: fmt.Sprintf("sum %%d %d", flat)},
		{name: "sum of rows", in: []operand{m}, ours: result(func(x []T) T { return x[0].Sum(tensor.Dim(1)) }), torch: "a.sum(1)"},
		{name: "sum of columns", in: []operand{m}, ours: result(func(x []T) T { return x[0].Sum(tensor.Dim(0)) }), torch: "a.sum(0)"},
		{name: "softmax", in: []operand{m}, ours: result(func(x []T) T { return x[0].Softmax(1) }), torch: "F.softmax(a, 1)", targets: []target{atMost(1/1.5, byPyTorch)}},
		{name: "softmax, wide", in: []operand{f32(64, 32*side)}, ours: result(func(x []T) T { return x[0].Softmax(1) }), torch: "F.softmax(a, 1)", targets: []target{atMost(1/1.5, byPyTorch)}},
		{name: "layer norm", in: []operand{tall}, ours: result(func(x []T) T { return x[0].LayerNorm([]int{768}) }), torch: "F.layer_norm(a, a.shape[1:])"},
		{name: "argmax of rows", in: []operand{m}, ours: result(func(x []T) T { return x[0].Argmax(tensor.Dim(1)) }), torch: "a.argmax(1)"},
		{name: "argmax of columns", in: []operand{m}, ours: result(func(x []T) T { return x[0].Argmax(tensor.Dim(0)) }), torch: "a.argmax(0)"},
		{name: "cumsum of rows", in: []operand{m}, ours: result(func(x []T) T { return x[0].Cumsum(1) }), torch: "a.cumsum(1)"},
		{name: "cumsum of columns", in: []operand{m}, ours: result(func(x []T) T { return x[0].Cumsum(0) }), torch: "a.cumsum(0)"},
		{name: "transpose, contiguous", in: []operand{m}, ours: result(transposed), torch: "a.t().contiguous()"},
		{name: "transpose, contiguous, large", in: []operand{f32(4*side, 4*side)}, ours: result(transposed), torch: "a.t().contiguous()"},
		{name: "sort " + size(keys), in: []operand{f32(keys)}, ours: result(sorted), torch: "torch.sort(a)"},
		{name: "sort of rows", in: []operand{m}, ours: result(func(x []T) T { return sortedAlong(x[0], 1) }), torch: "torch.sort(a, 1)"},
		{name: "10 greatest of " + size(keys), in: []operand{f32(keys)}, ours: result(greatest), torch: "torch.topk(a, 10)"},
		{name: "row and column added", in: []operand{f32(side, 1), f32(1, side)}, ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
		{name: "transposed operand added", in: []operand{m, {Shape: []int{side, side}, DType: "float32", Transposed: true}},
			ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
	}
	for i := range rows {
		if rows[i].targets == nil {
			rows[i].targets = []target{atMost(1, byPyTorch)}
		}
	}
	return grouped(fmt.Sprintf("Rows, %d x %d float32 where no size is given", side, side), measured(wallTime, microseconds, rows))
}

func sortedAlong(x T, dim int) T {
	values, indices := x.Sort(dim)
	indices.Release()
	return values
}

func greatest(x []T) T {
	values, indices := x[0].Topk(10, 0)
	indices.Release()
	return values
}
