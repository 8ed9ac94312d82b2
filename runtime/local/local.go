// Package local gives values that belong to the calling goroutine for the
// duration of a call: the current device, the current stream, whether operators
// are recorded. It knows nothing of what the values mean.
package local

import (
	"sync"
	"sync/atomic"
)

// A record is what one goroutine holds, over all keys. It exists while the
// goroutine is in a scope. Only that goroutine touches open and values.
type record struct {
	id     uintptr
	next   atomic.Pointer[record] // in the bucket; written under the bucket's lock
	open   int                    // scopes the goroutine is in
	values []any                  // by key; nil where it holds none
	room   [16]any                // for values; some more than there are keys, so that these fit
}

// A bucket chains the records of goroutines whose identities share a hash.
// Readers follow the chain without the lock: a record that was taken out still
// points onward, and a goroutine's own record stays in while it looks.
type bucket struct {
	mu   sync.Mutex // orders changes of the chain
	head atomic.Pointer[record]
}

const bucketBits = 10

var (
	buckets [1 << bucketBits]bucket
	keys    atomic.Int64 // made so far
)

func bucketOf(id uintptr) *bucket {
	return &buckets[uint64(id>>3)*0x9E3779B97F4A7C15>>(64-bucketBits)]
}

// find returns the record of goroutine id, which must be the caller's, or nil.
func find(id uintptr) *record {
	r := bucketOf(id).head.Load()
	for r != nil && r.id != id {
		r = r.next.Load()
	}
	return r
}

// enter returns the calling goroutine's record, new if it has none.
func enter() *record {
	id := goroutine()
	if r := find(id); r != nil {
		return r
	}
	r, b := &record{id: id}, bucketOf(id)
	r.values = r.room[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	r.next.Store(b.head.Load())
	b.head.Store(r)
	return r
}

// leave takes r out once its goroutine is in no scope any more.
func (r *record) leave() {
	b := bucketOf(r.id)
	b.mu.Lock()
	defer b.mu.Unlock()
	link := &b.head
	for link.Load() != r {
		link = &link.Load().next
	}
	link.Store(r.next.Load())
}

// A Key names one value that goroutines may hold. Keys are made once, for the
// life of the process.
type Key[T any] struct {
	active atomic.Int64 // scopes open anywhere in the process
	index  int
}

// NewKey returns a new key that no goroutine holds a value of.
func NewKey[T any]() *Key[T] { return &Key[T]{index: int(keys.Add(1)) - 1} }

// Get returns the calling goroutine's value. It costs one atomic load while no
// goroutine holds a value of k, and no lock ever. Goroutines do not inherit
// values.
func (k *Key[T]) Get() (v T, ok bool) {
	if k.active.Load() == 0 {
		return v, false
	}
	r := find(goroutine())
	if r == nil || k.index >= len(r.values) {
		return v, false
	}
	v, ok = r.values[k.index].(T)
	return v, ok
}

// Held reports whether any goroutine holds a value of k; where none does, Get has
// nothing to find. It is small enough to be inlined.
func (k *Key[T]) Held() bool { return k.active.Load() != 0 }

// Try is With for a function that returns an error, which it returns.
func (k *Key[T]) Try(v T, f func() error) (err error) {
	if f != nil {
		k.With(v, func() { err = f() })
	}
	return err
}

// With calls f while the calling goroutine holds v. The value it held before is
// back when f returns, panics or ends the goroutine. A goroutine's identity
// cannot be reused meanwhile, because f keeps it alive. A nil f does nothing.
func (k *Key[T]) With(v T, f func()) {
	if f == nil {
		return
	}
	r := enter()
	if n := int(keys.Load()); len(r.values) < n {
		r.values = append(r.values, make([]any, n-len(r.values))...)
	}
	old := r.values[k.index]
	r.values[k.index] = v
	r.open++
	k.active.Add(1)
	defer func() {
		k.active.Add(-1)
		r.values[k.index] = old
		if r.open--; r.open == 0 {
			r.leave()
		}
	}()
	f()
}
