package gpu

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

// CopyFromHost copies from host memory. Page-locked memory is read in stream
// order; other memory has been read when it returns.
func (d *Driver) CopyFromHost(dev int, s device.StreamID, dst uint64, src unsafe.Pointer, n int64) error {
	api, err := d.on(dev, s, fromHostOp)
	if err != nil || n == 0 {
		return err
	}
	if d.captures.under.Load() != 0 && !d.pinned.has(src, n) {
		if err := d.refuse(dev, s, "given a copy from host memory that is not page-locked"); err != nil {
			return err
		}
	}
	if n < stagedBytes || d.pinned.has(src, n) {
		return d.failed(dev, api.MemcpyHtoDAsync(dev, driver.Ptr(dst), src, n, driver.Stream(s)))
	}
	return d.failed(dev, d.inChunks(dev, n, func(c *chunk, at, n int64) error {
		copy(c.bytes(n), unsafe.Slice((*byte)(unsafe.Add(src, at)), n))
		if err := api.MemcpyHtoDAsync(dev, driver.Ptr(dst+uint64(at)), c.memory, n, driver.Stream(s)); err != nil {
			return err
		}
		return c.sent(api, dev, driver.Stream(s))
	}))
}

// CopyToHost copies to host memory. Page-locked memory is written in stream order;
// other memory is written when it returns.
func (d *Driver) CopyToHost(dev int, s device.StreamID, dst unsafe.Pointer, src uint64, n int64) error {
	api, err := d.on(dev, s, toHostOp)
	if err != nil || n == 0 {
		return err
	}
	if d.captures.under.Load() != 0 && !d.pinned.has(dst, n) {
		if err := d.refuse(dev, s, "given a copy to host memory that is not page-locked"); err != nil {
			return err
		}
	}
	if n < stagedBytes || d.pinned.has(dst, n) {
		return d.failed(dev, api.MemcpyDtoHAsync(dev, dst, driver.Ptr(src), n, driver.Stream(s)))
	}
	return d.failed(dev, d.inChunks(dev, n, func(c *chunk, at, n int64) error {
		if err := api.MemcpyDtoHAsync(dev, c.memory, driver.Ptr(src+uint64(at)), n, driver.Stream(s)); err != nil {
			return err
		}
		if err := c.sent(api, dev, driver.Stream(s)); err != nil {
			return err
		}
		if err := c.wait(api); err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, at)), n), c.bytes(n))
		return nil
	}))
}

// CopyOnDevice copies memory of one device.
func (d *Driver) CopyOnDevice(dev int, s device.StreamID, dst, src uint64, n int64) error {
	api, err := d.on(dev, s, onDeviceOp)
	if err != nil || n == 0 {
		return err
	}
	return d.failed(dev, api.MemcpyDtoDAsync(dev, driver.Ptr(dst), driver.Ptr(src), n, driver.Stream(s)))
}

// CopyPeer copies to another device's memory, directly where the devices can.
func (d *Driver) CopyPeer(srcDev int, s device.StreamID, dstDev int, dst, src uint64, n int64) error {
	api, err := d.on(srcDev, s, toPeerOp)
	if err != nil || n == 0 {
		return err
	}
	if d.CaptureOf(srcDev, s) != 0 && device.OpenPeer(d, srcDev, dstDev) { // the driver captures no other copies between devices
		return d.failed(srcDev, api.MemcpyDtoDAsync(srcDev, driver.Ptr(dst), driver.Ptr(src), n, driver.Stream(s)))
	}
	return d.failed(srcDev, api.MemcpyPeerAsync(srcDev, driver.Ptr(dst), dstDev, driver.Ptr(src), srcDev, n, driver.Stream(s)))
}

// Zero clears the first n bytes of m.
func (d *Driver) Zero(dev int, s device.StreamID, m device.Memory, n int64) error {
	api, err := d.on(dev, s, zeroOp)
	if err != nil || n == 0 {
		return err
	}
	if m.Host != nil {
		clear(unsafe.Slice((*byte)(m.Host), n))
		return nil
	}
	return d.failed(dev, api.MemsetD8Async(dev, driver.Ptr(m.Addr), 0, n, driver.Stream(s)))
}

