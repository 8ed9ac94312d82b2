package launch

import (
	"maps"
	"sync"
	"sync/atomic"
)

// A table is a map that is read without a lock, and copied when it changes: seldom, but for
// programs that come and go. What is dropped meanwhile goes in one copy.
type table[K comparable, V any] struct {
	now  atomic.Pointer[map[K]V] // replaced, never changed; nil while there is nothing
	mu   sync.Mutex              // of replacing it, and of what follows
	gone []K                     // dropped and still in it
}

// get returns what there is of a key.
func (t *table[K, V]) get(k K) (v V, ok bool) {
	if m := t.now.Load(); m != nil {
		v, ok = (*m)[k]
	}
	return v, ok
}

// add adds what made returns, and reports true, where there is nothing of a key.
func (t *table[K, V]) add(k K, made func() V) (V, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.get(k); ok {
		return v, false
	}
	m, v := t.copy(), made()
	m[k] = v
	t.now.Store(&m)
	return v, true
}

// drop takes a key out soon. It does not wait for that.
func (t *table[K, V]) drop(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone = append(t.gone, k); len(t.gone) == 1 {
		go t.sweep()
	}
}

func (t *table[K, V]) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.copy()
	t.now.Store(&m)
}

// copy returns a copy without what was dropped. The caller holds mu, and stores it.
func (t *table[K, V]) copy() map[K]V {
	m := map[K]V{}
	if old := t.now.Load(); old != nil {
		m = maps.Clone(*old)
	}
	for _, k := range t.gone {
		delete(m, k)
	}
	t.gone = nil
	return m
}
