// Package dl opens shared libraries at run time and calls their C functions,
// without cgo and without allocating. It knows nothing of CUDA.
//
// Linux on amd64 and arm64 has it; elsewhere, and under the build tag nocuda,
// which keeps programs statically linked, Open answers with ErrUnsupported.
package dl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// ErrUnsupported is wrapped by Open's error where libraries cannot be opened.
var ErrUnsupported = errors.New("this program cannot open shared libraries")

// A Library is an open shared library. It stays open unless Close is called.
type Library struct {
	name   string
	handle uintptr
}

// A Func is the address of a C function whose parameters are integers and
// pointers and whose result is an integer or nothing.
type Func uintptr

// Open opens the first of the named libraries that is there. A name without a
// slash is looked for as the system's loader does. The error names every file
// looked for and what the loader said of it.
func Open(names ...string) (*Library, error) {
	var said []string
	for _, name := range names {
		handle, err := open(name)
		if errors.Is(err, ErrUnsupported) {
			return nil, err
		}
		if err == nil {
			return &Library{name, handle}, nil
		}
		said = append(said, name+": "+strings.TrimPrefix(err.Error(), name+": "))
	}
	return nil, fmt.Errorf("no shared library found; looked for %s", strings.Join(said, "; "))
}

// Name returns the name the library was found by.
func (l *Library) Name() string { return l.name }

// Func returns the function of that name.
func (l *Library) Func(name string) (Func, error) {
	address, err := symbol(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no function %s", l.name, name)
	}
	return Func(address), nil
}

// Close lets the library go, whose functions are not called any more: what it registered to
// be done at the end of the process is done now, as Go ends programs without.
func (l *Library) Close() error {
	if err := release(l.handle); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// MaxArgs is the most arguments a call may have.
const MaxArgs = 18

// A Frame is the memory of one call: its arguments, words for what the function
// reads and writes through pointers, and what must live until it returns. The
// addresses it hands out may be given to C, as numbers, while the frame is held:
// what they are of is pinned. One goroutine holds a Frame, from Get to Free.
type Frame struct {
	*memory
	kept runtime.Pinner
}

// memory is a frame's own. It is pinned for good, with its bytes, and goes from a
// frame that nothing reaches any more to a new one.
type memory struct {
	block  block
	Words  [8]uintptr // zero after Get
	bytes  []byte
	pinned runtime.Pinner
}

var (
	frames = sync.Pool{New: func() any { return newFrame() }}
	unused struct {
		sync.Mutex
		list []*memory
	}
)

func newFrame() *Frame {
	unused.Lock()
	defer unused.Unlock()
	var m *memory
	if last := len(unused.list) - 1; last >= 0 {
		m = unused.list[last]
		unused.list = unused.list[:last]
	} else {
		m = new(memory)
		m.pinned.Pin(m)
	}
	c := &Frame{memory: m}
	runtime.AddCleanup(c, leave, m)
	return c
}

// leave keeps the memory of a frame that is gone for the next.
func leave(m *memory) {
	unused.Lock()
	defer unused.Unlock()
	m.Words = [8]uintptr{}
	unused.list = append(unused.list, m)
}

// Get returns a free frame.
func Get() *Frame { return frames.Get().(*Frame) }

// Free takes the frame back. Addresses it handed out end here.
func (c *Frame) Free() {
	c.Words = [8]uintptr{}
	c.kept.Unpin()
	frames.Put(c)
}

// Addr returns the address of word i.
func (c *Frame) Addr(i int) uintptr { return uintptr(unsafe.Pointer(&c.Words[i])) }

// Pointer returns word i as the pointer that C wrote there.
func (c *Frame) Pointer(i int) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&c.Words[i]))
}

// Keep returns p's address and keeps what p points to alive and in place until
// Free. Go memory that C uses after that is the caller's to keep.
func (c *Frame) Keep(p unsafe.Pointer) uintptr {
	c.kept.Pin(p)
	return uintptr(p)
}

// Bytes returns n bytes of the frame's own memory, aligned to 8 bytes, with any
// content, and their address. The next call of Bytes takes them back. n > 0.
func (c *Frame) Bytes(n int) ([]byte, uintptr) {
	if m := c.memory; cap(m.bytes) < n {
		m.pinned.Unpin()
		m.bytes = make([]byte, max(n, 256))
		m.pinned.Pin(m)
		m.pinned.Pin(&m.bytes[0])
	}
	c.bytes = c.bytes[:n]
	return c.bytes, uintptr(unsafe.Pointer(&c.bytes[0]))
}

// CString returns the address of a copy of s that ends in a zero byte, in the
// memory of Bytes.
func (c *Frame) CString(s string) uintptr {
	b, address := c.Bytes(len(s) + 1)
	b[copy(b, s)] = 0
	return address
}

// GoString copies the C string that p points to. "" for nil.
func GoString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// block is what the machine code of a call reads and writes: call_amd64.s and
// call_arm64.s know its layout.
type block struct {
	args    [MaxArgs]uintptr
	f       uintptr
	first   uintptr // called before f, with context; 0 for none
	context uintptr
	result  uintptr // of f, or of first where that failed
	failed  uintptr // 1 where first did not return 0, and f was not called
}

// Call calls f with up to MaxArgs arguments. Addresses among them are of memory
// that c keeps, or that is not Go's; the first that is a floating-point number is 0.
// The goroutine may be on another thread afterwards unless it is locked to its thread.
func (f Func) Call(c *Frame, args ...uintptr) uintptr {
	copy(c.block.args[:], args)
	c.block.f, c.block.first = uintptr(f), 0
	call(&c.block)
	runtime.KeepAlive(c)
	return c.block.result
}

// CallAfter calls first with context and then, if that returned 0, f, both on one
// thread with nothing in between. It returns f's result, or first's and false.
func (f Func) CallAfter(c *Frame, first Func, context uintptr, args ...uintptr) (uintptr, bool) {
	copy(c.block.args[:], args)
	c.block.f, c.block.first, c.block.context = uintptr(f), uintptr(first), context
	call(&c.block)
	runtime.KeepAlive(c)
	return c.block.result, c.block.failed == 0
}
