package memory

import (
	"slices"
	"sync"
)

// A calls has functions that the program wants to be called.
type calls[F any] struct {
	mu   sync.Mutex
	list []*F // replaced, never changed
}

// add adds f until remove is called.
func (c *calls[F]) add(f F) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := &f
	c.list = append(slices.Clip(c.list), call)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = slices.DeleteFunc(slices.Clone(c.list), func(other *F) bool { return other == call })
	}
}

// now returns the functions that are there, to be called without the lock.
func (c *calls[F]) now() []*F {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}
