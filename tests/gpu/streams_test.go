package gpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestManyStreams has 64 goroutines run random operators on two streams each, for
// as long as -soak says, while the collector runs. Every tensor is full of one
// small whole number, so each result is known exactly and memory that is reused
// too early shows. In the end every byte is accounted for.
func TestManyStreams(t *testing.T) {
	need(t)
	goroutines, until := 64, time.Now().Add(*soak)
	if *simulated {
		goroutines, until = 8, time.Now().Add(300*time.Millisecond)
	}
	must(t, cuda.EmptyHostCache())
	must(t, cuda.ClearWorkspaces())
	patience.Collect(t)
	before, pinned := memory.StatsOf(gpu), cuda.HostMemoryStats()
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			w := newWorker(uint64(i))
			defer w.dropAll()
			for time.Now().Before(until) && !t.Failed() {
				if err := w.step(); err != nil {
					t.Errorf("goroutine %d, step %d, %s: %v", i, w.steps, w.doing, err)
					return
				}
			}
			done.Add(int64(w.steps))
		})
	}
	stop := collecting()
	wg.Wait()
	stop()
	must(t, cuda.Synchronize(context.Background(), gpu))
	must(t, cuda.ClearWorkspaces())
	settle(t, before.AllocatedBytes.All.Current)
	must(t, cuda.EmptyHostCache())
	after, host := memory.StatsOf(gpu), cuda.HostMemoryStats()
	for name, pair := range map[string][2]int64{
		"allocated": {before.AllocatedBytes.All.Current, after.AllocatedBytes.All.Current},
		"blocks":    {before.Allocation.All.Current, after.Allocation.All.Current},
		"pinned":    {pinned.ActiveBytes.Current, host.ActiveBytes.Current},
		"locked":    {pinned.AllocatedBytes.Current, host.AllocatedBytes.Current},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d now, %d before", name, pair[1], pair[0])
		}
	}
	must(t, cuda.EmptyCache(gpu))
	emptied := memory.StatsOf(gpu)
	if a := emptied.ActiveBytes.All.Current; a != emptied.AllocatedBytes.All.Current {
		t.Errorf("%d bytes wait for streams that are done", a-emptied.AllocatedBytes.All.Current)
	}
	if before.AllocatedBytes.All.Current == 0 && emptied.ReservedBytes.All.Current != 0 {
		t.Errorf("%d bytes stay reserved with nothing in use", emptied.ReservedBytes.All.Current)
	}
	t.Logf("%d operators and copies by %d goroutines; peak %d MiB, %d device allocations", done.Load(), goroutines,
		after.AllocatedBytes.All.Peak>>20, after.DeviceAllocs-before.DeviceAllocs)
}

// collecting runs the collector again and again until stop is called.
func collecting() (stop func()) {
	ended := make(chan bool)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.GC()
			}
		}
	}()
	return func() { close(ended) }
}

// A full is a tensor all of whose elements are value, made on the given stream of
// its worker.
type full struct {
	x     T
	value float64
	on    int
}

// worker is one goroutine's part.
type worker struct {
	*rand.Rand
	streams [2]stream.Stream
	have    []full
	steps   int
	doing   string
}

func newWorker(seed uint64) *worker {
	w := &worker{Rand: rand.New(rand.NewPCG(seed, 3))}
	for i := range w.streams {
		w.streams[i] = stream.New(gpu, 0)
	}
	return w
}

// step runs one operator on one of the streams.
func (w *worker) step() (err error) {
	w.steps++
	on := w.IntN(2)
	if outer := w.streams[on].Do(func() error { err = w.act(on); return nil }); outer != nil {
		return outer
	}
	return err
}

func (w *worker) act(on int) error {
	if len(w.have) < 4 {
		return w.begin(on)
	}
	if len(w.have) > 24 || w.IntN(5) == 0 {
		w.drop(w.IntN(len(w.have)))
		return nil
	}
	f := w.have[w.IntN(len(w.have))]
	if err := w.use(f, on); err != nil {
		return err
	}
	a := acts[w.IntN(len(acts))]
	w.doing = a.name
	out, value := a.do(w, f)
	if err := out.Err(); err != nil {
		return err
	}
	if value > 1000 || value < -1000 { // sums stay exact
		out.Release()
		return nil
	}
	w.have = append(w.have, full{out, value, on})
	if w.IntN(8) == 0 {
		return w.check(len(w.have) - 1)
	}
	return nil
}

