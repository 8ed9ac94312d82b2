// Package cudnn convolves with NVIDIA's cuDNN, which it opens on first use. It
// asks the library's heuristics once for each problem and prefers algorithms
// that give equal bits for equal calls. It knows nothing of operators.
package cudnn

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// ErrUnsupported is wrapped by errors of convolutions the library has no algorithm
// for. Nothing that counts was enqueued.
var ErrUnsupported = errors.New("cuDNN does not compute this")

// A Direction says which of a convolution's tensors is computed from the other two.
type Direction uint8

// The directions.
const (
	Forward    Direction = iota // y of x and weight
	GradInput                   // x of weight and y
	GradWeight                  // weight of x and y
	directions
)

// routines are the library's functions of one direction. All take their operands
// in the same order: two inputs and, later, the result.
type routines struct {
	heuristic, workspace, run dl.Func
	name                      string // of run
}

// functions are the library's that are called.
type functions struct {
	create, errorString, setStream                         dl.Func
	tensorCreate, tensorSet, tensorDestroy                 dl.Func
	filterCreate, filterSet, filterDestroy                 dl.Func
	convCreate, convSet, convGroups, convMath, convDestroy dl.Func
	actCreate, actSet, actDestroy                          dl.Func
	fused                                                  dl.Func // forward, with a bias and what follows
	of                                                     [directions]routines
}

var process = sync.OnceValues(func() (*functions, error) {
	// cuDNN opens these by name, and finds them where they are open already: an
	// error is told by whatever needs them.
	for _, n := range []library.Name{library.CUBLASLt, library.NVRTC} {
		_, _ = library.Open(n)
	}
	lib, err := library.Open(library.CUDNN)
	if err != nil {
		return nil, err
	}
	return resolve(lib)
})

// Available reports whether the library is there.
func Available() bool {
	_, err := process()
	return err == nil
}

func resolve(lib *dl.Library) (*functions, error) {
	f := new(functions)
	of := &f.of
	for d, middle := range [directions]string{"Forward", "BackwardData", "BackwardFilter"} {
		of[d].name = "cudnnConvolution" + middle
	}
	for _, s := range []struct {
		f    *dl.Func
		name string
	}{
		{&f.create, "cudnnCreate"}, {&f.errorString, "cudnnGetErrorString"}, {&f.setStream, "cudnnSetStream"},
		{&f.tensorCreate, "cudnnCreateTensorDescriptor"}, {&f.tensorSet, "cudnnSetTensorNdDescriptor"},
		{&f.tensorDestroy, "cudnnDestroyTensorDescriptor"},
		{&f.filterCreate, "cudnnCreateFilterDescriptor"}, {&f.filterSet, "cudnnSetFilterNdDescriptor"},
		{&f.filterDestroy, "cudnnDestroyFilterDescriptor"},
		{&f.convCreate, "cudnnCreateConvolutionDescriptor"}, {&f.convSet, "cudnnSetConvolutionNdDescriptor"},
		{&f.convGroups, "cudnnSetConvolutionGroupCount"}, {&f.convMath, "cudnnSetConvolutionMathType"},
		{&f.convDestroy, "cudnnDestroyConvolutionDescriptor"},
		{&f.actCreate, "cudnnCreateActivationDescriptor"}, {&f.actSet, "cudnnSetActivationDescriptor"},
		{&f.actDestroy, "cudnnDestroyActivationDescriptor"}, {&f.fused, "cudnnConvolutionBiasActivationForward"},
		{&of[Forward].heuristic, "cudnnGetConvolutionForwardAlgorithm_v7"},
		{&of[GradInput].heuristic, "cudnnGetConvolutionBackwardDataAlgorithm_v7"},
		{&of[GradWeight].heuristic, "cudnnGetConvolutionBackwardFilterAlgorithm_v7"},
		{&of[Forward].workspace, "cudnnGetConvolutionForwardWorkspaceSize"},
		{&of[GradInput].workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize"},
		{&of[GradWeight].workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize"},
		{&of[Forward].run, of[Forward].name},
		{&of[GradInput].run, of[GradInput].name},
		{&of[GradWeight].run, of[GradWeight].name},
	} {
		var err error
		if *s.f, err = lib.Func(s.name); err != nil {
			return nil, fmt.Errorf("%w: cuDNN: %w", library.ErrUnusable, err)
		}
	}
	return f, nil
}

// The library's cudnnStatus_t, by thousands: 1000 is of the installation, 2000 and
// 3000 of the arguments, 4000 of the library, 5000 of the device.
const (
	statusSuccess   = 0
	statusArguments = 2000
	statusDevice    = 5000
)

// check returns nil for success. The error wraps library.ErrUnusable where the
// installation does not work, and ErrUnsupported where another way may.
func (f *functions) check(call string, result uintptr) error {
	s := int32(result)
	if s == statusSuccess {
		return nil
	}
	c := dl.Get()
	defer c.Free()
	// The text is the library's constant: its address is not of Go memory.
	c.Words[0] = f.errorString.Call(c, uintptr(uint32(s)))
	err := fmt.Errorf("%s: %s (%d)", call, dl.GoString(c.Pointer(0)), s)
	switch {
	case s < statusArguments:
		return fmt.Errorf("%w: cuDNN: %w", library.ErrUnusable, err)
	case s < statusDevice:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// A device is the library's state for one device.
type device struct {
	*functions
	api     driver.API
	ordinal int
	handles handles

	mu       sync.Mutex
	prepared map[key]*prepared

	unused struct {
		mu   sync.Mutex // held for an append or a swap alone
		list []descriptors
	}
}

func newDevice(f *functions, api driver.API, ordinal int) *device {
	d := &device{functions: f, api: api, ordinal: ordinal, prepared: map[key]*prepared{}}
	d.handles.init()
	return d
}

// maxPrepared bounds the prepared problems that are kept. When there are more, all go.
const maxPrepared = 1024

var devices struct {
	mu   sync.Mutex
	list []*device // by ordinal; nil where not used so far
}

// deviceOf returns the state of device dev, which the first call makes.
func deviceOf(api driver.API, dev int) (*device, error) {
	f, err := process()
	if err != nil {
		return nil, err
	}
	devices.mu.Lock()
	defer devices.mu.Unlock()
	for len(devices.list) <= dev {
		devices.list = append(devices.list, nil)
	}
	if devices.list[dev] == nil {
		devices.list[dev] = newDevice(f, api, dev)
	}
	return devices.list[dev], nil
}

// find returns a problem prepared, and prepares it for stream s where there is none.
// That the library does not take a problem is kept as well; other errors may pass.
// The device is entered.
func (d *device) find(s driver.Stream, k *key) *prepared {
	d.mu.Lock()
	p := d.prepared[*k]
	d.mu.Unlock()
	if p != nil {
		return p
	}
	d.destroyUnused()
	p = new(prepared)
	own := *k // the library reads it: k stays on its stack
	p.err = d.with(s, func(h uintptr) error { return d.make(h, p, &own) })
	runtime.AddCleanup(p, d.drop, p.descriptors)
	if p.err != nil && !errors.Is(p.err, ErrUnsupported) {
		return p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.prepared) >= maxPrepared {
		clear(d.prepared)
	}
	d.prepared[own] = p
	return p
}
