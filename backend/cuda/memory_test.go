package cuda_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// TestMemoryNames calls the names that this package gives to package memory, on
// simulated devices that stand for GPUs.
func TestMemoryNames(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 2, Kind: device.KindCUDA}), sim.New(sim.Config{Devices: 1}))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := cuda.MemoryStats(); len(s) != 0 {
		t.Errorf("figures before the first allocation: %v", s)
	}
	a, err := cuda.CachingAllocatorAlloc(1000)
	must(err)
	b, err := cuda.CachingAllocatorAlloc(1000, stream.Default(device.CUDA(1)))
	must(err)
	if _, err := cuda.CachingAllocatorAlloc(1000, stream.Default(device.Sim(0))); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a stream of another kind: %v", err)
	}
	got := []int64{cuda.MemoryAllocated(), cuda.MemoryAllocated(device.CUDA(1)), cuda.MemoryReserved(), cuda.MemoryStats()["requested_bytes.all.current"]}
	if diff := cmp.Diff([]int64{1024, 1024, 2 << 20, 1000}, got); diff != "" {
		t.Error(diff)
	}
	must(cuda.CachingAllocatorDelete(a))
	must(cuda.CachingAllocatorDelete(b))
	if err := cuda.CachingAllocatorDelete(a); !errors.Is(err, memory.ErrInvalidPointer) {
		t.Errorf("deleted twice: %v", err)
	}

	p, err := cuda.NewMemPool(cuda.NoSplit(), tensor.On(device.CUDA(1)))
	must(err)
	must(cuda.UseMemPool(p, func() error {
		c, err := cuda.CachingAllocatorAlloc(1000, stream.Default(device.CUDA(1)))
		must(err)
		if got := cuda.MemoryAllocated(device.CUDA(1)); got != 2<<20 {
			t.Errorf("a block of a pool that does not split takes %d bytes", got)
		}
		must(cuda.CachingAllocatorDelete(c))
		return nil
	}))
	must(p.Release())

	asked := 0
	remove := cuda.OnOutOfMemory(func(d device.Device, requested, _, _ int64) {
		if asked++; d != device.CUDA(0) || requested != 2<<30 {
			t.Errorf("%d bytes on %s", requested, d)
		}
	})
	_, err = cuda.CachingAllocatorAlloc(2 << 30)
	remove()
	var oom *cuda.OutOfMemoryError
	if !errors.As(err, &oom) || asked != 1 || oom.Process == 0 && oom.Free != oom.Total {
		t.Errorf("%v, observed %d times", err, asked)
	}

	must(cuda.SetAllocatorSettings("per_process_memory_fraction:0.5"))
	if f, err := cuda.MemoryFraction(); f != 0.5 || err != nil {
		t.Errorf("the memory fraction is %v, %v", f, err)
	}
	must(cuda.SetAllocatorSettings(""))
	cuda.CachingAllocatorEnable(false)
	c, err := cuda.CachingAllocatorAlloc(1000)
	cuda.CachingAllocatorEnable(true)
	must(err)
	if got := cuda.MemoryAllocated(); got != 0 {
		t.Errorf("%d bytes are counted without caching", got)
	}
	must(cuda.CachingAllocatorDelete(c))
	must(cuda.EmptyCache())
	if cuda.MemoryReserved() != 0 || cuda.MaxMemoryReserved(device.CUDA(1)) != 4<<20 {
		t.Errorf("%d bytes are reserved, %d were", cuda.MemoryReserved(), cuda.MaxMemoryReserved(device.CUDA(1)))
	}
}
