package main

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// streamRows are kernels on long vectors, whose time is that of memory. Bytes
// count each input and output once.
func (w *workload) streamRows() []row {
	v := f32(w.elements)
	bytes := float64(v.bytes())
	return grouped(fmt.Sprintf("Device bandwidth, %s float32", size(w.elements)), measured(deviceTime, bandwidth, []row{
		{name: copyRow, in: []operand{v, v}, work: 2 * bytes, ours: action(func(x []T) error { return x[0].CopyFrom(x[1]) }), torch: "a.copy_(b)"},
		{name: "add", in: []operand{v, v}, work: 3 * bytes, targets: []target{ofCopy(0.95)},
			ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
		{name: "exp", in: []operand{v}, work: 2 * bytes, targets: []target{ofCopy(0.95)},
			ours: result(func(x []T) T { return x[0].Exp() }), torch: "torch.exp(a)"},
		{name: "gelu", in: []operand{v}, work: 2 * bytes, targets: []target{ofCopy(0.95)},
			ours: result(func(x []T) T { return x[0].GELU() }), torch: "F.gelu(a)"},
		{name: "sum of all", in: []operand{v}, work: bytes, targets: []target{ofCopy(0.95)},
			ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()"},
	}))
}

// measured gives rows their clock and unit.
func measured(c clock, u unit, rows []row) []row {
	for i := range rows {
		rows[i].clock, rows[i].unit = c, u
	}
	return rows
}

// rowRows are kernels on a matrix, and the sort.
func (w *workload) rowRows() []row {
	m, line := f32(w.side, w.side), f32(w.side)
	side, bytes := w.side, float64(m.bytes())
	rows := []row{
		{name: "broadcast add", in: []operand{m, line}, work: 2 * bytes, targets: []target{ofCopy(0.95)},
			ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
		{name: "sum over rows", in: []operand{m}, work: bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].Sum(tensor.Dim(1)) }), torch: "a.sum(1)"},
		{name: "sum over columns", in: []operand{m}, work: bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].Sum(tensor.Dim(0)) }), torch: "a.sum(0)"},
		{name: "softmax", in: []operand{m}, work: 2 * bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].Softmax(1) }), torch: "F.softmax(a, 1)"},
		{name: "layer norm", in: []operand{m}, work: 2 * bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].LayerNorm([]int{side}) }), torch: "F.layer_norm(a, a.shape[1:])"},
		{name: "rms norm", in: []operand{m, line}, work: 2 * bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].RMSNorm([]int{side}, tensor.Weight(x[1])) }), torch: "F.rms_norm(a, a.shape[1:], b, 1e-6)"},
		{name: "transpose, contiguous", in: []operand{m}, work: 2 * bytes, targets: []target{ofCopy(0.85)},
			ours: result(transposed), torch: "a.t().contiguous()"},
		{name: "argmax", in: []operand{m}, work: bytes, targets: []target{ofCopy(0.85)},
			ours: result(func(x []T) T { return x[0].Argmax(tensor.Dim(1)) }), torch: "a.argmax(1)"},
		{name: "cumsum", in: []operand{m}, work: 2 * bytes, targets: []target{ofCopy(0.6)},
			ours: result(func(x []T) T { return x[0].Cumsum(1) }), torch: "a.cumsum(1)"},
	}
	rows = measured(deviceTime, bandwidth, rows)
	rows = append(rows, measured(deviceTime, gigakeys, []row{
		{name: "sort " + size(w.keys), in: []operand{f32(w.keys)}, work: float64(w.keys), ours: result(sorted), torch: "torch.sort(a)"},
	})...)
	return grouped(fmt.Sprintf("Device bandwidth, %d x %d float32", w.side, w.side), rows)
}

func transposed(x []T) T {
	t := x[0].Transpose(0, 1)
	out := t.Contiguous()
	t.Release()
	return out
}

func sorted(x []T) T { return sortedAlong(x[0], 0) }

func repeated(o operand, n int) (out []operand) {
	for range n {
		out = append(out, o)
	}
	return out
}

// inScope calls f and releases what it made but for its result.
func inScope(f func() T) (out T) {
	out, _ = tensor.ScopeValue(func() (T, error) { return f(), nil }) // an error sticks to the tensor
	return out
}

// convolutionRows are the convolution of the readings.
func (w *workload) convolutionRows() []row {
	n, c, side := 64, 64, 56
	for w.limit < 2*float64(n*c*c*side*side*9) && n*c*side > 64 {
		n, c, side = max(n/2, 1), max(c/2, 4), max(side/2, 8)
	}
	var rows []row
	for _, mode := range []string{"fp32", "tf32"} {
		if mode == "tf32" && !w.dev.Accelerator() {
			continue
		}
		rows = append(rows, row{
			name: fmt.Sprintf("conv2d %dx%dx%dx%d, 3x3, %s", n, c, side, side, mode), tf32: mode == "tf32",
			in:    []operand{f32(n, c, side, side), f32(c, c, 3, 3)},
			ours:  result(func(x []T) T { return x[0].Conv2d(x[1], tensor.Padding(1)) }),
			torch: "F.conv2d(a, b, padding=1)",
		})
	}
	return grouped("Convolution", measured(deviceTime, milliseconds, rows))
}

// copyRows are copies between the host and the device, and from another device
// where there is one. Each side reads and writes memory that it made before.
func (w *workload) copyRows() []row {
	v := f32(w.copies)
	bytes := float64(v.bytes())
	rows := []row{
		{name: "pinned to device", in: []operand{v, v.on("pinned")}, targets: []target{atLeast(0.97, byPyTorch)}},
		{name: "device to pinned", in: []operand{v.on("pinned"), v}, targets: []target{atLeast(0.97, byPyTorch)}},
		{name: "pageable to device", in: []operand{v, v.on("host")}, targets: []target{atLeast(2, byPyTorch)}},
		{name: "device to pageable", in: []operand{v.on("host"), v}, targets: []target{atLeast(2, byPyTorch)}},
	}
	for i := range rows {
		rows[i].work, rows[i].torch = bytes, "a.copy_(b, non_blocking=True)"
		rows[i].ours = action(func(x []T) error { return x[0].CopyFrom(x[1], tensor.NonBlocking()) })
		if i >= 2 {
			rows[i].torch = "a.copy_(b)"
			rows[i].ours = action(func(x []T) error { return x[0].CopyFrom(x[1]) })
		}
	}
	if device.Count(w.dev.Kind) > w.dev.Index+1 {
		rows = append(rows, row{name: "device to device, peers", in: []operand{v, v.on("peer")}, work: bytes,
			ours: action(func(x []T) error { return x[0].CopyFrom(x[1], tensor.NonBlocking()) }), torch: "a.copy_(b, non_blocking=True)"})
	}
	return grouped(fmt.Sprintf("Copies of %s float32", size(w.copies)), measured(wallTime, bandwidth, rows))
}
