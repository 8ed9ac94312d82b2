// Package fftplans keeps what kernels prepare once and use in every call of one
// geometry: the plans of Fourier transforms. A cache has a bound, beyond which the
// plan that was used least recently goes. The package knows nothing of what a plan
// is or of which device a cache is for, but where to ask for a device's.
//
//	plans := fftplans.Of(device.CUDA())
//	if err := plans.SetMaxSize(16); err != nil {
//		return err
//	}
//	fmt.Println(plans.Size(), plans.MaxSize())
package fftplans

import (
	"container/list"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// DefaultMax is how many plans a cache of an accelerator keeps unless told
// otherwise.
const DefaultMax = 4096

// A Destroyer is a plan that has something to give back. Destroy is called once,
// when the cache has dropped the plan and no call uses it.
type Destroyer interface{ Destroy() }

// A Cache keeps the plans that were used last. Any goroutine may use it.
type Cache struct {
	mu     sync.Mutex
	max    int
	plans  map[any]*entry // kept, or being made
	recent list.List      // of *entry, those that are kept; the one used last in front
}

var _ ir.FFTPlans = (*Cache)(nil)

// An entry is a plan, or the making of one.
type entry struct {
	key   any
	made  chan struct{} // closed when plan and err are set
	plan  any
	err   error
	users int           // calls that have the plan; guarded by Cache.mu
	place *list.Element // in Cache.recent; nil where the plan is not kept
}

// New returns a cache that keeps at most n plans; fewer than none are none.
func New(n int) *Cache { return &Cache{max: max(n, 0), plans: map[any]*entry{}} }

var errNil = errors.New("fftplans: a nil *fftplans.Cache; New makes one")

// Use calls f with the plan of a key, which make makes where there is none; where
// several calls want it at once, one makes it. The plan is not destroyed before f
// has returned, even if it is dropped meanwhile. What make answers with an error is
// not kept.
func (c *Cache) Use(key any, make func() (any, error), f func(plan any) error) error {
	if c == nil {
		return errNil
	}
	if make == nil {
		return errors.New("fftplans: a plan needs a function that makes it")
	}
	if !reflect.ValueOf(key).Comparable() {
		return fmt.Errorf("fftplans: a key must be comparable, which %T is not", key)
	}
	e, err := c.take(key, make)
	if err != nil {
		return err
	}
	defer c.leave(e)
	if f == nil {
		return errors.New("fftplans: a plan needs a function that uses it")
	}
	return f(e.plan)
}

// take returns the entry of a key with the caller counted among its users.
func (c *Cache) take(key any, make func() (any, error)) (*entry, error) {
	c.mu.Lock()
	if c.plans == nil { // of the zero value, which keeps nothing
		c.plans = map[any]*entry{}
	}
	e := c.plans[key]
	if e == nil {
		return c.make(key, make)
	}
	e.users++
	if e.place != nil {
		c.recent.MoveToFront(e.place)
		c.mu.Unlock()
		return e, nil
	}
	c.mu.Unlock()
	<-e.made
	if e.err != nil {
		c.leave(e)
	}
	return e, e.err
}

// make adds an entry with its plan. The caller holds c.mu, which make releases.
func (c *Cache) make(key any, make func() (any, error)) (*entry, error) {
	e := newEntry(key)
	c.plans[key] = e
	c.mu.Unlock()
	var plan any
	err := errAbandoned
	defer func() { // also where make panics
		c.mu.Lock()
		e.plan, e.err = plan, err
		var old []any
		if e.err != nil {
			delete(c.plans, key)
		} else {
			e.place = c.recent.PushFront(e)
			old = c.shrink()
		}
		close(e.made)
		c.mu.Unlock()
		destroy(old)
	}()
	plan, err = make()
	return e, err
}

func newEntry(key any) *entry { return &entry{key: key, made: make(chan struct{}), users: 1} }

// errAbandoned is what others see who wait for a plan whose making panicked.
var errAbandoned = errors.New("the plan was not made")

// shrink drops plans until there are at most c.max, and returns those to destroy.
// The caller holds c.mu.
func (c *Cache) shrink() (old []any) {
	for c.recent.Len() > c.max {
		e := c.recent.Remove(c.recent.Back()).(*entry)
		e.place = nil
		delete(c.plans, e.key)
		if e.users == 0 {
			old = append(old, e.plan)
		}
	}
	return old
}

// leave ends a use. The last user of a dropped plan destroys it.
func (c *Cache) leave(e *entry) {
	c.mu.Lock()
	e.users--
	last := e.users == 0 && e.place == nil && e.err == nil
	c.mu.Unlock()
	if last {
		destroy([]any{e.plan})
	}
}

func destroy(old []any) {
	for _, plan := range old {
		if d, ok := plan.(Destroyer); ok {
			d.Destroy()
		}
	}
}

// Size returns how many plans are kept.
func (c *Cache) Size() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

// MaxSize returns how many plans may be kept.
func (c *Cache) MaxSize() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.max
}

// SetMaxSize says how many plans may be kept; those that are more go at once, the
// least recently used first. With 0 each is made, used and dropped.
func (c *Cache) SetMaxSize(n int) error {
	if c == nil {
		return errNil
	}
	if n < 0 {
		return fmt.Errorf("a plan cache cannot have a size of %d; want 0 or more", n)
	}
	c.mu.Lock()
	c.max = n
	old := c.shrink()
	c.mu.Unlock()
	destroy(old)
	return nil
}

// Clear drops every plan that is kept. Those in use are destroyed when the
// calls that use them have returned.
func (c *Cache) Clear() {
	if c == nil {
		return
	}
	c.mu.Lock()
	max := c.max
	c.max = 0
	old := c.shrink()
	c.max = max
	c.mu.Unlock()
	destroy(old)
}
