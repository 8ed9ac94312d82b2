package caller_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/runtime/caller"
)

// here returns the line of who calls it, as the Go runtime has it.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line)
}

// small is inlined, and then a frame of its own nevertheless.
func small() (string, uintptr) { return here(), caller.Frame() }

func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// TestFrame: the frame is that of the nearest line which is the program's, at each place and
// depth, the first time and when the stack is known.
func TestFrame(t *testing.T) {
	check := func(want string, frame uintptr) {
		t.Helper()
		if got := caller.LineOf(frame); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	work := func() {
		for n := range 100 {
			deep(n, func() {
				check(here(), caller.Frame())
				check(small())
			})
		}
		for _, f := range []func() (string, uintptr){
			func() (string, uintptr) { return here(), caller.Frame() },
			small,
			func() (s string, at uintptr) {
				defer func() { _, s, at = recover(), here(), caller.Frame() }()
				panic("caught")
			},
			func() (s string, at uintptr) {
				var once sync.Once
				once.Do(func() { s, at = here(), caller.Frame() })
				return s, at
			},
		} {
			for range 3 {
				check(f())
			}
		}
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 3 {
				work()
				runtime.GC() // which makes stacks smaller
			}
		})
	}
	wait.Wait()
}

// TestFrameFar: where the program's frame lies far behind the library's, or there is none.
func TestFrameFar(t *testing.T) {
	if at := caller.LineOf(0); at != "" {
		t.Errorf("no frame is at %q", at)
	}
	var at string
	_ = strings.Map(func(r rune) rune { at = caller.LineOf(caller.Frame()); return r }, "x") // through the standard library
	if !strings.Contains(at, "frames_test.go:") {
		t.Errorf("called back by the standard library at %q", at)
	}
}

// BenchmarkFrame is what a recorded call pays for its line.
func BenchmarkFrame(b *testing.B) {
	deep(12, func() {
		for b.Loop() {
			caller.Frame()
		}
	})
}
