// Package local gives values that belong to the calling goroutine for the
// duration of a call: the current device, the current stream, whether operators
// are recorded. It knows nothing of what the values mean.
package local

import (
	"sync"
	"sync/atomic"
)

// shards spreads goroutines over locks, so that thousands may be in scopes.
const shards = 64

// A Key names one value that goroutines may hold. Keys are made once, for the
// life of the process.
type Key[T any] struct {
	active atomic.Int64 // scopes open anywhere in the process
	shard  [shards]shard[T]
}

type shard[T any] struct {
	mu     sync.RWMutex
	values map[uintptr]T
	_      [32]byte // keeps neighbours' locks off this cache line
}

// NewKey returns a new key that no goroutine holds a value of.
func NewKey[T any]() *Key[T] { return new(Key[T]) }

func (k *Key[T]) of(id uintptr) *shard[T] {
	return &k.shard[(id>>5^id>>11)%shards]
}

// Get returns the calling goroutine's value. It costs one atomic load while no
// goroutine holds a value of k. Goroutines do not inherit values.
func (k *Key[T]) Get() (v T, ok bool) {
	if k.active.Load() == 0 {
		return v, false
	}
	id := goroutine()
	s := k.of(id)
	s.mu.RLock()
	v, ok = s.values[id]
	s.mu.RUnlock()
	return v, ok
}

// With calls f while the calling goroutine holds v. The value it held before is
// back when f returns, panics or ends the goroutine. A goroutine's identity
// cannot be reused meanwhile, because f keeps it alive. A nil f does nothing.
func (k *Key[T]) With(v T, f func()) {
	if f == nil {
		return
	}
	id := goroutine()
	s := k.of(id)
	s.mu.Lock()
	if s.values == nil {
		s.values = map[uintptr]T{}
	}
	old, had := s.values[id]
	s.values[id] = v
	s.mu.Unlock()
	k.active.Add(1)
	defer func() {
		k.active.Add(-1)
		s.mu.Lock()
		defer s.mu.Unlock()
		if had {
			s.values[id] = old
		} else {
			delete(s.values, id)
		}
	}()
	f()
}
