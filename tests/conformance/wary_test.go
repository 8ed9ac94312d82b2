package conformance_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A wary driver has simulated accelerators that stand for GPUs. It complains, and the
// run fails, where a test does something while it holds a stream for which the driver of a GPU
// may wait until all streams are done: gives device memory back, gets or gives back
// page-locked memory, launches a kernel that was not loaded before.
type wary struct {
	*sim.Driver

	mu         sync.Mutex
	held       int // holds of any stream
	loaded     map[string]bool
	complaints int
}

func newWary() *wary {
	c := simulated
	c.Kind, c.Memory = device.KindCUDA, 64<<30
	return &wary{Driver: sim.New(c), loaded: map[string]bool{}}
}

func (w *wary) Hold(dev int, s device.StreamID) (release func(), err error) {
	letGo, err := w.Driver.Hold(dev, s)
	if err != nil {
		return nil, err
	}
	w.count(1)
	return func() { w.count(-1); letGo() }, nil
}

func (w *wary) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held += n
}

// refuse complains if a stream is held.
func (w *wary) refuse(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held > 0 {
		w.complain(what)
	}
}

// complain says what is wrong and in which test. The lock is held.
func (w *wary) complain(what string) {
	w.complaints++
	var where []string
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasSuffix(f.File, "_test.go") {
			where = append(where, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
	}
	fmt.Printf("%s, while a stream is held, for which a GPU may wait (%s)\n", what, strings.Join(where, " "))
}

func (w *wary) Free(dev int, m device.Memory) error {
	w.refuse(fmt.Sprintf("%d bytes of the device are given back", m.Bytes))
	return w.Driver.Free(dev, m)
}

func (w *wary) AllocHost(bytes int64) (device.Memory, error) {
	w.refuse(fmt.Sprintf("%d bytes are page-locked", bytes))
	return w.Driver.AllocHost(bytes)
}

func (w *wary) FreeHost(m device.Memory) error {
	w.refuse(fmt.Sprintf("%d page-locked bytes are given back", m.Bytes))
	return w.Driver.FreeHost(m)
}

func (w *wary) NewStream(dev, priority int) (device.StreamID, error) {
	w.refuse("a stream is made")
	return w.Driver.NewStream(dev, priority)
}

func (w *wary) EnablePeerAccess(dev, peer int) error {
	w.refuse("a device is made to reach another")
	return w.Driver.EnablePeerAccess(dev, peer)
}

func (w *wary) Launch(dev int, s device.StreamID, c *ir.Call) error {
	key := fmt.Sprint(dev, c.Op.Name)
	for _, x := range c.In {
		key += " " + x.DType.String()
	}
	w.mu.Lock()
	if w.held > 0 && !w.loaded[key] {
		w.complain("a first launch of " + key)
	}
	w.loaded[key] = true
	w.mu.Unlock()
	return w.Driver.Launch(dev, s, c)
}
