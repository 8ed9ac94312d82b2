package cufft

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
)

// MaxRank is how many axes one plan transforms.
const MaxRank = 3

// A Kind is what a transform is between.
type Kind uint8

// The kinds. R2C and C2R have the first half of the complex side's last axis.
const (
	C2C Kind = iota
	R2C
	C2R
)

// A Problem is everything that a plan depends on: a batch of transforms over Rank
// axes with N points each, the slowest first. Embed is the extents of the memory
// that the axes lie in, of which the first does not matter; Stride is between
// neighbours along the last axis, Dist between transforms. All are counted in
// elements of their side.
type Problem struct {
	Kind                Kind
	DType               ir.DType // the complex side's
	Rank                int
	N                   [MaxRank]int64
	InEmbed, OutEmbed   [MaxRank]int64
	InStride, OutStride int64
	InDist, OutDist     int64
	Batch               int64
}

// The library's constants, of its headers cufft.h and library_types.h.
const (
	real32, real64, complex32, complex64 = 0, 1, 4, 5

	directionForward = -1
	directionInverse = 1
)

// types returns the library's cudaDataType of the operand, of the result and of the
// arithmetic.
func (p *Problem) types() (in, out, compute uintptr) {
	re, im := uintptr(real32), uintptr(complex32)
	if p.DType == ir.Complex128 {
		re, im = real64, complex64
	}
	switch p.Kind {
	case R2C:
		return re, im, im
	case C2R:
		return im, re, im
	}
	return im, im, im
}

// A plan is the library's, of one device. Its settings are of one execution at a
// time.
type plan struct {
	lib     *Library
	api     driver.API
	device  int
	handle  uintptr
	work    int64 // bytes to work in
	mu      sync.Mutex
	graphs  int  // executions that are part of graphs, whose launches read the plan's tables
	dropped bool // the cache has no more use for it
}

// key is a Problem as a key of a cache.
type key struct{ Problem }

// Run enqueues the transform p of the operand at in, which C2R overwrites, to the
// result at out, which is in or does not overlap it, with the plan kept in plans.
// Memory to work in is scratch of the call. The error wraps ErrUnsupported where
// the library does not compute p.
func (l *Library) Run(g library.GPU, plans ir.FFTPlans, p *Problem, in, out uint64, inverse bool) error {
	return library.Located(g.Device(), plans.Use(key{*p}, func() (any, error) { return l.plan(g, p) }, func(any any) error {
		return any.(*plan).run(g, in, out, inverse)
	}))
}

// plan makes the plan of p on g's device.
func (l *Library) plan(g library.GPU, p *Problem) (*plan, error) {
	made := &plan{lib: l, api: g.API(), device: g.Device()}
	l.destroyRetired(made.api)
	if err := made.api.Enter(made.device); err != nil {
		return nil, err
	}
	defer made.api.Leave()
	c := dl.Get()
	defer c.Free()
	if err := check("cufftCreate", l.create.Call(c, c.Addr(0))); err != nil {
		return nil, err
	}
	made.handle = uintptr(uint32(c.Words[0]))
	if err := made.configure(c, p); err != nil {
		l.destroy.Call(c, made.handle)
		return nil, err
	}
	return made, nil
}

func (made *plan) configure(c *dl.Frame, p *Problem) error {
	l := made.lib
	if err := check("cufftSetAutoAllocation", l.autoAllocation.Call(c, made.handle, 0)); err != nil {
		return err
	}
	own := new(Problem) // the library reads it
	*own = *p
	at := c.Keep(unsafe.Pointer(own))
	in, out, compute := p.types()
	c.Words[1] = 0
	result := l.makePlan.Call(c, made.handle, uintptr(p.Rank), at+unsafe.Offsetof(own.N),
		at+unsafe.Offsetof(own.InEmbed), uintptr(p.InStride), uintptr(p.InDist), in,
		at+unsafe.Offsetof(own.OutEmbed), uintptr(p.OutStride), uintptr(p.OutDist), out,
		uintptr(p.Batch), c.Addr(1), compute)
	if err := check("cufftXtMakePlanMany", result); err != nil {
		return err
	}
	made.work = int64(c.Words[1])
	return nil
}

// run enqueues an execution.
func (made *plan) run(g library.GPU, in, out uint64, inverse bool) error {
	work, err := g.Scratch(made.work)
	if err != nil || !g.Due() {
		return err
	}
	captured, err := made.api.StreamCaptureStatus(made.device, g.Stream())
	if err != nil {
		return err
	}
	direction := directionForward
	if inverse {
		direction = directionInverse
	}
	if err := made.api.Enter(made.device); err != nil {
		return err
	}
	defer made.api.Leave()
	made.mu.Lock()
	defer made.mu.Unlock()
	if captured != driver.CaptureNone {
		made.graphs++
		// A graph of the program's own says nothing when it goes: the plan stays.
		if into := graph.Current(device.CUDA(made.device)); into != nil {
			into.Keep(made.leaveGraph)
		}
	}
	c := dl.Get()
	defer c.Free()
	l := made.lib
	if err := check("cufftSetStream", l.setStream.Call(c, made.handle, uintptr(g.Stream()))); err != nil {
		return err
	}
	if work != 0 {
		if err := check("cufftSetWorkArea", l.setWorkArea.Call(c, made.handle, uintptr(work))); err != nil {
			return err
		}
	}
	return check("cufftXtExec", l.exec.Call(c, made.handle, uintptr(in), uintptr(out), uintptr(uint32(direction))))
}

// A retired plan waits for its destruction.
type retired struct {
	device int
	handle uintptr
}

// Destroy gives back what the plan holds when its device has done what was given to
// it. One that is part of a graph stays as long as that, and one whose device cannot
// be waited for now is left to a later call.
func (made *plan) Destroy() {
	made.mu.Lock()
	made.dropped = true
	made.retire()
	made.mu.Unlock()
	made.lib.destroyRetired(made.api)
}

// leaveGraph says that a graph is gone. It does not wait for the device.
func (made *plan) leaveGraph() {
	made.mu.Lock()
	defer made.mu.Unlock()
	made.graphs--
	made.retire()
}

// retire leaves the plan's handle to destroyRetired, if nothing uses it any more. The
// caller holds made.mu.
func (made *plan) retire() {
	if !made.dropped || made.graphs > 0 {
		return
	}
	l := made.lib
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	l.retired.list = append(l.retired.list, retired{made.device, made.handle})
}

// destroyRetired destroys the plans that were retired, as far as it can. It holds no
// lock while it waits for devices: leaveGraph must not.
func (l *Library) destroyRetired(api driver.API) {
	l.retired.mu.Lock()
	list := l.retired.list
	l.retired.list = nil
	l.retired.mu.Unlock()
	if len(list) == 0 {
		return
	}
	idle := map[int]bool{}
	var left []retired
	for _, r := range list {
		done, asked := idle[r.device]
		if !asked {
			done = !memory.Capturing(device.CUDA(r.device)) && api.Synchronize(r.device) == nil
			idle[r.device] = done
		}
		if !done || api.Enter(r.device) != nil {
			left = append(left, r)
			continue
		}
		c := dl.Get()
		l.destroy.Call(c, r.handle)
		c.Free()
		api.Leave()
	}
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	l.retired.list = append(l.retired.list, left...)
}