// Transfers of pageable memory go through page-locked chunks. Several goroutines
// take turns: one copies while the device reads what others have copied.
const (
	stagedBytes = 1 << 20 // from which on
	chunkBytes  = 4 << 20
	maxChunks   = 12
	maxWorkers  = 8
)

// staging is the chunks, which all devices share. The zero staging has none: they
// are made when they are first needed.
type staging struct {
	mu   sync.Mutex
	made int
	free chan *chunk
}

// A chunk is page-locked memory and the copy it was last used for.
type chunk struct {
	memory unsafe.Pointer
	dev    int
	events map[int]driver.Event // by device
	busy   bool                 // the event of dev tells when the copy is done
}

func (c *chunk) bytes(n int64) []byte { return unsafe.Slice((*byte)(c.memory), n) }

// sent notes that a copy was given to a stream.
func (c *chunk) sent(api driver.API, dev int, s driver.Stream) error {
	e, ok := c.events[dev]
	if !ok {
		var err error
		if e, err = api.EventCreate(dev, driver.EventDisableTiming); err != nil {
			return c.settle(api, dev, s, err)
		}
		c.events[dev] = e
	}
	if err := api.EventRecord(dev, e, s); err != nil {
		return c.settle(api, dev, s, err)
	}
	c.dev, c.busy = dev, true
	return nil
}

// settle waits for a copy that has no event, so that the chunk may be used again.
func (c *chunk) settle(api driver.API, dev int, s driver.Stream, err error) error {
	_ = api.StreamSynchronize(dev, s) // err says what went wrong
	return err
}

// wait waits for the copy that the chunk was last used for.
func (c *chunk) wait(api driver.API) error {
	if !c.busy {
		return nil
	}
	c.busy = false
	return api.EventSynchronize(c.dev, c.events[c.dev])
}

// take returns a chunk that no copy uses, for one of dev. That another device was
// lost with its copy is not dev's concern.
func (d *Driver) take(api driver.API, dev int) (*chunk, error) {
	c, err := d.anyChunk()
	if err != nil {
		return nil, err
	}
	if err := c.wait(api); err != nil && c.dev == dev {
		return c, err
	}
	return c, nil
}

// anyChunk returns a chunk that may be in use by a copy.
func (d *Driver) anyChunk() (*chunk, error) {
	s := &d.staging
	s.mu.Lock()
	if s.free == nil {
		s.free = make(chan *chunk, maxChunks)
	}
	s.mu.Unlock()
	select {
	case c := <-s.free:
		return c, nil
	default:
	}
	c, err := d.newChunk()
	if err == nil && c == nil {
		c = <-s.free
	}
	return c, err
}

// newChunk returns another chunk, or nil when there are enough.
func (d *Driver) newChunk() (*chunk, error) {
	s := &d.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == maxChunks {
		return nil, nil
	}
	p, _, err := d.allocHost(d.homeDevice(), chunkBytes, driver.HostPortable)
	if err != nil {
		if s.made > 0 { // the others will do
			return nil, nil
		}
		return nil, err
	}
	s.made++
	return &chunk{memory: p, events: map[int]driver.Event{}}, nil
}

// inChunks calls copy for the chunks of n bytes, from several goroutines, and
// returns the first error.
func (d *Driver) inChunks(dev int, n int64, copy func(c *chunk, at, n int64) error) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	chunks := (n + chunkBytes - 1) / chunkBytes
	var (
		mu     sync.Mutex
		next   int64
		failed error
		all    sync.WaitGroup
	)
	claim := func(err error) int64 {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
		if failed != nil || next == chunks {
			return -1
		}
		next++
		return next - 1
	}
	for range min(chunks, maxWorkers) {
		all.Go(func() {
			var err error
			for i := claim(nil); i >= 0; i = claim(err) {
				var c *chunk
				if c, err = d.take(api, dev); c == nil {
					continue
				}
				if err == nil {
					err = copy(c, i*chunkBytes, min(chunkBytes, n-i*chunkBytes))
				}
				d.staging.free <- c
			}
		})
	}
	all.Wait()
	return failed
}
