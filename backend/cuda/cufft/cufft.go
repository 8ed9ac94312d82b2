// Package cufft transforms with NVIDIA's cuFFT, which it opens on first use: one
// call is one plan, executed. Plans are kept where the caller says. It knows nothing
// of operators, and multiplies by nothing.
package cufft

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// ErrUnsupported is wrapped by errors of transforms the library does not compute.
// Nothing was enqueued.
var ErrUnsupported = errors.New("cuFFT does not compute this")

// functions are the library's that are called.
type functions struct {
	create, destroy, autoAllocation, makePlan dl.Func
	setStream, setWorkArea, exec              dl.Func
}

var process = sync.OnceValues(func() (*Library, error) {
	lib, err := library.Open(library.CUFFT)
	if err != nil {
		return nil, err
	}
	return Resolve(lib)
})

// A Library is cuFFT, or another of its interface.
type Library struct {
	functions
	retired struct {
		mu   sync.Mutex // held for an append or a swap alone
		list []retired
	}
}

// Open returns the library of this process, which the first call looks for. The
// error wraps library.ErrUnusable.
func Open() (*Library, error) { return process() }

// Resolve finds the functions of a library that is open.
func Resolve(lib *dl.Library) (*Library, error) {
	l := new(Library)
	for _, s := range []struct {
		f    *dl.Func
		name string
	}{
		{&l.create, "cufftCreate"}, {&l.destroy, "cufftDestroy"}, {&l.autoAllocation, "cufftSetAutoAllocation"},
		{&l.makePlan, "cufftXtMakePlanMany"}, {&l.setStream, "cufftSetStream"}, {&l.setWorkArea, "cufftSetWorkArea"},
		{&l.exec, "cufftXtExec"},
	} {
		var err error
		if *s.f, err = lib.Func(s.name); err != nil {
			return nil, fmt.Errorf("%w: cuFFT: %w", library.ErrUnusable, err)
		}
	}
	return l, nil
}

// A status is the library's cufftResult.
type status int32

const (
	statusAllocFailed  status = 2
	statusInvalidType  status = 3
	statusInvalidValue status = 4
	statusSetupFailed  status = 7
	statusInvalidSize  status = 8
	statusUnaligned    status = 9
	statusNoPlan       status = 14 // NOT_IMPLEMENTED
	statusNotSupported status = 16
)

var statusNames = [...]string{
	1: "CUFFT_INVALID_PLAN", statusAllocFailed: "CUFFT_ALLOC_FAILED", statusInvalidType: "CUFFT_INVALID_TYPE",
	statusInvalidValue: "CUFFT_INVALID_VALUE", 5: "CUFFT_INTERNAL_ERROR", 6: "CUFFT_EXEC_FAILED",
	statusSetupFailed: "CUFFT_SETUP_FAILED", statusInvalidSize: "CUFFT_INVALID_SIZE", statusUnaligned: "CUFFT_UNALIGNED_DATA",
	11: "CUFFT_INVALID_DEVICE", 13: "CUFFT_NO_WORKSPACE", statusNoPlan: "CUFFT_NOT_IMPLEMENTED",
	statusNotSupported: "CUFFT_NOT_SUPPORTED", 17: "CUFFT_MISSING_DEPENDENCY", 18: "CUFFT_NVRTC_FAILURE", 19: "CUFFT_NVJITLINK_FAILURE",
}

// check returns nil for success. The error of a transform that the library does not
// take wraps ErrUnsupported, that of a library which does not work here
// library.ErrUnusable, and that of memory which is not there driver.OutOfMemory.
func check(call string, result uintptr) error {
	s := status(int32(result))
	if s == 0 {
		return nil
	}
	name := "error"
	if uint(s) < uint(len(statusNames)) && statusNames[s] != "" {
		name = statusNames[s]
	}
	err := fmt.Errorf("%s: %s (%d)", call, name, s)
	switch s {
	case statusAllocFailed:
		return fmt.Errorf("%w: %w", driver.OutOfMemory, err)
	case statusSetupFailed:
		return fmt.Errorf("%w: cuFFT: %w", library.ErrUnusable, err)
	case statusInvalidType, statusInvalidValue, statusInvalidSize, statusUnaligned, statusNoPlan, statusNotSupported:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}
