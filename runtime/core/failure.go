package core

import (
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// Sentinel errors that callers may decide on.
var (
	// ErrZeroTensor is carried by what a zero Tensor value stands for.
	ErrZeroTensor = errors.New("zero Tensor: it was never given a value")
	// ErrReleased is wrapped when a tensor is used after Release.
	ErrReleased = errors.New("tensor was released")
	// ErrChanged is wrapped when a value that a gradient needs was changed in place.
	ErrChanged = errors.New("changed in place")
	// ErrNoGrad is wrapped when a gradient is asked for where there is none.
	ErrNoGrad = errors.New("no gradient")
	// ErrDType is wrapped when operands have a dtype that cannot be used.
	ErrDType = errors.New("invalid dtype")
	// ErrOverlap is wrapped when a tensor that would be written shares memory
	// with another operand, or with itself.
	ErrOverlap = errors.New("overlapping memory")
)

var (
	errAbsent   = fmt.Errorf("%w", ErrZeroTensor)
	errReleased = fmt.Errorf("%w", ErrReleased)
)

// A failure is an error that tensors carry. One that nobody looked at before
// the collector found it is logged.
type failure struct {
	err    error
	caller string // file:line of the first frame outside this module
	seen   *atomic.Bool
}

// newFailure returns a failure with the line of the caller of the library.
func newFailure(err error) *failure {
	f := &failure{err: err, caller: callerOutside(), seen: new(atomic.Bool)}
	type unseen struct {
		text string
		seen *atomic.Bool
	}
	goruntime.AddCleanup(f, func(u unseen) {
		if !u.seen.Load() {
			slog.Error("sinter: a tensor's error was never looked at", "error", u.text)
		}
	}, unseen{f.text(), f.seen})
	return f
}

func (f *failure) text() string {
	if f.caller == "" {
		return f.err.Error()
	}
	return f.caller + ": " + f.err.Error()
}

// report returns the error and marks it as looked at.
func (f *failure) report() error {
	f.seen.Store(true)
	if f.caller == "" {
		return f.err
	}
	return fmt.Errorf("%s: %w", f.caller, f.err)
}

// modulePath prefixes the packages whose frames are not the user's.
const modulePath = "github.com/sinter-go/sinter/"

// userPackages are this module's own callers of the library.
var userPackages = [...]string{"examples/", "tests", "cmd/", "optest"}

// callerOutside returns file:line of the nearest frame that is not the
// library's own code. Tests and examples of this module count as outside, and
// so does everything in other modules but what this generator emitted there.
func callerOutside() string {
	var pcs [64]uintptr
	frames := goruntime.CallersFrames(pcs[:goruntime.Callers(3, pcs[:])])
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

func libraryFrame(f goruntime.Frame) bool {
	if strings.HasPrefix(f.Function, "runtime.") {
		return true
	}
	rest, inside := strings.CutPrefix(f.Function, modulePath)
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

// failed returns a tensor that carries f.
func failed(f *failure) *Tensor { return &Tensor{fail: f} }

// Fail returns a tensor that carries err, prefixed by op's name and the line of
// the program that called the library.
func Fail(op *ir.Op, err error) *Tensor {
	return failed(newFailure(fmt.Errorf("%s: %w", op.Name, err)))
}

// Failed returns a tensor that carries err and the caller's line.
func Failed(err error) *Tensor { return failed(newFailure(err)) }

// Absent returns what a zero public Tensor stands for: a tensor that carries
// ErrZeroTensor.
func Absent() *Tensor { return failed(newFailure(errAbsent)) }

// FirstError returns the first of the given operands that carries an error, as
// a tensor to return in its place, or nil. Absent operands (nil) are passed over.
func FirstError(in ...*Tensor) *Tensor {
	for _, t := range in {
		if t == nil {
			continue
		}
		if f := t.broken(); f != nil {
			return failed(f)
		}
	}
	return nil
}

// Composed names op in an error that arose inside a composition: results that
// carry an error which no operand carried have op's name put before it.
func Composed(op *ir.Op, in []*Tensor, out ...*Tensor) {
	if FirstError(in...) != nil {
		return
	}
	for _, t := range out {
		if t == nil || t.fail == nil || strings.HasPrefix(t.fail.err.Error(), op.Name+": ") {
			continue
		}
		inner := t.fail
		inner.seen.Store(true) // the outer failure takes over
		t.fail = newFailure(fmt.Errorf("%s: %w", op.Name, inner.err))
		t.fail.caller = inner.caller
	}
}
