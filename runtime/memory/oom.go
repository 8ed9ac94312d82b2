package memory

import (
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/runtime/device"
)

// maxRequest is what no request may reach: 1 EiB (P63).
const maxRequest = 1 << 60

// An OutOfMemoryError says that a device has no room for an allocation, after
// everything that was cached there or dropped by the program was given back. The
// device stays usable (P64). It wraps device.ErrOutOfMemory.
type OutOfMemoryError struct {
	Device    device.Device
	Requested int64 // bytes the program asked for
	Tried     int64 // bytes the driver was asked for; 0: it was not, being too many
	Total     int64 // bytes of the device
	Free      int64 // of them, no program's
	Limit     int64 // bytes this program may take; 0: no limit
	Allocated int64 // bytes of blocks in use, and freed ones awaiting streams
	Reserved  int64 // bytes held from the driver; those not allocated are in pieces
	Cause     error // the driver's; nil if it was not asked
}

// Error returns PyTorch's text (P61).
func (e *OutOfMemoryError) Error() string {
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
	if e.Limit > 0 {
		fmt.Fprintf(&b, "%s allowed; ", formatSize(e.Limit))
	}
	fmt.Fprintf(&b, "Of the allocated memory %s is allocated by sinter, and %s is reserved by sinter but unallocated.",
		formatSize(e.Allocated), formatSize(e.Reserved-e.Allocated))
	return b.String()
}

// Unwrap returns device.ErrOutOfMemory and the cause.
func (e *OutOfMemoryError) Unwrap() []error {
	if e.Cause == nil {
		return []error{device.ErrOutOfMemory}
	}
	return []error{device.ErrOutOfMemory, e.Cause}
}

// formatSize writes bytes as the error text has them (P62).
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

// outOfMemory counts and returns the error of a request.
func (a *allocator) outOfMemory(r request, cause error) error {
	e := &OutOfMemoryError{Device: a.dev, Requested: r.bytes, Tried: r.size, Total: a.total, Cause: cause}
	if a.caching {
		e.Tried = segmentSize(r.size)
	}
	if cause == device.ErrOutOfMemory { // not from the driver: the limit
		e.Cause = nil
	}
	if free, total, err := a.drv.MemoryInfo(a.dev.Index); err == nil {
		e.Free, e.Total = free, total
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.caching {
		a.stats.OutOfMemory++
	}
	e.Limit = a.limit()
	e.Allocated, e.Reserved = a.stats.ActiveBytes.All.Current, a.stats.ReservedBytes.All.Current
	return e
}

// limit returns the bytes that segments may take; 0 is no limit. The caller holds
// a.mu.
func (a *allocator) limit() int64 {
	if a.fraction >= 1 || a.total == 0 {
		return 0
	}
	return max(1, int64(math.Floor(a.fraction*float64(a.total))))
}
