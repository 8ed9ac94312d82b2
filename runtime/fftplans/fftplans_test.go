package fftplans

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A plan counts what becomes of it.
type plan struct {
	key       int
	users     atomic.Int32
	destroyed atomic.Int32
}

func (p *plan) Destroy() {
	if p.users.Load() != 0 {
		panic("a plan is destroyed that is in use")
	}
	p.destroyed.Add(1)
}

// A workshop makes plans and keeps account of them.
type workshop struct {
	cache *Cache
	mu    sync.Mutex
	made  []*plan
}

func (w *workshop) use(key int) error {
	return w.cache.Use(key, func() (any, error) {
		p := &plan{key: key}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.made = append(w.made, p)
		return p, nil
	}, func(any any) error {
		p := any.(*plan)
		p.users.Add(1)
		defer p.users.Add(-1)
		if p.key != key || p.destroyed.Load() != 0 {
			return fmt.Errorf("plan of %d for %d, destroyed %d times", p.key, key, p.destroyed.Load())
		}
		return nil
	})
}

// state returns the keys of the plans that were made, negative where destroyed.
func (w *workshop) state() []int {
	var out []int
	for _, p := range w.made {
		key := p.key
		if p.destroyed.Load() > 0 {
			key = -key
		}
		out = append(out, key)
	}
	return out
}

func TestLeastRecentlyUsedGoes(t *testing.T) {
	w := workshop{cache: New(2)}
	for _, step := range []struct {
		key  int
		want []int
	}{
		{1, []int{1}}, {2, []int{1, 2}}, {1, []int{1, 2}}, {3, []int{1, -2, 3}}, {2, []int{-1, -2, 3, 2}}, {3, []int{-1, -2, 3, 2}},
	} {
		if err := w.use(step.key); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, w.state()); diff != "" {
			t.Fatalf("after %d (-want +got):\n%s", step.key, diff)
		}
	}
	if err := w.cache.SetMaxSize(1); err != nil || w.cache.Size() != 1 || w.cache.MaxSize() != 1 {
		t.Errorf("a lower bound: %v, %d of %d", err, w.cache.Size(), w.cache.MaxSize())
	}
	if diff := cmp.Diff([]int{-1, -2, 3, -2}, w.state()); diff != "" {
		t.Errorf("a lower bound (-want +got):\n%s", diff)
	}
	w.cache.Clear()
	if diff := cmp.Diff([]int{-1, -2, -3, -2}, w.state()); diff != "" || w.cache.MaxSize() != 1 {
		t.Errorf("cleared, at most %d (-want +got):\n%s", w.cache.MaxSize(), diff)
	}
	if err := w.cache.SetMaxSize(-1); err == nil {
		t.Error("a negative bound was accepted")
	}
}

func TestNothingIsKeptOfZero(t *testing.T) {
	for _, n := range []int{0, -5} {
		w := workshop{cache: New(n)}
		for range 2 {
			if err := w.use(1); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]int{-1, -1}, w.state()); diff != "" || w.cache.Size() != 0 || w.cache.MaxSize() != 0 {
			t.Errorf("of at most %d, %d kept (-want +got):\n%s", n, w.cache.Size(), diff)
		}
	}
}

// TestUsedPlansStay drops plans while a call has them.
func TestUsedPlansStay(t *testing.T) {
	c := New(1)
	outer := &plan{}
	err := c.Use("outer", func() (any, error) { return outer, nil }, func(any) error {
		c.Clear()
		if err := c.Use("inner", func() (any, error) { return &plan{}, nil }, func(any) error { return nil }); err != nil {
			return err
		}
		if outer.destroyed.Load() != 0 {
			return errors.New("destroyed while in use")
		}
		return nil
	})
	if err != nil || outer.destroyed.Load() != 1 {
		t.Errorf("%v, destroyed %d times after its use, want once", err, outer.destroyed.Load())
	}
}

func TestFailures(t *testing.T) {
	c, wrong := New(4), errors.New("wrong")
	if err := c.Use(1, func() (any, error) { return nil, wrong }, nil); err != wrong || c.Size() != 0 {
		t.Errorf("making: %v, %d plans", err, c.Size())
	}
	if err := c.Use(1, func() (any, error) { return 7, nil }, func(p any) error { return wrong }); err != wrong || c.Size() != 1 {
		t.Errorf("using: %v, %d plans", err, c.Size())
	}
	func() {
		defer func() { _ = recover() }()
		_ = c.Use(2, func() (any, error) { panic("making") }, nil)
	}()
	if err := c.Use(2, func() (any, error) { return 8, nil }, func(p any) error { return nil }); err != nil || c.Size() != 2 {
		t.Errorf("after a panic: %v, %d plans", err, c.Size())
	}
}

// TestManyGoroutines pushes plans out of a small cache. One is made at a time for a
// key, none is used after it was destroyed, and in the end all are destroyed once.
func TestManyGoroutines(t *testing.T) {
	w := workshop{cache: New(3)}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 2000 {
				if err := w.use(1 + (i*j+j/3)%6); err != nil {
					t.Error(err)
					return
				}
				if j%500 == 499 {
					w.cache.Clear()
				}
			}
		})
	}
	all.Wait()
	w.cache.Clear()
	for _, p := range w.made {
		if n := p.destroyed.Load(); n != 1 {
			t.Fatalf("a plan was destroyed %d times", n)
		}
	}
}
