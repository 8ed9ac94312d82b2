package memory

import "github.com/sinter-go/sinter/runtime/device"

// CaptureBegun says that a capture begins on d. Until as many CaptureEnded, no
// event is asked whether it is done, blocks that are freed with recorded streams
// wait, and nothing goes back to the driver: these calls are no
// part of a graph, and would spoil it or the graph's memory.
func CaptureBegun(d device.Device) {
	if a := captured(d); a != nil {
		a.mu.Lock()
		a.capturing++
		underWay.Add(1)
		a.mu.Unlock()
		pinnedOf(a.drv).captureBegun()
	}
}

// CaptureEnded says that a capture on d has ended. With the last one, the streams
// of blocks that were freed meanwhile are waited for as usual.
func CaptureEnded(d device.Device) {
	a := captured(d)
	if a == nil {
		return
	}
	a.mu.Lock()
	var freed []*chunk
	if a.capturing > 0 {
		a.capturing--
		underWay.Add(-1)
	}
	if a.capturing == 0 {
		freed, a.deferred = a.deferred, nil
	}
	streams := make([][]device.StreamID, len(freed))
	for i, c := range freed {
		streams[i], c.streams = c.streams, nil
	}
	a.mu.Unlock()
	for i, c := range freed {
		for _, s := range streams[i] {
			a.await(c, s)
		}
	}
	pinnedOf(a.drv).captureEnded()
}

// Cached reports whether memory of an accelerator that is freed now stays with its
// allocator, as the memory of graphs must.
func Cached(d device.Device) bool {
	a := captured(d)
	return a != nil && a.caching && Caching()
}

// captured returns the allocator of an accelerator; nil where there is none.
func captured(d device.Device) *allocator {
	d, drv, err := device.Find(d)
	if err != nil || !d.Accelerator() {
		return nil
	}
	return allocatorOf(d, drv)
}

// captureBegun is CaptureBegun for page-locked memory.
func (p *pinnedCache) captureBegun() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capturing++
}

// captureEnded is CaptureEnded for page-locked memory.
func (p *pinnedCache) captureEnded() {
	p.mu.Lock()
	var freed []*pinned
	if p.capturing = max(0, p.capturing-1); p.capturing == 0 {
		freed, p.deferred = p.deferred, nil
	}
	copies := make([][]place, len(freed))
	for i, b := range freed {
		copies[i], b.copies = b.copies, nil
	}
	p.mu.Unlock()
	for i, b := range freed {
		for _, at := range copies[i] {
			p.await(b, at)
		}
	}
}
