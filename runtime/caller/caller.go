// Package caller finds the line of the program that called the library, for errors,
// warnings and traces. It knows which code is the library's by its files: this module's
// but for its tests, examples and commands, what the generator writes in other modules,
// and the standard library's.
package caller

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// userPackages are this module's own callers of the library.
var userPackages = [...]string{"examples/", "tests/", "cmd/", "optest/"}

// moduleRoot is the directory of this module in the file names of frames. The
// frames' functions do not tell where they are written: one that is inlined may
// bear the name of its caller's package.
var moduleRoot = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "runtime/caller/caller.go")
}()

// emittedSuffix ends the names of the files that the generator writes in other
// modules.
const emittedSuffix = ".sinter.go"

// Line returns file:line of the nearest frame on the calling goroutine's stack that is not
// the library's own code; "" where there is none.
func Line() string {
	var pcs [64]uintptr
	return lineOf(pcs[:runtime.Callers(2, pcs[:])])
}

// LineOf returns file:line of a frame that Frame found, now or before; "" of 0.
func LineOf(frame uintptr) string {
	if frame == 0 {
		return ""
	}
	return lineOf([]uintptr{frame})
}

// lineOf is Line for the frames that runtime.Callers found.
func lineOf(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.File != "" && !libraryFrame(f) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// standardRoot is what the names of the standard library's files begin with; "" in
// programs that are built with -trimpath.
var standardRoot = func() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(fmt.Sprint).Pointer()).FileLine(reflect.ValueOf(fmt.Sprint).Pointer())
	return strings.TrimSuffix(file, "fmt/print.go")
}()

// modules are the first elements of the paths of the program's modules.
var modules = sync.OnceValue(func() map[string]bool {
	first := map[string]bool{"command-line-arguments": true}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return first
	}
	for _, m := range append(info.Deps, &info.Main) {
		name, _, _ := strings.Cut(m.Path, "/")
		first[name] = true
	}
	return first
})

// standardFrame reports a frame of the standard library, such as of fmt when it prints
// a tensor. With -trimpath file names begin with the path of the package.
func standardFrame(f runtime.Frame) bool {
	if standardRoot != "" {
		return strings.HasPrefix(f.File, standardRoot)
	}
	name, _, _ := strings.Cut(f.File, "/")
	return !strings.Contains(name, ".") && !modules()[name]
}

func libraryFrame(f runtime.Frame) bool {
	if standardFrame(f) || strings.HasSuffix(f.File, emittedSuffix) {
		return true
	}
	rest, inside := strings.CutPrefix(f.File, moduleRoot)
	if !inside || strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	for _, p := range userPackages {
		if strings.HasPrefix(rest, p) {
			return false
		}
	}
	return true
}
