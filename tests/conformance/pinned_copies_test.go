package conformance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// uploads returns the fastest of several copies of src to dst's device.
func uploads(t testing.TB, dst, src T) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 7 {
		began := time.Now()
		must(t, dst.CopyFrom(src, tensor.NonBlocking()))
		must(t, stream.Synchronize(context.Background(), dst.Device()))
		took = append(took, time.Since(began))
	}
	return slices.Min(took)
}

// lockPages sees to it that n tensors of so many float32 can be pinned at a time
// without getting memory from the system, for which a GPU may wait for all streams.
func lockPages(t testing.TB, dev device.Device, elements, n int) {
	t.Helper()
	var list []T
	for range n {
		list = append(list, tensor.Zeros([]int{elements}).PinMemory(dev))
		must(t, list[len(list)-1].Err())
	}
	for _, p := range list {
		p.Release()
	}
}

// Copies from page-locked memory to a GPU are faster than those from memory
// that is not.
//
// Differs: other memory is staged through page-locked chunks by several goroutines,
// so the gap is smaller than in PyTorch.
func TestS67(t *testing.T) {
	hardware(t, "the simulated accelerator copies at the host's speed from all memory")
	dev := one(t)
	n := []int{64 << 18} // 64 MiB of float32
	dst, pageable := tensor.Empty(n, tensor.On(dev)), tensor.Ones(n)
	pinned := pageable.PinMemory(dev)
	fast, slow := uploads(t, dst, pinned), uploads(t, dst, pageable)
	t.Logf("64 MiB: %v from page-locked memory, %v from other", fast, slow)
	if fast > slow {
		t.Errorf("%v from page-locked memory, %v from other", fast, slow)
	}
}

// PinMemory of a tensor in host memory returns a copy in page-locked memory:
// equal to it, of its own storage, and contiguous; one that is pinned is returned as it
// is. The Pinned option makes a tensor in such memory. A tensor on an accelerator
// cannot be pinned.
//
// Differs: there is no type for storages; to pin one, pin a tensor that spans it. The
// kind of accelerator may be named, and is otherwise the one there is. PyTorch keeps a
// view's strides, where this copy is contiguous.
func TestS68(t *testing.T) {
	dev := one(t)
	x := tensor.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for name, source := range map[string]T{"whole": x, "a view": x.Transpose(0, 1), "nothing": tensor.Zeros([]int{0, 2})} {
		p := source.PinMemory(dev)
		if err := p.Err(); err != nil || !p.IsPinned() || source.IsPinned() || p.SharesStorage(source) || !p.IsContiguous() || p.Device() != device.CPU {
			t.Errorf("%s: pinned %t, its source %t, of one storage %t, on %s, %v", name, p.IsPinned(), source.IsPinned(), p.SharesStorage(source), p.Device(), err)
		}
		equal(t, name, values(t, p), values(t, source))
		if again := p.PinMemory(dev); again != p {
			t.Errorf("%s: pinned memory is pinned again", name)
		}
	}
	p := x.PinMemory(dev)
	must(t, p.MulScalarInPlace(10))
	equal(t, "the source after a change of the copy", values(t, x), []float64{1, 2, 3, 4, 5, 6})
	equal(t, "on the device", values(t, p.To(dev)), []float64{10, 20, 30, 40, 50, 60})
	for name, made := range map[string]T{
		"Zeros": tensor.Zeros([]int{2}, tensor.Pinned(dev)), "From": tensor.FromSlice([]int64{0, 0}, nil, tensor.Pinned(dev)), "like": tensor.ZerosLike(tensor.Zeros([]int{2}), tensor.Pinned(dev)),
	} {
		if !made.IsPinned() {
			t.Errorf("%s with Pinned is not pinned", name)
		}
		equal(t, name, values(t, made), []float64{0, 0})
	}
	for name, bad := range map[string]T{"PinMemory": x.To(dev).PinMemory(dev), "Pinned": tensor.Zeros([]int{2}, tensor.Pinned(dev), tensor.On(dev))} {
		if bad.Err() == nil {
			t.Errorf("%s: memory of %s is pinned", name, dev)
		}
	}
}

// From page-locked memory a copy with NonBlocking returns before it is done,
// also while the stream is busy, and the program's other work goes on; the source may
// be released meanwhile. The same copy without NonBlocking waits.
func TestS69(t *testing.T) {
	dev := one(t)
	if kind == device.KindSim {
		fresh(t, sim.Config{Devices: 1, Async: true})
	}
	side := stream.New(dev, 0)
	warm := tensor.Ones([]int{4}, tensor.On(dev)).AddScalar(1)
	equal(t, "compute", values(t, warm.MulScalar(2)), []float64{4, 4, 4, 4})
	lockPages(t, dev, 4, 2)
	must(t, side.Do(func() error { must(t, warm.CPU().To(dev).Err()); return nil }))
	release := hold(t, side)
	source := tensor.From([]float32{1, 2, 3, 4}).PinMemory(dev)
	var x T
	must(t, side.Do(func() error { x = source.To(dev, tensor.NonBlocking()); return nil }))
	if idle(t, side) {
		t.Error("the copy is done while its stream is held")
	}
	source.Release()
	reused := tensor.From([]float32{9, 9, 9, 9}).PinMemory(dev) // not the memory that is still read
	equal(t, "compute beside the copy", values(t, warm.MulScalar(2)), []float64{4, 4, 4, 4})
	release()
	must(t, stream.Current(dev).WaitStream(side))
	must(t, x.RecordStream(stream.Current(dev)))
	equal(t, "copied", values(t, x), []float64{1, 2, 3, 4})
	equal(t, "what was pinned meanwhile", values(t, reused), []float64{9, 9, 9, 9})

	release = hold(t, side)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_ = side.Do(func() error { x = reused.To(dev); return nil })
	}()
	select {
	case <-returned:
		t.Error("a copy that blocks returned while its stream was held")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	<-returned
	must(t, x.Err())
	if !idle(t, side) {
		t.Error("a copy that blocks returned before it was done")
	}
}

// Page-locked memory is recycled, because getting it from the system is slow:
// pinning the same again takes no more of it, and what is not in use can be given back
// to the system, for which the machine has less memory meanwhile. What is held is in
// the figures.
func TestS70(t *testing.T) {
	dev := one(t)
	must(t, memory.EmptyPinnedCache(kind))
	before := memory.PinnedStatsOf(kind)
	x := tensor.Zeros([]int{1 << 16})
	for range 8 {
		p := x.PinMemory(dev)
		must(t, p.Err())
		p.Release()
	}
	after := memory.PinnedStatsOf(kind)
	if n := after.Allocations.Allocated - before.Allocations.Allocated; n > 1 {
		t.Errorf("%d blocks were taken from the system for one after the other", n)
	}
	if held := after.AllocatedBytes.Current - before.AllocatedBytes.Current; held > 1<<18 {
		t.Errorf("%d bytes are held for 256 KiB", held)
	}
	must(t, memory.EmptyPinnedCache(kind))
	if held := memory.PinnedStatsOf(kind).AllocatedBytes.Current; held > before.AllocatedBytes.Current {
		t.Errorf("%d bytes are held after the cache was emptied, %d before", held, before.AllocatedBytes.Current)
	}
}
