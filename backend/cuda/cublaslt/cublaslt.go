// Package cublaslt multiplies matrices with NVIDIA's cuBLASLt, which it opens on
// first use. It recognises transposed operands by their strides, asks the
// library's heuristics once for each problem, and makes one call for a product
// that it has seen before. It knows nothing of operators.
//
// Which algorithm runs depends on the problem alone (shapes, strides, dtype,
// alignment, flags), so equal calls give equal bits.
package cublaslt

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// ErrUnsupported is wrapped by errors of products the library has no algorithm
// for. Nothing was enqueued.
var ErrUnsupported = errors.New("cuBLASLt does not compute this")

// functions are the library's that are called.
type functions struct {
	create, statusName                                 dl.Func
	descInit, descSet, layoutInit, layoutSet           dl.Func
	preferenceCreate, preferenceDestroy, preferenceSet dl.Func
	heuristic, matmul                                  dl.Func
}

var process = sync.OnceValues(func() (*functions, error) {
	lib, err := library.Open(library.CUBLASLt)
	if err != nil {
		return nil, err
	}
	return resolve(lib)
})

func resolve(lib *dl.Library) (*functions, error) {
	f := new(functions)
	for _, s := range []struct {
		f    *dl.Func
		name string
	}{
		{&f.create, "cublasLtCreate"}, {&f.statusName, "cublasLtGetStatusName"},
		{&f.descInit, "cublasLtMatmulDescInit_internal"}, {&f.descSet, "cublasLtMatmulDescSetAttribute"},
		{&f.layoutInit, "cublasLtMatrixLayoutInit_internal"}, {&f.layoutSet, "cublasLtMatrixLayoutSetAttribute"},
		{&f.preferenceCreate, "cublasLtMatmulPreferenceCreate"}, {&f.preferenceDestroy, "cublasLtMatmulPreferenceDestroy"},
		{&f.preferenceSet, "cublasLtMatmulPreferenceSetAttribute"},
		{&f.heuristic, "cublasLtMatmulAlgoGetHeuristic"}, {&f.matmul, "cublasLtMatmul"},
	} {
		var err error
		if *s.f, err = lib.Func(s.name); err != nil {
			return nil, fmt.Errorf("%w: cuBLASLt: %w", library.ErrUnusable, err)
		}
	}
	return f, nil
}

// A status is the library's cublasStatus_t.
type status int32

const (
	statusSuccess      status = 0
	statusInvalidValue status = 7
	statusArchMismatch status = 8
	statusNotSupported status = 15
)

// check returns nil for success. The error of a problem the library does not take
// wraps ErrUnsupported.
func (f *functions) check(call string, result uintptr) error {
	s := status(int32(result))
	if s == statusSuccess {
		return nil
	}
	c := dl.Get()
	defer c.Free()
	// The name is the library's constant: its address is not of Go memory.
	c.Words[0] = f.statusName.Call(c, uintptr(uint32(s)))
	err := fmt.Errorf("%s: %s (%d)", call, dl.GoString(c.Pointer(0)), s)
	switch s {
	case statusInvalidValue, statusArchMismatch, statusNotSupported:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// A device is the library's state for one device: its handle, which any threads
// may use, and the problems prepared so far.
type device struct {
	*functions
	api     driver.API
	ordinal int
	handle  uintptr

	workspaces workspaces

	mu       sync.RWMutex
	prepared map[key]*prepared
}

// maxPrepared bounds the prepared problems that are kept. When there are more, all go: a program
// whose shapes never repeat gains nothing from any of them.
const maxPrepared = 4096

var devices struct {
	mu   sync.RWMutex
	list []*device // by ordinal; nil where not used so far
}

// deviceOf returns the state of device dev, which the first call makes.
func deviceOf(api driver.API, dev int) (*device, error) {
	devices.mu.RLock()
	var d *device
	if dev < len(devices.list) {
		d = devices.list[dev]
	}
	devices.mu.RUnlock()
	if d != nil {
		return d, nil
	}
	return newDevice(api, dev)
}

func newDevice(api driver.API, dev int) (*device, error) {
	f, err := process()
	if err != nil {
		return nil, err
	}
	devices.mu.Lock()
	defer devices.mu.Unlock()
	for len(devices.list) <= dev {
		devices.list = append(devices.list, nil)
	}
	if d := devices.list[dev]; d != nil {
		return d, nil
	}
	d, err := f.open(api, dev)
	if err != nil {
		return nil, fmt.Errorf("%w: cuBLASLt on cuda:%d: %w", library.ErrUnusable, dev, err)
	}
	devices.list[dev] = d
	return d, nil
}

// open makes the state of a device.
func (f *functions) open(api driver.API, dev int) (*device, error) {
	if err := api.Enter(dev); err != nil {
		return nil, err
	}
	defer api.Leave()
	c := dl.Get()
	defer c.Free()
	if err := f.check("cublasLtCreate", f.create.Call(c, c.Addr(0))); err != nil {
		return nil, err
	}
	return &device{functions: f, api: api, ordinal: dev, handle: c.Words[0], prepared: map[key]*prepared{}}, nil
}

// find returns a problem prepared, and prepares it where there is none. That the
// library does not take a problem is kept as well; other errors may pass.
func (d *device) find(k *key) *prepared {
	d.mu.RLock()
	p := d.prepared[*k]
	d.mu.RUnlock()
	if p != nil {
		return p
	}
	p = &prepared{call: newCall()}
	if p.err = d.make(p, k); p.err != nil && !errors.Is(p.err, ErrUnsupported) {
		return p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if made := d.prepared[*k]; made != nil {
		return made
	}
	if len(d.prepared) >= maxPrepared {
		clear(d.prepared)
	}
	d.prepared[*k] = p
	return p
}
