package memory

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/allocations"
)

func benchAllocFree(b *testing.B, drv device.Driver, s device.StreamID, bytes int64) {
	b.ReportAllocs()
	for b.Loop() {
		block, err := Alloc(cuda0, drv, s, bytes)
		if err != nil {
			b.Fatal(err)
		}
		if err := block.Free(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllocFree allocates a block that is cached and frees it.
func BenchmarkAllocFree(b *testing.B) {
	drv := newFake(1 << 40)
	device.Install(drv)
	b.Run("divided", func(b *testing.B) { benchAllocFree(b, drv, 0, 4096) })
	b.Run("stream", func(b *testing.B) { benchAllocFree(b, drv, 5, 4096) })
	b.Run("large", func(b *testing.B) { benchAllocFree(b, drv, 0, 64*mib) })
	var blocks []Block
	for i := range 20000 {
		blocks = append(blocks, take(b, drv, 0, int64(4096+512*(i%7))))
	}
	for i := 0; i < len(blocks); i += 2 {
		free(b, blocks[i])
	}
	b.Run("fragments", func(b *testing.B) { benchAllocFree(b, drv, 0, 4096) })
}

func BenchmarkAllocFreeParallel(b *testing.B) {
	drv := newFake(1 << 40)
	device.Install(drv)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			block, err := Alloc(cuda0, drv, 0, 4096)
			if err != nil {
				b.Error(err)
				return
			}
			_ = block.Free()
		}
	})
}

// TestNoGoMemory sees that a cached allocation takes no memory of Go.
func TestNoGoMemory(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	for _, bytes := range []int64{1, 4096, 3 * mib, 64 * mib} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) { allocations.AtMost(t, 0, func() { free(t, take(t, drv, 0, bytes)) }) })
	}
}
