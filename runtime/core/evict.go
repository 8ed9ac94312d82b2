package core

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/memory"
)

// ErrAway is wrapped when a tensor is used whose memory was given back by Evict.
const ErrAway ir.Error = "the tensor's elements are away"

// errAway is the error of a tensor whose storage has no memory.
var errAway = fmt.Errorf("%w: its memory was given back for a while, as that of parameters which several ranks keep a part of each", ErrAway)

// nowhere is the epoch of a storage without memory: no handle has it, so that the short ways
// of operators, which compare epochs, are not taken.
const nowhere = math.MinInt64

// Evict gives back the memory of t's elements, in the order of the stream that they were
// allocated on, while all handles and saved values stay: until Restore, using one of them is
// an error. The caller orders it with all uses.
func (t *Tensor) Evict() error {
	if err := t.Err(); err != nil {
		return err
	}
	s := t.storage
	if s.virtual || !s.held {
		return at(fmt.Errorf("evict: the memory of a tensor of %d bytes on %s is not the library's", s.bytes, t.dev))
	}
	b := s.block
	s.away, s.before = true, s.epoch.Load()
	s.kept.Store(nil)
	s.epoch.Store(nowhere)
	s.block, s.held = memory.Block{}, false
	return b.Free()
}

// Restore gives t's elements memory again, and has fill write all of them. Same says that they
// are what they were when they were evicted: then values saved before count as unchanged.
func (t *Tensor) Restore(same bool, fill func() error) error {
	if t == nil || t.storage == nil || !t.storage.away {
		return at(fmt.Errorf("restore: the tensor was not evicted"))
	}
	s := t.storage
	b, err := memory.Alloc(t.dev, s.drv, current(t.dev), s.bytes)
	if err != nil {
		return at(fmt.Errorf("restore: %w", err))
	}
	s.block, s.held, s.away = b, true, false
	s.epoch.Store(s.before)
	version := s.version.Load()
	if err := fill(); err != nil {
		return err
	}
	if same {
		s.version.Store(version)
	}
	return nil
}

// Away reports whether t's elements are evicted.
func (t *Tensor) Away() bool { return t != nil && t.storage != nil && t.storage.away }
