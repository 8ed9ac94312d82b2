package caller

import (
	"runtime"
	"strings"
	"sync"
)

// few is how many frames mostly hold one of the program's: to look for more costs as much
// as there are.
const few = 20

// Frames notes in room the frames of the calling goroutine that LineOf needs, but for the
// latest skip ones, and returns them.
func Frames(skip int, room []uintptr) []uintptr {
	if len(room) > few {
		if some := room[:runtime.Callers(skip+2, room[:few])]; len(some) < few || anyProgram(some) {
			return some
		}
	}
	return room[:runtime.Callers(skip+2, room)]
}

// seen is what was found out of code.
var seen struct {
	sync.RWMutex
	program, generated map[uintptr]bool
}

// remembered returns what table says of pc, and asks find where it says nothing.
func remembered(table *map[uintptr]bool, pc uintptr, find func(pc uintptr) bool) bool {
	seen.RLock()
	is, known := (*table)[pc]
	seen.RUnlock()
	if known {
		return is
	}
	is = find(pc)
	seen.Lock()
	defer seen.Unlock()
	if *table == nil {
		*table = map[uintptr]bool{}
	}
	(*table)[pc] = is
	return is
}

// anyProgram reports whether one of the frames is the program's.
func anyProgram(pcs []uintptr) bool {
	for _, pc := range pcs {
		if remembered(&seen.program, pc, func(pc uintptr) bool { return LineOf([]uintptr{pc}) != "" }) {
			return true
		}
	}
	return false
}

// Generated reports whether the code that begins at entry is what the generator writes for
// this module's operators, which calls nothing of the program's.
func Generated(entry uintptr) bool {
	return remembered(&seen.generated, entry, func(entry uintptr) bool {
		f := runtime.FuncForPC(entry)
		if f == nil {
			return false
		}
		file, _ := f.FileLine(entry)
		return strings.HasPrefix(file, moduleRoot+"generated/ops/")
	})
}
