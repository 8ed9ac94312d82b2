package host

import (
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestClasses: a class's blocks hold what is asked of it, and little more.
func TestClasses(t *testing.T) {
	last := 0
	for n := int64(1); n < 1<<44; n += 1 + n/7 {
		for _, bytes := range []int64{n, n + 1} {
			class := Class(bytes)
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
	if c := Class(1<<60 - 1); c >= classes {
		t.Errorf("class %d of the largest request; there are %d", c, classes)
	}
}

// TestCache: blocks that were given back serve again, those given back longest
// ago go first when there are too many, and Empty drops all.
func TestCache(t *testing.T) {
	c := cache{bound: 4 << 20}
	block := func(bytes int64) *Block {
		class := Class(bytes)
		return &Block{Memory: device.Memory{Bytes: classSize(class)}, class: class}
	}
	large, small := block(2<<20), block(1<<20)
	c.keep(large)
	c.keep(small)
	if got := c.take(Class(1 << 20)); got != small {
		t.Errorf("took %v, want the block of 1 MiB", got)
	}
	if got := c.take(Class(1 << 20)); got != nil {
		t.Errorf("took %v where there is none", got)
	}
	c.keep(small)
	c.keep(block(5 << 20)) // more than all that is kept
	if c.bytes != 3<<20 {
		t.Errorf("%d bytes are kept, want 3 MiB", c.bytes)
	}
	later := block(2 << 20)
	c.keep(later)
	if c.bytes != 3<<20 || c.take(Class(2<<20)) != later || c.take(Class(2<<20)) != nil {
		t.Errorf("%d bytes are kept; want the oldest block gone", c.bytes)
	}
	if !c.empty() || c.bytes != 0 || c.empty() {
		t.Error("emptying")
	}
}
