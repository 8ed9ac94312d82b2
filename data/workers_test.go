package data_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
)

// meeting is a dataset of which several batches have to be asked for before any is
// given, the last first.
type meeting struct {
	want int
	mu   sync.Mutex
	come []chan struct{} // those that wait, each for the one after it
}

func (m *meeting) Len() int { return 4 * m.want }

func (m *meeting) Batch(indices []int) ([]tensor.Tensor, error) {
	m.mu.Lock()
	me := make(chan struct{})
	m.come = append(m.come, me)
	all := m.come
	if len(all) == m.want {
		m.come = nil
		close(me)
	}
	m.mu.Unlock()
	<-me
	for i, other := range all[:len(all)-1] {
		if all[i+1] == me {
			close(other)
		}
	}
	x := make([]int64, len(indices))
	for i, n := range indices {
		x[i] = int64(n)
	}
	return []tensor.Tensor{tensor.From(x)}, nil
}

// TestWorkersMeet: so many workers prepare batches at once, and the batches keep their
// order when later ones are ready first.
func TestWorkersMeet(t *testing.T) {
	const workers = 3
	l := &data.Loader{Dataset: &meeting{want: workers}, BatchSize: 2, Prefetch: workers, Workers: 9}
	var seen []int64
	for batch, err := range l.Epoch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, ints(t, batch[0])...)
	}
	for i, v := range seen {
		if v != int64(i) {
			t.Fatalf("samples %v", seen)
		}
	}
	if len(seen) != 4*workers {
		t.Errorf("%d samples", len(seen))
	}
}

// TestWorkersDrawAlike: neither the order nor what a dataset draws depends on who
// prepares a batch.
func TestWorkersDrawAlike(t *testing.T) {
	run := func(prefetch, workers int) (drawn []int64) {
		g := random.New(5)
		l := &data.Loader{Dataset: noisy{}, BatchSize: 1, Shuffle: true, Random: g, Prefetch: prefetch, Workers: workers}
		for range 2 {
			for batch, err := range l.Epoch(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				drawn = append(drawn, ints(t, batch[0])...)
			}
		}
		return drawn
	}
	want := run(0, 0)
	for _, workers := range []int{1, 2, 4} {
		if diff := cmp.Diff(want, run(4, workers)); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// TestEpochFrom goes on within a shuffled epoch from the state that it began with.
func TestEpochFrom(t *testing.T) {
	g := random.New(7)
	for _, prefetch := range []int{0, 3} {
		l := &data.Loader{Dataset: counted(t, 11), BatchSize: 2, Shuffle: true, Random: g, Prefetch: prefetch}
		state := g.State()
		whole := epoch(t, l)
		next := g.State()
		for first := range len(whole) + 1 {
			g.SetState(state)
			var rest [][]int64
			for batch, err := range l.EpochFrom(t.Context(), first) {
				if err != nil {
					t.Fatal(err)
				}
				var column []int64
				for i, v := range ints(t, batch[0]) {
					if i%2 == 0 {
						column = append(column, v)
					}
				}
				rest = append(rest, column)
			}
			if diff := cmp.Diff(append([][]int64(nil), whole[first:]...), rest); diff != "" {
				t.Errorf("prefetch %d, from batch %d: %s", prefetch, first, diff)
			}
			if g.State() != next {
				t.Errorf("prefetch %d, from batch %d: another state follows", prefetch, first)
			}
		}
		for _, first := range []int{-1, len(whole) + 1} {
			for _, err := range l.EpochFrom(t.Context(), first) {
				if err == nil || !strings.Contains(err.Error(), "an epoch of 6 batches") {
					t.Errorf("from batch %d: %v", first, err)
				}
			}
		}
	}
}

// TestWorkersEnd: an error, and a dataset that ends its goroutine, end the pass at
// their batch and leave no goroutine behind.
func TestWorkersEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	cause := errors.New("disk on fire")
	for name, f := range map[string]func() ([]tensor.Tensor, error){
		"disk on fire":        func() ([]tensor.Tensor, error) { return nil, cause },
		"ended the goroutine": func() ([]tensor.Tensor, error) { runtime.Goexit(); return nil, nil },
	} {
		l := &data.Loader{Dataset: broken{f}, BatchSize: 1, Prefetch: 4, Workers: 3}
		n := 0
		var last error
		for _, err := range l.Epoch(t.Context()) {
			n++
			last = err
		}
		if n != 2 || last == nil || !strings.Contains(last.Error(), name) {
			t.Errorf("%s: %d batches, %v", name, n, last)
		}
	}
	settled(t, before)
	for _, err := range (&data.Loader{Dataset: counted(t, 3), BatchSize: 1, Workers: -1}).Epoch(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "Workers -1, which must not be negative") {
			t.Error(err)
		}
	}
}
