package driver

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// binding is the API over a library opened at run time.
type binding struct {
	lib     *dl.Library
	fn      [symbols]dl.Func
	version int
	devices []deviceState
}

// deviceState is a device and its primary context, 0 while it is not held.
type deviceState struct {
	handle  uintptr
	context atomic.Uintptr
	mu      sync.Mutex // held to retain and to release
}

var _ API = (*binding)(nil)

func (b *binding) resolve(s symbol) error {
	var err error
	b.fn[s], err = b.lib.Func(exported[s])
	return err
}

// call calls s. Results are 32 bits wide; the rest of the register is anything.
func (b *binding) call(s symbol, c *dl.Frame, args ...uintptr) Code {
	return Code(int32(b.fn[s].Call(c, args...)))
}

// directFrame makes a call that needs no context, about a device or -1.
func (b *binding) directFrame(s symbol, dev int, c *dl.Frame, args ...uintptr) error {
	return b.failure(s, dev, b.call(s, c, args...))
}

// direct is directFrame for calls that write nothing.
func (b *binding) direct(s symbol, dev int, args ...uintptr) error {
	c := dl.Get()
	err := b.directFrame(s, dev, c, args...)
	c.Free()
	return err
}

// enter makes a call with dev's primary context current and returns its code. The
// context is made current right before, on the same thread, whose current context
// is never relied upon otherwise. The error is that of making it current.
func (b *binding) enter(s symbol, dev int, c *dl.Frame, args ...uintptr) (Code, error) {
	context, err := b.PrimaryContext(dev)
	if err != nil {
		return Success, err
	}
	code, made := b.fn[s].CallAfter(c, b.fn[cuCtxSetCurrent], uintptr(context), args...)
	if !made {
		return Success, b.failure(cuCtxSetCurrent, dev, Code(int32(code)))
	}
	return Code(int32(code)), nil
}

// onFrame makes a call with dev's primary context current.
func (b *binding) onFrame(s symbol, dev int, c *dl.Frame, args ...uintptr) error {
	code, err := b.enter(s, dev, c, args...)
	if err != nil {
		return err
	}
	return b.failure(s, dev, code)
}

// on is onFrame for calls that write nothing.
func (b *binding) on(s symbol, dev int, args ...uintptr) error {
	c := dl.Get()
	err := b.onFrame(s, dev, c, args...)
	c.Free()
	return err
}

// ready makes a call that answers with Success or NotReady.
func (b *binding) ready(s symbol, dev int, args ...uintptr) (bool, error) {
	c := dl.Get()
	code, err := b.enter(s, dev, c, args...)
	c.Free()
	if err != nil || code == NotReady {
		return false, err
	}
	return code == Success, b.failure(s, dev, code)
}

// failure returns nil for Success. It is small, so that the calls that succeed
// pay for a comparison.
func (b *binding) failure(s symbol, dev int, code Code) error {
	if code == Success {
		return nil
	}
	return b.newError(s, dev, code)
}

func (b *binding) newError(s symbol, dev int, code Code) error {
	return &Error{Call: s.name(), Device: dev, Code: code, Name: b.ErrorName(code), Text: b.ErrorText(code)}
}

// refuse is the error of a call that was not made.
func (b *binding) refuse(s symbol, dev int, code Code, format string, args ...any) error {
	return detailed(b.newError(s, dev, code), format, args...)
}

func (b *binding) ErrorName(code Code) string { return b.errorString(cuGetErrorName, code) }

func (b *binding) ErrorText(code Code) string { return b.errorString(cuGetErrorString, code) }

// errorString answers for codes the driver does not know, too.
func (b *binding) errorString(s symbol, code Code) string {
	c := dl.Get()
	defer c.Free()
	if b.call(s, c, uintptr(code), c.Addr(0)) != Success {
		return fmt.Sprintf("unknown error %d", int32(code))
	}
	return dl.GoString(c.Pointer(0))
}
