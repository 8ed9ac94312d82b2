package launch

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A stage says what becomes of the scratch that a call's launch code asks for, and of the
// work that it enqueues. The code runs in two steps: what it needs is counted, by the code
// itself, and given as one block; then all is enqueued. It has to ask for the same each time,
// which follows from the call alone.
type stage uint8

const (
	trying   stage = iota // memory that is asked for before any work has it counted
	counting              // memory is counted, nothing enqueued
	given                 // memory is there
)

// scratchAlign is what scratch is aligned to, in bytes.
const scratchAlign = 512

// nowhere is where scratch lies that is only counted: an address that no device has.
const nowhere = 1 << 60

// A room is the scratch memory of one call.
type room struct {
	stage stage
	begun bool // work has been enqueued
	base  uint64
	bytes int64 // that are there, if given
	used  int64
}

// late counts what Late returns.
var late atomic.Int64

// Late returns how many times launch code has asked for memory behind work that it had
// enqueued, without Ahead before: it got a block of its own then. No code of this module does.
func Late() int64 { return late.Load() }

// take returns a part of the room, and whether it had one.
func (r *room) take(bytes int64) (addr uint64, ok bool) {
	switch {
	case r.stage == trying && r.begun:
		late.Add(1)
		return 0, false
	case r.stage == trying:
		r.count()
	case r.stage == given && r.used+bytes > r.bytes:
		return 0, false
	}
	addr = r.base + uint64(r.used)
	r.used += (bytes + scratchAlign - 1) &^ (scratchAlign - 1)
	return addr, true
}

func (r *room) count() { r.stage, r.base = counting, nowhere }

// Ahead has all memory counted before work is enqueued, where no work has been.
func (x *Context) Ahead() {
	if r := &x.room; r.stage == trying && !r.begun {
		r.count()
	}
}

// Repeat calls f n times, or to count once.
func (x *Context) Repeat(n int, f func(i int) error) error {
	r := &x.room
	if r.stage == counting && n > 0 {
		before := r.used
		err := f(0)
		r.used += (r.used - before) * int64(n-1)
		return err
	}
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// Due reports whether work is to be enqueued: not where memory is only counted. Launch
// code asks before each piece.
func (x *Context) Due() bool {
	x.room.begun = x.room.stage != counting
	return x.room.begun
}

// Scratch returns device memory for the work that this call enqueues.
func (x *Context) Scratch(bytes int64) (uint64, error) {
	if bytes <= 0 {
		return 0, nil
	}
	if addr, ok := x.room.take(bytes); ok {
		return addr, nil
	}
	b, err := x.allocate(bytes)
	return b.Addr, err
}

// allocate returns memory that is freed when the call is enqueued.
func (x *Context) allocate(bytes int64) (memory.Block, error) {
	b, err := x.device.memory.Scratch(x.device.dev, x.stream, bytes)
	if err == nil {
		x.blocks = append(x.blocks, b)
	}
	return b, err
}

// again makes the context ready for another run of the same launch code, in memory.
func (x *Context) again(base uint64, bytes int64) {
	x.forget()
	x.room = room{stage: given, base: base, bytes: bytes}
}

// Run enqueues c on stream s. Views are addressed on this device, those of one
// element also in host memory, which is read before Run returns; nothing of c is
// kept. Errors name the kernel and the device.
func (d *Device) Run(s driver.Stream, c *ir.Call) error {
	x := d.context(s, c)
	err := x.run(c)
	if err == nil && x.room.stage == counting {
		err = x.inBlock(c)
	}
	return x.release(err)
}

// inBlock runs c, whose needs were counted, in one block of memory.
func (x *Context) inBlock(c *ir.Call) error {
	var b memory.Block
	if x.room.used > 0 {
		var err error
		if b, err = x.allocate(x.room.used); err != nil {
			return err
		}
	}
	x.again(b.Addr, x.room.used)
	return x.run(c)
}
