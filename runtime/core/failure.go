package core

import (
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/caller"
)

// Sentinel errors that callers may decide on.
const (
	// ErrZeroTensor is carried by what a zero Tensor value stands for.
	ErrZeroTensor ir.Error = "zero Tensor: it was never given a value"
	// ErrReleased is wrapped when a tensor is used after Release.
	ErrReleased ir.Error = "tensor was released"
	// ErrChanged is wrapped when a value that a gradient needs was changed in place.
	ErrChanged ir.Error = "changed in place"
	// ErrNoGrad is wrapped when a gradient is asked for where there is none.
	ErrNoGrad ir.Error = "no gradient"
	// ErrDType is wrapped when operands have a dtype that cannot be used.
	ErrDType ir.Error = "invalid dtype"
	// ErrOverlap is wrapped when a tensor that would be written shares memory
	// with another operand, or with itself.
	ErrOverlap ir.Error = "overlapping memory"
)

var (
	errAbsent   = fmt.Errorf("%w", ErrZeroTensor)
	errReleased = fmt.Errorf("%w, by Release or by a Scope that ended and was not given it to keep", ErrReleased)
)

// A failure is an error that tensors carry. One that nobody looked at before
// the collector found it is logged.
type failure struct {
	err  error // a *located where the caller is known
	bare error // err without line, and without op's name where op is hidden or a view
	op   *ir.Op
	seen *atomic.Bool
}

// newFailure returns a failure with the line of the caller of the library,
// unless err has a line.
func newFailure(err error) *failure {
	f := &failure{err: at(err), bare: err, seen: new(atomic.Bool)}
	f.watch()
	return f
}

// watch has the failure logged when the collector finds it before anybody
// looked at it.
func (f *failure) watch() {
	type unseen struct {
		text string
		seen *atomic.Bool
	}
	goruntime.AddCleanup(f, func(u unseen) {
		if !u.seen.Load() { // by a goroutine: the program's handler may take its time, or call us
			go slog.Error("sinter: a tensor's error was never looked at", "error", u.text)
		}
	}, unseen{f.err.Error(), f.seen})
}

// report returns the error and marks it as looked at.
func (f *failure) report() error {
	f.seen.Store(true)
	return f.err
}

// A located error names the line of the program that called the library.
type located struct {
	line  string  // file:line; "" where it is looked up when somebody asks
	frame uintptr // the line's, then
	err   error
}

func (l *located) Error() string {
	line := l.line
	if line == "" {
		line = caller.LineOf(l.frame)
	}
	return line + ": " + l.err.Error()
}

func (l *located) Unwrap() error { return l.err }

// At returns err with the line of the caller of the library, unless it has one.
func At(err error) error { return at(err) }

// at returns err with the line of the caller of the library, unless it has one.
func at(err error) error {
	if err == nil || lineOf(err) != nil {
		return err
	}
	if line := caller.Line(); line != "" {
		return &located{line: line, err: err}
	}
	return err
}

// atFrame is at, for an error that hardly anybody reads: the line is looked up by who does.
func atFrame(err error) error {
	if frame := caller.Frame(); frame != 0 {
		return &located{frame: frame, err: err}
	}
	return err
}

// lineOf returns the part of err that names a line, or nil.
func lineOf(err error) *located {
	var l *located
	if errors.As(err, &l) {
		return l
	}
	return nil
}

// failed returns a tensor that carries f.
func failed(f *failure) *Tensor {
	t := new(Tensor)
	t.fail.Store(f)
	return t
}

// Fail returns a tensor that carries err, prefixed by op's name and the line of
// the program that called the library. A composition puts its own name in the place of
// that of a view or of a hidden operator which it is made of.
func Fail(op *ir.Op, err error) *Tensor {
	f := newFailure(fmt.Errorf("%s: %w", op.Name, err))
	if f.op = op; op.Tags&ir.TagHidden != 0 || op.Kind == ir.ViewBody {
		f.bare = err
	}
	return failed(f)
}

// Failed returns a tensor that carries err and the caller's line.
func Failed(err error) *Tensor { return failed(newFailure(err)) }

// Absent returns what a zero public Tensor stands for: a tensor that carries
// ErrZeroTensor.
func Absent() *Tensor { return failed(newFailure(errAbsent)) }

// FirstError returns the first of the given operands that carries an error, as
// a tensor to return in its place, or nil. Errors of later operands count as
// looked at, since the first stands for them. Absent operands (nil) are passed
// over.
func FirstError(in ...*Tensor) *Tensor {
	var first *failure
	for _, t := range in {
		if t == nil {
			continue
		}
		f := t.broken()
		switch {
		case f == nil:
		case first == nil:
			first = f
		case f != first:
			f.seen.Store(true)
		}
	}
	if first == nil {
		return nil
	}
	return failed(first)
}

// Part returns element i of a list that an operator made, or that one was given: where
// there are fewer, as in the list that stands for a failure, the first error in it.
func Part(xs []*Tensor, i int) *Tensor {
	if i >= 0 && i < len(xs) {
		return xs[i]
	}
	if t := FirstError(xs...); t != nil {
		return t
	}
	return Absent()
}

// badOperand is FirstError for the operands of op. An operand that is itself of no use,
// rather than the result of something that failed, is named together with op.
func badOperand(op *ir.Op, in ...*Tensor) *Tensor {
	bad := FirstError(in...)
	if bad == nil {
		return nil
	}
	for i, t := range in {
		switch {
		case t == nil || t.storage != nil && t.fail.Load() == nil:
		case t.fail.Load() != nil:
			return bad
		default:
			f := bad.fail.Load()
			f.seen.Store(true) // the new one takes over
			return Fail(op, misused(op, i, f.bare))
		}
	}
	return bad
}

// misused names the i-th operand of op in an error about it.
func misused(op *ir.Op, i int, err error) error {
	if o := operandOf(op, i); o != nil {
		return fmt.Errorf("operand %s: %w", o.Name, err)
	}
	return err
}

// Composed names op in an error that arose inside a composition: results that
// carry an error which no operand carried have op's name put before it. Hidden
// operators are not named, as no program knows them.
func Composed(op *ir.Op, in []*Tensor, out ...*Tensor) {
	if op.Tags&ir.TagHidden != 0 || FirstError(in...) != nil {
		return
	}
	var named *failure // the first result's stands for all
	for _, t := range out {
		if t == nil || t.storage != nil {
			continue
		}
		f := t.fail.Load()
		if f == nil || f.op != nil && f.op.Name == op.Name { // composite has descriptors of its own
			continue
		}
		if named == nil {
			named = f.within(op)
		}
		f.seen.Store(true)
		t.fail.Store(named)
	}
}

// within returns the failure that stands for f once op, a composition that f
// arose in, is named too.
func (f *failure) within(op *ir.Op) *failure {
	f.seen.Store(true) // the new one takes over
	out := &failure{bare: fmt.Errorf("%s: %w", op.Name, f.bare), op: op, seen: new(atomic.Bool)}
	if l := lineOf(f.err); lineOf(out.bare) == nil && l != nil {
		out.err = &located{l.line, l.frame, out.bare}
	} else {
		out.err = out.bare
	}
	out.watch()
	return out
}
