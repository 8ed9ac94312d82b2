package memory

import (
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/runtime/device"
)

// maxRequest is what no request may reach: 1 EiB.
const maxRequest = 1 << 60

// An OutOfMemoryError says that a device has no room for an allocation, after
// everything that was cached there or dropped by the program was given back. The
// device stays usable. It wraps device.ErrOutOfMemory.
type OutOfMemoryError struct {
	Device    device.Device
	Requested int64 // bytes the program asked for
	Tried     int64 // bytes the driver was asked for; 0: it was not, being too many
	Total     int64 // bytes of the device
	Free      int64 // of them, no program's
	Process   int64 // of them, this process's, by all means; 0: not known
	Limit     int64 // bytes this program may take; 0: no limit
	Allocated int64 // bytes of blocks in use, and freed ones awaiting streams
	Private   int64 // of them, in private pools
	Reserved  int64 // bytes held from the driver; those not allocated are in pieces
	Cause     error // the driver's; nil if it was not asked
}

// Error returns PyTorch's text.
func (e *OutOfMemoryError) Error() string {
	if e == nil {
		return device.ErrOutOfMemory.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s out of memory. ", strings.ToUpper(e.Device.Kind.String()))
	if e.Tried == 0 {
		b.WriteString("Tried to allocate more than 1EB memory.")
		return b.String()
	}
	name := e.Device.String()
	if e.Device.Kind == device.KindCUDA {
		name = fmt.Sprintf("GPU %d", e.Device.Index)
	}
	fmt.Fprintf(&b, "Tried to allocate %s. %s has a total capacity of %s of which %s is free. ",
		formatSize(e.Tried), name, formatSize(e.Total), formatSize(e.Free))
	if e.Process > 0 {
		fmt.Fprintf(&b, "Including non-sinter memory, this process has %s memory in use. ", formatSize(e.Process))
	}
	if e.Limit > 0 {
		fmt.Fprintf(&b, "%s allowed; ", formatSize(e.Limit))
	}
	fmt.Fprintf(&b, "Of the allocated memory %s is allocated by sinter, ", formatSize(e.Allocated))
	if e.Private > 0 {
		fmt.Fprintf(&b, "with %s allocated in private pools (e.g., CUDA Graphs), ", formatSize(e.Private))
	}
	fmt.Fprintf(&b, "and %s is reserved by sinter but unallocated. If reserved but unallocated memory is large try setting "+
		settingsEnv+"=expandable_segments:True to avoid fragmentation.", formatSize(e.Reserved-e.Allocated))
	return b.String()
}

// Unwrap returns device.ErrOutOfMemory and the cause.
func (e *OutOfMemoryError) Unwrap() []error {
	if e == nil || e.Cause == nil {
		return []error{device.ErrOutOfMemory}
	}
	return []error{device.ErrOutOfMemory, e.Cause}
}

// formatSize writes bytes as the error text has them.
func formatSize(n int64) string {
	switch {
	case n <= 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n <= 1<<20:
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	case n <= 1<<30:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// tooLarge returns the error of a request that no device has room for.
func (a *allocator) tooLarge(bytes int64) error {
	return &OutOfMemoryError{Device: a.dev, Requested: bytes}
}

// outOfMemory counts and returns the error of a request, and tells the observers.
// The caller holds no lock.
func (a *allocator) outOfMemory(r request, cause error) error {
	e := &OutOfMemoryError{Device: a.dev, Requested: r.bytes, Tried: r.size, Total: a.total, Cause: cause}
	if r.pool != nil {
		e.Tried = r.conf.Segment(r.size)
	}
	if cause == errOverLimit {
		e.Cause = nil
	}
	if free, total, err := a.drv.MemoryInfo(a.dev.Index); err == nil {
		e.Free, e.Total = free, total
	}
	if m, ok := a.drv.(device.ProcessMemory); ok {
		e.Process, _ = m.ProcessMemory(a.dev.Index)
	}
	a.mu.Lock()
	e.Limit = a.limit()
	e.Allocated, e.Reserved = a.stats.ActiveBytes.Sum(), a.stats.ReservedBytes.Sum()
	e.Private = a.inPrivate()
	if r.pool != nil {
		if cause == errOverLimit && r.conf.Rejects {
			a.stats.Rejections++
		} else {
			a.stats.OutOfMemory++
		}
		a.trace(TraceOutOfMemory, uint64(e.Free), r.size, r.stream, r.pool.arena.id)
	}
	a.mu.Unlock()
	observed(e)
	return e
}

// inPrivate returns the bytes of blocks in use in private pools. The caller holds
// a.mu.
func (a *allocator) inPrivate() (bytes int64) {
	for _, c := range a.segments {
		if !c.pool.arena.private() {
			continue
		}
		for ; c != nil; c = c.next {
			if c.state == chunkLent || c.state == chunkWaiting {
				bytes += c.size
			}
		}
	}
	return bytes
}

// observers has what OnOutOfMemory was given.
var observers calls[func(d device.Device, requested, limit, free int64)]

// OnOutOfMemory makes f be called once for each allocation on an accelerator that
// fails for lack of memory: with the bytes that the driver was or would have been
// asked for, those that the program may take, which are the device's without a
// limit, and those that are free on the device. F is called before the error
// is returned, without locks, perhaps by several goroutines at a time. Remove ends
// that. A nil f does nothing.
func OnOutOfMemory(f func(d device.Device, requested, limit, free int64)) (remove func()) {
	if f == nil {
		return func() {}
	}
	return observers.add(f)
}

// observed tells the observers of e.
func observed(e *OutOfMemoryError) {
	limit := e.Limit
	if limit == 0 {
		limit = e.Total
	}
	for _, f := range observers.now() {
		(*f)(e.Device, e.Tried, limit, e.Free)
	}
}

// limit returns the bytes that segments may take; 0 is no limit. The caller holds
// a.mu.
func (a *allocator) limit() int64 {
	if a.fraction >= 1 || a.total == 0 {
		return 0
	}
	return max(1, int64(math.Floor(a.fraction*float64(a.total))))
}
