// Package memory hands out and takes back the memory of devices. Host blocks
// are recycled by size class; device blocks go to the driver. The package knows
// nothing of tensors.
package memory

import (
	"errors"
	"fmt"
	"math/bits"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// A Block is memory on one device. Its holder owns it and calls Free once.
type Block struct {
	device.Memory
	Device device.Device
	driver device.Driver
	class  int // size class of a recycled host block, or -1
	pinned bool
}

// Alloc returns a block of at least bytes > 0 uninitialised bytes on dev, which
// drv provides. Before it reports that an accelerator has no room, the collector
// gets a chance to find blocks that the program dropped.
func Alloc(dev device.Device, drv device.Driver, bytes int64) (Block, error) {
	if dev.Kind == device.KindCPU {
		return allocHost(drv, bytes)
	}
	drainDropped()
	m, err := drv.Alloc(dev.Index, bytes)
	if errors.Is(err, device.ErrOutOfMemory) && collect() {
		m, err = drv.Alloc(dev.Index, bytes)
	}
	if err != nil {
		return Block{}, fmt.Errorf("%s: cannot allocate %d bytes: %w", dev, bytes, err)
	}
	stats(dev).grow(bytes)
	return Block{Memory: m, Device: dev, driver: drv, class: -1}, nil
}

// AllocPinned returns page-locked host memory of the driver that provides the
// accelerators it is for.
func AllocPinned(drv device.Driver, bytes int64) (Block, error) {
	drainDropped()
	m, err := drv.AllocHost(bytes)
	if err != nil {
		return Block{}, fmt.Errorf("cannot allocate %d bytes of pinned memory: %w", bytes, err)
	}
	return Block{Memory: m, Device: device.CPU, driver: drv, class: -1, pinned: true}, nil
}

// Free gives the block back. It may be reused at once.
func (b Block) Free() error {
	switch {
	case b.pinned:
		return b.driver.FreeHost(b.Memory)
	case b.class >= 0:
		recycle(b)
		return nil
	case b.Device.Accelerator():
		stats(b.Device).shrink(b.Bytes)
	}
	return b.driver.Free(b.Device.Index, b.Memory)
}

// Pinned reports whether the block is page-locked host memory.
func (b Block) Pinned() bool { return b.pinned }

// Collected reports whether an unreachable block must be given back by hand:
// host memory belongs to Go's collector.
func (b Block) Collected() bool { return b.Device.Kind == device.KindCPU && !b.pinned }

// Host blocks of up to 1<<maxClass bytes are recycled, a bounded number a class.
const (
	minClass    = 6  // 64 bytes
	maxClass    = 28 // 256 MiB
	keepBytes   = 64 << 20
	keepAtLeast = 2
)

type freeList struct {
	mu   sync.Mutex
	free []device.Memory
}

var hostFree [maxClass + 1]freeList

// sizeClass returns the class whose blocks hold n bytes.
func sizeClass(n int64) int { return max(minClass, bits.Len64(uint64(n-1))) }

func allocHost(drv device.Driver, bytes int64) (Block, error) {
	b := Block{Device: device.CPU, driver: drv, class: -1}
	size := bytes
	if class := sizeClass(bytes); class <= maxClass {
		b.class, size = class, 1<<class
		list := &hostFree[class]
		list.mu.Lock()
		if n := len(list.free); n > 0 {
			b.Memory = list.free[n-1]
			list.free[n-1] = device.Memory{}
			list.free = list.free[:n-1]
			list.mu.Unlock()
			return b, nil
		}
		list.mu.Unlock()
	}
	m, err := drv.Alloc(0, size)
	if err != nil {
		return Block{}, fmt.Errorf("cpu: cannot allocate %d bytes: %w", bytes, err)
	}
	b.Memory = m
	return b, nil
}

func recycle(b Block) {
	list := &hostFree[b.class]
	list.mu.Lock()
	defer list.mu.Unlock()
	if n := len(list.free); n < keepAtLeast || int64(n)<<b.class < keepBytes {
		list.free = append(list.free, b.Memory)
	}
}

// EmptyHostCache drops the recycled host blocks.
func EmptyHostCache() {
	for i := range hostFree {
		list := &hostFree[i]
		list.mu.Lock()
		list.free = nil
		list.mu.Unlock()
	}
}

// dropped holds blocks whose owner the collector found dead. They are freed at
// the next allocation, never in the cleanup itself.
var dropped struct {
	mu     sync.Mutex
	blocks []Block
}

// Drop queues b to be freed at the next allocation. It never calls a driver, so
// it may run in a cleanup.
func Drop(b Block) {
	dropped.mu.Lock()
	dropped.blocks = append(dropped.blocks, b)
	dropped.mu.Unlock()
}

// drainDropped frees what was dropped and reports whether there was anything.
func drainDropped() bool {
	dropped.mu.Lock()
	blocks := dropped.blocks
	dropped.blocks = nil
	dropped.mu.Unlock()
	for _, b := range blocks {
		_ = b.Free() // nobody is left to tell
	}
	return len(blocks) > 0
}

// collectWait bounds the wait for the cleanups of a collection.
const collectWait = 50 * time.Millisecond

// collect runs the collector and frees what it found dead. It reports whether
// anything was freed.
func collect() bool {
	goruntime.GC()
	done := make(chan struct{})
	goruntime.AddCleanup(new([16]byte), func(c chan struct{}) { close(c) }, done)
	goruntime.GC() // a cleanup queued now runs after those of the first collection
	select {
	case <-done:
	case <-time.After(collectWait):
	}
	return drainDropped()
}

// Stats are an accelerator's byte counts. Host memory is the collector's and is
// not counted.
type Stats struct {
	Allocated int64 // bytes held by tensors now
	Peak      int64 // the most since the process began or ResetPeak
}

type counter struct{ now, peak atomic.Int64 }

func (c *counter) grow(n int64) {
	now := c.now.Add(n)
	for {
		peak := c.peak.Load()
		if now <= peak || c.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func (c *counter) shrink(n int64) { c.now.Add(-n) }

var counters sync.Map // device.Device to *counter

func stats(d device.Device) *counter {
	if c, ok := counters.Load(d); ok {
		return c.(*counter)
	}
	c, _ := counters.LoadOrStore(d, new(counter))
	return c.(*counter)
}

// StatsOf returns the byte counts of a device.
func StatsOf(d device.Device) Stats {
	drainDropped()
	c := stats(d.Resolve())
	return Stats{Allocated: c.now.Load(), Peak: c.peak.Load()}
}

// ResetPeak makes the peak of d what is allocated now.
func ResetPeak(d device.Device) {
	c := stats(d.Resolve())
	c.peak.Store(c.now.Load())
}
