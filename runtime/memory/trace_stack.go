package memory

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A stack is where a goroutine was, innermost call first. Equal stacks are one
// value, which is kept for the life of the process.
type stack struct {
	pcs  []uintptr
	once sync.Once
	list []Frame
}

// stackDepth is how many calls a stack has at most.
const stackDepth = 64

// stacks has every stack that was recorded.
var stacks struct {
	mu  sync.Mutex
	all map[[stackDepth]uintptr]*stack
}

// callers returns the caller's stack.
func callers() *stack {
	var pcs [stackDepth]uintptr
	n := runtime.Callers(2, pcs[:])
	stacks.mu.Lock()
	defer stacks.mu.Unlock()
	s := stacks.all[pcs]
	if s == nil {
		if stacks.all == nil {
			stacks.all = map[[stackDepth]uintptr]*stack{}
		}
		s = &stack{pcs: slices.Clone(pcs[:n])}
		stacks.all[pcs] = s
	}
	return s
}

// A Frame is one call of a Go stack.
type Frame struct {
	Function string // with its package's path
	File     string
	Line     int
}

func (f Frame) compare(g Frame) int {
	return cmp.Or(cmp.Compare(f.Function, g.Function), cmp.Compare(f.File, g.File), cmp.Compare(f.Line, g.Line))
}

// frames returns the calls, without those inside this package, which nobody may
// change. A nil stack has none.
func (s *stack) frames() []Frame {
	if s == nil {
		return nil
	}
	s.once.Do(s.resolve)
	return s.list
}

func (s *stack) resolve() {
	for it := runtime.CallersFrames(s.pcs); ; {
		f, more := it.Next()
		if f.Function != "" && (len(s.list) > 0 || !strings.HasPrefix(f.Function, allocatorPackage)) {
			s.list = append(s.list, Frame{f.Function, f.File, f.Line})
		}
		if !more {
			return
		}
	}
}

// allocatorPackage is what the full names of this package's functions begin with.
const allocatorPackage = "github.com/sinter-go/sinter/runtime/memory."
