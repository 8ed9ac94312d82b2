package core

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/runtime/local"
)

// A Scope releases, when it ends, the tensors its goroutine made in it.
type Scope struct {
	made []*Tensor
	room [8]*Tensor // for the first of made
	kept map[*Tensor]bool
}

var (
	scopes   = local.NewKey[*Scope]()
	gradMode = local.NewKey[bool]()
)

// InScope calls f and then releases every tensor that the calling goroutine
// made meanwhile, but for those given to the scope's Keep. Values that autograd
// or an enclosing object still needs keep their storage. Scopes nest: what is
// kept belongs to the enclosing scope. Only the same goroutine may use s.
func InScope(f func(s *Scope)) {
	if f == nil {
		return
	}
	s := &Scope{}
	s.around(func() { f(s) }, func(t *Tensor) bool { return s.kept[t] })
}

// Composing calls f, which makes the result of a composition, and releases what else
// the calling goroutine made meanwhile. The result belongs to the enclosing scope, if
// f made it.
func Composing(f func() *Tensor) (out *Tensor) {
	defer func() {
		if end := endOf(recover()); end != nil {
			out = failed(end)
		}
	}()
	s := compositions.Get().(*Scope)
	s.around(func() { out = f() }, func(t *Tensor) bool { return t == out })
	unshare(out)
	s.reuse()
	return out
}

// compositions are scopes of compositions that have ended, and refer to nothing.
var compositions = sync.Pool{New: func() any { return new(Scope) }}

// reuse has the next composition take s, which has ended.
func (s *Scope) reuse() {
	s.kept = nil
	clear(s.made)
	s.made = nil
	clear(s.room[:])
	compositions.Put(s)
}

// ComposingAll is Composing for several results. What ended f goes on to Ended.
func ComposingAll(f func() []*Tensor) (outs []*Tensor) {
	s := compositions.Get().(*Scope)
	s.around(func() { outs = f() }, func(t *Tensor) bool { return slices.Contains(outs, t) })
	for _, out := range outs {
		unshare(out)
	}
	s.reuse()
	return outs
}

// around calls f in the scope and ends it, even if f panics.
func (s *Scope) around(f func(), keeps func(t *Tensor) bool) {
	outer, _ := scopes.Get()
	s.made = s.room[:0]
	defer func() {
		for _, t := range s.made {
			if !keeps(t) {
				t.Release()
			} else if outer != nil {
				outer.made = append(outer.made, t)
			}
		}
	}()
	scopes.With(s, f)
}

// Keep excepts tensors from the release at the end of the scope.
func (s *Scope) Keep(ts ...*Tensor) {
	if s.kept == nil {
		s.kept = map[*Tensor]bool{}
	}
	for _, t := range ts {
		s.kept[t] = true
	}
}

// Keep excepts tensors from the release at the end of the goroutine's innermost scope,
// if there is one.
func Keep(ts ...*Tensor) {
	if s, ok := scopes.Get(); ok && s != nil {
		s.Keep(ts...)
	}
}

// ReleaseBut releases what the goroutine's innermost scope, if there is one, was given so far,
// but for t and what was given to Keep.
func ReleaseBut(t *Tensor) {
	s, ok := scopes.Get()
	if !ok || s == nil {
		return
	}
	left := s.made[:0]
	for _, m := range s.made {
		if m == t || s.kept[m] {
			left = append(left, m)
		} else {
			m.Release()
		}
	}
	clear(s.made[len(left):])
	s.made = left
}

// empty releases what was made so far.
func (s *Scope) empty() {
	releaseAll(s.made)
	clear(s.made)
	s.made = s.made[:0]
}

// scopeAdd gives t to the goroutine's innermost scope, if there is one.
func scopeAdd(t *Tensor) {
	if s, ok := scopes.Get(); ok && s != nil {
		s.made = append(s.made, t)
	}
	if r := recorderNow(); r != nil { // which holds a scope
		r.made(t)
	}
}

// OutsideScope calls f such that tensors it makes belong to no scope. It is for
// state that outlives the scope its first use falls in.
func OutsideScope(f func()) {
	if s, ok := scopes.Get(); ok && s != nil {
		scopes.With(nil, f)
		return
	}
	f()
}

// GradEnabled reports whether operators of the calling goroutine are recorded
// for differentiation.
func GradEnabled() bool {
	on, set := gradMode.Get()
	return on || !set
}

// NoGrad calls f with recording switched off for the calling goroutine.
func NoGrad(f func()) { gradMode.With(false, f) }

// EnableGrad calls f with recording switched on for the calling goroutine.
func EnableGrad(f func()) { gradMode.With(true, f) }
