package fusion

import (
	"encoding/binary"
	"sync"
)

// mostKept is how many regions, rows or products are kept for programs to come, beside as
// many that were asked for least recently. What nothing has is dropped, and a device's code
// with it, when the last program is that has it.
const mostKept = 512

// A memo has what was made, or is being made, by what it is. Where it has mostKept, they make
// place for others, and stay for as long as it takes these to be as many.
type memo[T any] struct {
	mu      sync.Mutex
	of, old map[string]*made[T]
}

// find returns what a key names, or nil, and keeps it among the latest. The caller holds the
// lock.
func (m *memo[T]) find(k key) *made[T] {
	e := m.of[string(k)]
	if e == nil {
		if e = m.old[string(k)]; e != nil {
			m.keep(string(k), e)
		}
	}
	return e
}

// keep adds an entry. The caller holds the lock.
func (m *memo[T]) keep(key string, e *made[T]) {
	if m.of == nil || len(m.of) >= mostKept {
		m.of, m.old = map[string]*made[T]{}, m.of
	}
	delete(m.old, key)
	m.of[key] = e
}

// made is something that whoever comes first makes.
type made[T any] struct {
	once sync.Once
	done bool // guarded by the memo's lock: v is there
	v    T
	err  error
}

// known returns what a key names where it was made.
func (m *memo[T]) known(k key) (v T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.find(k); e != nil && e.done {
		return e.v, true
	}
	return v, false
}

// get returns what a key names. What fails may be otherwise next time. Where quick is set, it
// makes nothing: then what was not made before is errNoCode.
func (m *memo[T]) get(k key, quick bool, make func() (T, error)) (v T, err error) {
	if quick {
		v, ok := m.known(k)
		if !ok {
			err = errNoCode
		}
		return v, err
	}
	m.mu.Lock()
	e := m.find(k)
	if e == nil {
		e = new(made[T])
		m.keep(string(k), e)
	}
	m.mu.Unlock()
	e.once.Do(func() {
		e.v, e.err = make()
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.done = e.err == nil; !e.done {
			delete(m.of, string(k))
			delete(m.old, string(k))
		}
	})
	return e.v, e.err
}

// A key tells what was made by numbers, each of which takes as many bytes as it needs.
type key []byte

func (k *key) number(n int) { *k = binary.AppendVarint(*k, int64(n)) }

func (k *key) flags(list []bool) {
	k.number(len(list))
	for _, b := range list {
		n := byte(0)
		if b {
			n = 1
		}
		*k = append(*k, n)
	}
}

// numbers adds a list and its length.
func numbers[T ~int | ~uint8](k *key, list []T) {
	k.number(len(list))
	for _, n := range list {
		k.number(int(n))
	}
}
