package fusion

import (
	"encoding/binary"
	"sync"
)

// mostKept is how many regions, rows or products are kept for programs to come.
const mostKept = 2048

// A memo has what was made, or is being made, by what it is.
type memo[T any] struct {
	mu sync.Mutex
	of map[string]*made[T]
}

// made is something that whoever comes first makes.
type made[T any] struct {
	once sync.Once
	done bool // guarded by the memo's lock: v is there
	v    T
	err  error
}

// known returns what a key names where it was made.
func (m *memo[T]) known(key string) (v T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.of[key]; e != nil && e.done {
		return e.v, true
	}
	return v, false
}

// get returns what a key names. What fails may be otherwise next time. Where quick is set, it
// makes nothing: then what was not made before is errNoCode.
func (m *memo[T]) get(key string, quick bool, make func() (T, error)) (v T, err error) {
	if quick {
		v, ok := m.known(key)
		if !ok {
			err = errNoCode
		}
		return v, err
	}
	m.mu.Lock()
	e := m.of[key]
	if e == nil {
		if m.of == nil || len(m.of) >= mostKept {
			m.of = map[string]*made[T]{}
		}
		e = new(made[T])
		m.of[key] = e
	}
	m.mu.Unlock()
	e.once.Do(func() {
		e.v, e.err = make()
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.done = e.err == nil; !e.done {
			delete(m.of, key)
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
