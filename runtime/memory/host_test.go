package memory

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
)

// hostDriver provides host memory and nothing else.
type hostDriver struct{ device.Driver }

func (hostDriver) Alloc(_ int, bytes int64) (device.Memory, error) {
	data := make([]byte, bytes)
	return device.Memory{Host: unsafe.Pointer(&data[0]), Bytes: bytes}, nil
}

func (d hostDriver) AllocHost(bytes int64) (device.Memory, error) { return d.Alloc(0, bytes) }
func (hostDriver) FreeHost(device.Memory) error                   { return nil }

// TestHostClasses: a class's blocks hold what is asked of it, and little more.
func TestHostClasses(t *testing.T) {
	last := 0
	for n := int64(1); n < 1<<44; n += 1 + n/7 {
		for _, bytes := range []int64{n, n + 1} {
			class := HostClass(bytes)
			size := classSize(class)
			if size < bytes || class > 0 && class > minClass && classSize(class-1) >= bytes {
				t.Fatalf("%d bytes: class %d of %d bytes", bytes, class, size)
			}
			if bytes > 1<<evenClass && (size-bytes)*8 > bytes {
				t.Errorf("%d bytes: a block of %d", bytes, size)
			}
			if class < last {
				t.Fatalf("%d bytes: class %d, of fewer %d", bytes, class, last)
			}
			last = class
		}
	}
	if c := HostClass(maxRequest - 1); c >= hostClasses {
		t.Errorf("class %d of the largest request; there are %d", c, hostClasses)
	}
}

// TestHostCache: blocks that were given back serve again, those given back longest
// ago go first when there are too many, and EmptyCache drops all.
func TestHostCache(t *testing.T) {
	c := hostCache{bound: 4 << 20}
	block := func(bytes int64) *host {
		class := HostClass(bytes)
		return &host{memory: device.Memory{Bytes: classSize(class)}, class: class}
	}
	large, small := block(2<<20), block(1<<20)
	c.keep(large)
	c.keep(small)
	if got := c.take(HostClass(1 << 20)); got != small {
		t.Errorf("took %v, want the block of 1 MiB", got)
	}
	if got := c.take(HostClass(1 << 20)); got != nil {
		t.Errorf("took %v where there is none", got)
	}
	c.keep(small)
	c.keep(block(5 << 20)) // more than all that is kept
	if c.bytes != 3<<20 {
		t.Errorf("%d bytes are kept, want 3 MiB", c.bytes)
	}
	later := block(2 << 20)
	c.keep(later)
	if c.bytes != 3<<20 || c.take(HostClass(2<<20)) != later || c.take(HostClass(2<<20)) != nil {
		t.Errorf("%d bytes are kept; want the oldest block gone", c.bytes)
	}
	if !c.empty() || c.bytes != 0 || c.empty() {
		t.Error("emptying")
	}
}

// TestHostBlocks: what Alloc lends of the host comes back to be lent again.
func TestHostBlocks(t *testing.T) {
	EmptyHostCache()
	a, err := Alloc(device.CPU, hostDriver{}, 0, 100_000)
	if err != nil || a.Bytes < 100_000 {
		t.Fatalf("%+v, %v", a, err)
	}
	p := a.Host
	if err := a.Free(); err != nil {
		t.Fatal(err)
	}
	if err := a.Free(); !errors.Is(err, ErrFreed) {
		t.Errorf("freed twice: %v", err)
	}
	b, err := Alloc(device.CPU, hostDriver{}, 0, a.Bytes)
	if err != nil || b.Host != p {
		t.Errorf("not the block that was given back: %v", err)
	}
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	if err := EmptyCache(device.CPU); err != nil || hosts.bytes != 0 {
		t.Errorf("emptied: %d bytes, %v", hosts.bytes, err)
	}
}