// begin makes a tensor, on the device or from the host.
func (w *worker) begin(on int) error {
	n, v := 1+w.IntN(1<<w.IntN(13)), float64(w.IntN(9)-4)
	var x T
	w.doing = "full"
	switch w.IntN(3) {
	case 0:
		x = tensor.Full([]int{n}, v, tensor.On(gpu))
	case 1:
		w.doing = "from the host"
		h := tensor.Full([]int{n}, v)
		x = h.To(gpu)
		h.Release()
	case 2:
		w.doing = "from pinned memory"
		h := tensor.Full([]int{n}, v, tensor.Pinned())
		x = h.To(gpu, tensor.NonBlocking())
		h.Release()
	}
	w.have = append(w.have, full{x, v, on})
	return x.Err()
}

// use orders work on a stream after that which made f.
func (w *worker) use(f full, on int) error {
	if f.on == on {
		return nil
	}
	if err := w.streams[on].WaitStream(w.streams[f.on]); err != nil {
		return err
	}
	return f.x.RecordStream(w.streams[on])
}

func (w *worker) drop(i int) {
	w.have[i].x.Release()
	w.have[i] = w.have[len(w.have)-1]
	w.have = w.have[:len(w.have)-1]
}

func (w *worker) dropAll() {
	for len(w.have) > 0 {
		w.drop(0)
	}
}

// check compares every element of a tensor with what it should be.
func (w *worker) check(i int) error {
	f := w.have[i]
	got, err := tensor.Data[float32](f.x)
	if err != nil {
		return err
	}
	for k, v := range got {
		if float64(v) != f.value {
			return fmt.Errorf("element %d of %v is %v, want %v", k, f.x.Shape(), v, f.value)
		}
	}
	return nil
}

// acts are the operators of workers, with the value of their result.
var acts = []struct {
	name string
	do   func(w *worker, f full) (T, float64)
}{
	{"add", func(_ *worker, f full) (T, float64) { return f.x.Add(f.x), 2 * f.value }},
	{"add a number", func(w *worker, f full) (T, float64) {
		v := w.IntN(5) - 2
		return f.x.AddScalar(v), f.value + float64(v)
	}},
	{"mul", func(_ *worker, f full) (T, float64) { return f.x.MulScalar(-1), -f.value }},
	{"relu", func(_ *worker, f full) (T, float64) { return f.x.ReLU(), max(f.value, 0) }},
	{"sum", func(_ *worker, f full) (T, float64) { return f.x.Sum(), f.value * float64(f.x.NumElements()) }},
	{"max", func(_ *worker, f full) (T, float64) { return f.x.Max(), f.value }},
	{"cat", func(_ *worker, f full) (T, float64) {
		x := f.x.Reshape(-1)
		out := tensor.Cat([]T{x, x}, 0)
		x.Release()
		if out.NumElements() > 1<<13 {
			return out, 1e9 // not kept
		}
		return out, f.value
	}},
	{"every other", func(_ *worker, f full) (T, float64) {
		x := f.x.Reshape(-1)
		s := x.Slice(0, 0, x.Size(0), 2)
		out := s.Clone()
		x.Release()
		s.Release()
		return out, f.value
	}},
	{"cumsum", func(_ *worker, f full) (T, float64) {
		x := f.x.Reshape(-1)
		c := x.Cumsum(0)
		last := c.Narrow(0, x.Size(0)-1, 1)
		out := last.Clone()
		n := x.Size(0)
		for _, y := range []T{x, c, last} {
			y.Release()
		}
		return out, f.value * float64(n)
	}},
	{"matmul", func(_ *worker, f full) (T, float64) {
		n := f.x.NumElements()
		row, column := f.x.Reshape(1, n), f.x.Reshape(n, 1)
		out := row.MatMul(column)
		row.Release()
		column.Release()
		return out, f.value * f.value * float64(n)
	}},
	{"sort", func(_ *worker, f full) (T, float64) {
		x := f.x.Reshape(-1)
		v, i := x.Sort(0)
		x.Release()
		i.Release()
		return v, f.value
	}},
	{"in place", func(_ *worker, f full) (T, float64) {
		c := f.x.Clone()
		if err := c.AddScalarInPlace(1); err != nil {
			return T{}, 0
		}
		return c, f.value + 1
	}},
	{"to the host and back", func(_ *worker, f full) (T, float64) {
		h := f.x.CPU()
		out := h.To(gpu)
		h.Release()
		return out, f.value
	}},
}
