package core_test

import (
	"context"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// null is a driver with one device, whose work takes no time and has no effect: with it tests and
// benchmarks measure what an operator costs on the host, by way of the public API.
type null struct {
	device.Driver // nil: what is not overridden here is not called
	addr          atomic.Uint64
	launches      atomic.Int64
}

const room = 1 << 40 // bytes of the device's memory, none of which exists

func (d *null) Kind() device.Kind                           { return device.KindSim }
func (d *null) DeviceCount() (int, error)                   { return 1, nil }
func (d *null) MemoryInfo(int) (free, total int64, e error) { return room, room, nil }
func (d *null) Properties(int) (device.Properties, error) {
	return device.Properties{Name: "null", TotalMemory: room}, nil
}
func (d *null) Alloc(_ int, bytes int64) (device.Memory, error) {
	size := uint64(bytes+511) &^ 511
	return device.Memory{Addr: d.addr.Add(size) - size + 1<<32, Bytes: bytes}, nil
}
func (d *null) Free(int, device.Memory) error { return nil }
func (d *null) AllocHost(bytes int64) (device.Memory, error) {
	return device.Memory{Host: unsafe.Pointer(&make([]byte, bytes)[0]), Bytes: bytes}, nil
}
func (d *null) FreeHost(device.Memory) error                                   { return nil }
func (d *null) SyncStream(context.Context, int, device.StreamID) error         { return nil }
func (d *null) SyncDevice(context.Context, int) error                          { return nil }
func (d *null) StreamIdle(int, device.StreamID) (bool, error)                  { return true, nil }
func (d *null) NewEvent(int, bool) (device.EventID, error)                     { return 1, nil }
func (d *null) DestroyEvent(int, device.EventID) error                         { return nil }
func (d *null) RecordEvent(int, device.EventID, device.StreamID) error         { return nil }
func (d *null) EventDone(int, device.EventID) (bool, error)                    { return true, nil }
func (d *null) SyncEvent(context.Context, int, device.EventID) error           { return nil }
func (d *null) WaitEvent(int, device.StreamID, int, device.EventID) error      { return nil }
func (d *null) Zero(int, device.StreamID, device.Memory, int64) error          { return nil }
func (d *null) CopyOnDevice(int, device.StreamID, uint64, uint64, int64) error { return nil }
func (d *null) CopyFromHost(int, device.StreamID, uint64, unsafe.Pointer, int64) error {
	return nil
}
func (d *null) CopyToHost(int, device.StreamID, unsafe.Pointer, uint64, int64) error { return nil }
func (d *null) Launch(int, device.StreamID, *ir.Call) error {
	d.launches.Add(1)
	return nil
}

// install makes the null device sim:0 until the test ends.
func install(tb testing.TB) *null {
	d := new(null)
	old, _ := device.DriverOf(device.KindSim)
	device.Install(d)
	tb.Cleanup(func() { device.Install(old) })
	return d
}

// measured are the calls that are measured, of a vector x of 1,024 elements, a row y
// of 64 and a matrix m of 64 by 64.
var measured = []struct {
	name string
	call func(x, y, m tensor.Tensor) tensor.Tensor
}{
	{"add", func(x, y, m tensor.Tensor) tensor.Tensor { return x.Add(x) }},
	{"add broadcast", func(x, y, m tensor.Tensor) tensor.Tensor { return m.Add(y) }},
	{"mul scalar", func(x, y, m tensor.Tensor) tensor.Tensor { return x.MulScalar(0.5) }},
	{"relu", func(x, y, m tensor.Tensor) tensor.Tensor { return x.ReLU() }},
	{"sum", func(x, y, m tensor.Tensor) tensor.Tensor { return x.Sum() }},
	{"sum of an axis", func(x, y, m tensor.Tensor) tensor.Tensor { return m.Sum(tensor.Dim(1)) }},
	{"sum kept", func(x, y, m tensor.Tensor) tensor.Tensor { return m.Sum(tensor.Dim(1), tensor.KeepDim()) }},
	{"softplus", func(x, y, m tensor.Tensor) tensor.Tensor {
		return x.Softplus(tensor.Beta(2), tensor.Limit(10))
	}},
	{"zeros", func(x, y, m tensor.Tensor) tensor.Tensor { return tensor.Zeros([]int{64}, tensor.On(device.Sim(0))) }},
	{"empty", func(x, y, m tensor.Tensor) tensor.Tensor { return tensor.Empty([]int{64}) }},
	{"cumsum", func(x, y, m tensor.Tensor) tensor.Tensor { return x.Cumsum(0) }},
	{"matmul", func(x, y, m tensor.Tensor) tensor.Tensor { return m.MatMul(m) }},
	{"transpose", func(x, y, m tensor.Tensor) tensor.Tensor { return m.Transpose(0, 1) }},
}

func operands() (x, y, m tensor.Tensor) {
	on := tensor.On(device.Sim(0))
	return tensor.Zeros([]int{1024}, on), tensor.Zeros([]int{64}, on), tensor.Zeros([]int{64, 64}, on)
}

func BenchmarkOperator(b *testing.B) {
	install(b)
	for _, c := range measured {
		x, y, m := operands()
		plain := func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call(x, y, m).Release()
			}
			must(b, c.call(x, y, m).Err())
		}
		b.Run(c.name+"/plain", plain)
		b.Run(c.name+"/collected", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call(x, y, m)
			}
		})
		x, y, m = x.RequireGrad(), y.RequireGrad(), m.RequireGrad()
		b.Run(c.name+"/recorded", plain)
	}
}

// step returns a training step of a perceptron of three layers.
func step(tb testing.TB) func() {
	on := device.Sim(0)
	model := nn.NewSequential(nn.NewLinear(784, 1024), nn.ReLU(), nn.NewLinear(1024, 1024), nn.ReLU(), nn.NewLinear(1024, 10))
	must(tb, nn.To(model, on))
	sgd, err := optim.NewSGD(nn.Parameters(model), 0.1)
	must(tb, err)
	images, labels := tensor.Zeros([]int{128, 784}, tensor.On(on)), tensor.Zeros([]int{128}, tensor.On(on), tensor.OfType(tensor.Int64))
	return func() {
		loss, err := optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(images).CrossEntropy(labels) })
		must(tb, err)
		loss.Release()
	}
}

func BenchmarkStep(b *testing.B) {
	d := install(b)
	s := step(b)
	s()
	b.ReportAllocs()
	before := d.launches.Load()
	for b.Loop() {
		s()
	}
	launches := d.launches.Load() - before
	b.ReportMetric(float64(launches)/float64(b.N), "launches")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(launches), "ns/launch")
}
