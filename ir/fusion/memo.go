package fusion

import "sync"

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
	v    T
	err  error
}

// get returns what a key names. What fails may be otherwise next time.
func (m *memo[T]) get(key string, make func() (T, error)) (T, error) {
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
		if e.v, e.err = make(); e.err != nil {
			m.mu.Lock()
			delete(m.of, key)
			m.mu.Unlock()
		}
	})
	return e.v, e.err
}
