package caller

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

const (
	// far is how many frames, with inlined ones, are looked through for one of the program's.
	far = 40
	// longest is how many return addresses a stack is told by. It is more than far, since a
	// frame may count for none of those: then two stacks that are told alike have the same
	// frames as far as Frame looks.
	longest = 64
	// mostStacks is how many stacks are remembered at most.
	mostStacks = 1 << 12
)

// A table remembers what was found out of code.
type table[K comparable, V any] struct {
	sync.RWMutex
	of map[K]V
}

var (
	stacks    table[string, uintptr] // by return addresses: the program's frame
	generated table[uintptr, bool]   // by entry
)

// keep remembers v of k, and forgets all else where there is too much.
func (t *table[K, V]) keep(k K, v V) {
	t.Lock()
	defer t.Unlock()
	if t.of == nil || len(t.of) >= mostStacks {
		t.of = map[K]V{}
	}
	t.of[k] = v
}

// Frame returns the nearest frame on the calling goroutine's stack that is not the library's
// own code, for LineOf; 0 where there is none within far frames. A stack that was seen before
// costs a fraction of a microsecond.
func Frame() uintptr {
	var room [longest]uintptr
	n := chain(&room[0], len(room))
	key := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), n*int(unsafe.Sizeof(room[0])))
	if n > 0 {
		stacks.RLock()
		pc, known := stacks.of[string(key)]
		stacks.RUnlock()
		if known {
			return pc
		}
	}
	pc := programFrame()
	if n > 0 {
		stacks.keep(string(key), pc)
	}
	return pc
}

// programFrame is Frame for a stack that was not seen before.
func programFrame() uintptr {
	var pcs [far]uintptr
	for _, pc := range pcs[:runtime.Callers(3, pcs[:])] {
		if LineOf(pc) != "" {
			return pc
		}
	}
	return 0
}

// Generated reports whether the code that begins at entry is what the generator writes for
// this module's operators, or of the compositions that these are handed to, which call nothing
// of the program's.
func Generated(entry uintptr) bool {
	generated.RLock()
	is, known := generated.of[entry]
	generated.RUnlock()
	if known {
		return is
	}
	if f := runtime.FuncForPC(entry); f != nil {
		file, _ := f.FileLine(entry)
		is = strings.HasPrefix(file, moduleRoot+"generated/ops/") || strings.HasPrefix(file, moduleRoot+"runtime/composite/")
	}
	generated.keep(entry, is)
	return is
}
