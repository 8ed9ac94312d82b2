// Package nvtx names stretches of time to NVIDIA's tools, by the library that comes with
// CUDA 12 and older. It knows nothing of who looks, or whether anybody does.
package nvtx

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// A Library is the loaded library. Any goroutine may use it.
type Library struct {
	start, end dl.Func
}

// Open loads the library; once a process.
var Open = sync.OnceValues(func() (*Library, error) { return open("libnvToolsExt.so.1") })

func open(name string) (*Library, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, fmt.Errorf("nvtx: %w (package nvidia-nvtx-cu12 has it; LD_LIBRARY_PATH says where)", err)
	}
	l := &Library{}
	for name, f := range map[string]*dl.Func{"nvtxRangeStartA": &l.start, "nvtxRangeEnd": &l.end} {
		if *f, err = lib.Func(name); err != nil {
			return nil, fmt.Errorf("nvtx: %w", err)
		}
	}
	return l, nil
}

// Begin begins a stretch of time and returns what ends it, which any goroutine may call:
// such a range belongs to the process, since goroutines change threads.
func (l *Library) Begin(name string) (end func()) {
	c := dl.Get()
	id := l.start.Call(c, c.CString(name))
	c.Free()
	return func() {
		c := dl.Get()
		defer c.Free()
		l.end.Call(c, id)
	}
}
