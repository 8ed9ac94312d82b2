package conformance_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// sharings are the ways in which graphs get their memory: options returns those of
// the next graph, given the first one.
func sharings(t *testing.T, d device.Device, f func(t *testing.T, shared bool, options func(first *graph.Graph) []graph.Option)) {
	t.Run("apart", func(t *testing.T) {
		f(t, false, func(*graph.Graph) []graph.Option { return nil })
	})
	t.Run("first graph's pool", func(t *testing.T) {
		f(t, true, func(first *graph.Graph) []graph.Option {
			if first == nil {
				return nil
			}
			return []graph.Option{graph.CapturePool(first.Pool())}
		})
	})
	t.Run("a pool made before", func(t *testing.T) {
		pool := memory.NewPool(d, memory.PoolOptions{})
		f(t, true, func(*graph.Graph) []graph.Option { return []graph.Option{graph.CapturePool(pool)} })
		must(t, pool.Release())
	})
}

// Each capture has a pool of memory, its own or one that graphs share. Graphs that
// share are right in the order of their captures; in another, one finds what a later
// one wrote over what was released in between.
func TestP87(t *testing.T) {
	d := one(t)
	live(t, d)
	const n = 1000
	sharings(t, d, func(t *testing.T, shared bool, options func(*graph.Graph) []graph.Option) {
		a := tensor.Ones([]int{n}, tensor.On(d))
		var b, c, x, e, f T
		g0, g1, g2 := graph.New(d), graph.New(d), graph.New(d)
		must(t, g0.Capture(func() error {
			b = a.Clone()
			c, x = b.AddScalar(1), b.AddScalar(2)
			return errorsOf(b, c, x)
		}, options(nil)...))
		must(t, g1.Capture(func() error {
			e = c.AddScalar(3)
			c.Release()
			return e.Err()
		}, options(g0)...))
		must(t, g2.Capture(func() error {
			f = x.AddScalar(4)
			return f.Err()
		}, options(g0)...))
		replay := func(graphs ...*graph.Graph) {
			t.Helper()
			for _, g := range graphs {
				must(t, g.Replay())
			}
		}
		sums := func() [2]float64 { return [2]float64{values(t, e.Sum())[0] / n, values(t, f.Sum())[0] / n} }
		replay(g0, g1, g2)
		equal(t, "e and f in order", sums(), [2]float64{5, 7})
		replay(g0, g2, g1)
		want := [2]float64{5, 7}
		if shared {
			want[0] = 7 + 3 // f lies where c was
		}
		equal(t, "e and f out of order", sums(), want)
		for _, g := range []*graph.Graph{g0, g1, g2} {
			must(t, g.Reset())
		}
		for _, x := range []T{a, b, x, e, f} {
			x.Release()
		}
	})
}

// Two graphs that share a pool hold one segment of 2 MiB less than two apart.
func TestP88(t *testing.T) {
	d := one(t)
	live(t, d)
	const n = 1000
	step := func(x T) T {
		return temporary(func() T { return x.Clone().AddScalar(1).Add(x.Clone().AddScalar(1)) })
	}
	five := func(b *T) func() error {
		return func() error {
			for range 5 {
				old := *b
				*b = step(old)
				old.Release()
			}
			return b.Err()
		}
	}
	reserved := map[bool]int64{}
	sharings(t, d, func(t *testing.T, shared bool, options func(*graph.Graph) []graph.Option) {
		a := tensor.Ones([]int{n}, tensor.On(d))
		must(t, stream.Synchronize(background, d))
		must(t, memory.EmptyCache(d))
		before := memory.Reserved(d)
		var b T
		g0, g1 := graph.New(d), graph.New(d)
		must(t, g0.Capture(func() error {
			b = a.Clone()
			return five(&b)()
		}, options(nil)...))
		must(t, g1.Capture(five(&b), options(g0)...))
		reserved[shared] = memory.Reserved(d) - before
		must(t, g0.Replay())
		must(t, g1.Replay())
		equal(t, "the sum", values(t, b.Sum())[0], float64(3070*n))
		must(t, errors.Join(g0.Reset(), g1.Reset()))
		a.Release()
		b.Release()
	})
	equal(t, "bytes saved by sharing", reserved[false]-reserved[true], int64(2<<20))
}

// A block that other streams use, freed while a graph is captured, waits for them
// only after the capture: no event is asked meanwhile, which would spoil it.
func TestP90(t *testing.T) {
	d := one(t)
	live(t, d)
	a := tensor.Zeros([]int{3}, tensor.On(d))
	defer a.Release()
	s0, s1, s2 := stream.New(d, 0), stream.New(d, 0), stream.New(d, 0)
	busy := tensor.Empty([]int{3}, tensor.On(d))
	must(t, stream.Synchronize(background, d))
	release := hold(t, s0)
	must(t, s0.Do(func() error { overwrite(t, busy, 1); return nil }))
	must(t, busy.RecordStream(s0))
	busy.Release() // s0 is not done with it
	allocated := memory.StatsOf(d).ActiveBytes.All.Current
	g := captured(t, d, func() error {
		b := a.Clone()
		must(t, s2.WaitStream(s1))
		must(t, s2.Do(func() error { overwrite(t, b, 1); return nil }))
		must(t, b.RecordStream(s2))
		b.Release()
		c := a.AddScalar(1) // an allocation, which would ask the events
		err := c.Err()
		c.Release()
		return errors.Join(err, s1.WaitStream(s2))
	}, graph.CaptureStream(s1))
	release()
	must(t, g.Replay())
	must(t, stream.Synchronize(background, d))
	tensor.Zeros([]int{3}, tensor.On(d)).Release() // asks the events
	if now := memory.StatsOf(d).ActiveBytes.All.Current; now >= allocated {
		t.Errorf("%d bytes wait for other streams after the capture, %d before", now, allocated)
	}
}

// A capture that runs out of memory fails with that error; the device goes on, and so
// does the graph, with another capture.
func TestP93(t *testing.T) {
	d := one(t)
	live(t, d)
	x := tensor.Ones([]int{4}, tensor.On(d))
	defer x.Release()
	_, drv, err := device.Find(d)
	must(t, err)
	p, err := drv.Properties(d.Index)
	must(t, err)
	g := graph.New(d)
	err = g.Capture(func() error {
		must(t, x.AddScalarInPlace(1))
		return tensor.Zeros([]int{int(p.TotalMemory)}, tensor.On(d)).Err()
	})
	fails(t, "a capture of more than the memory", err, device.ErrOutOfMemory, "")
	var oom *memory.OutOfMemoryError
	if !errors.As(err, &oom) {
		t.Errorf("%T is no OutOfMemoryError", err)
	}
	equal(t, "a tensor after the error", values(t, x), []float64{1, 1, 1, 1})
	must(t, g.Capture(func() error { return x.AddScalarInPlace(1) }))
	must(t, g.Replay())
	equal(t, "after a capture that went well", values(t, x), []float64{2, 2, 2, 2})
	must(t, g.Reset())
}

// fourFigures are what A26 tells of a device's memory.
type fourFigures struct{ Segments, Reserved, Blocks, Bytes int64 }

func figuresOf(d device.Device) fourFigures {
	s := memory.StatsOf(d)
	return fourFigures{s.Segment.All.Current, s.ReservedBytes.All.Current, s.Active.All.Current, s.ActiveBytes.All.Current}
}

func (a fourFigures) minus(b fourFigures) fourFigures {
	return fourFigures{a.Segments - b.Segments, a.Reserved - b.Reserved, a.Blocks - b.Blocks, a.Bytes - b.Bytes}
}

// The figures of memory for a chain of clones in a graph of its own pool: segments,
// reserved bytes and live blocks after the capture, and what is left when the graph
// and the cache are given up and only the result is held.
func TestA26(t *testing.T) {
	d := one(t)
	live(t, d)
	for _, c := range []struct {
		bytes              int64
		segments, reserved int64
		after              int64
	}{
		{512, 1, 2097152, 2097152},
		{1048576, 2, 4194304, 2097152},
		{1049088, 1, 20971520, 20971520},
		{10485248, 2, 41943040, 20971520},
		{10486272, 3, 37748736, 12582912},
	} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			a := tensor.Empty([]int{int(c.bytes)}, tensor.On(d), tensor.OfType(tensor.Uint8))
			must(t, a.Err())
			small := c.bytes < 1<<20 || onGPU() // a simulated device takes seconds for more
			if small {
				must(t, tensor.Scope(func() error { return a.CopyFrom(tensor.OnesLike(a)) }))
			}
			must(t, stream.Synchronize(background, d))
			must(t, memory.EmptyCache(d))
			before := figuresOf(d)
			var b T
			g := graph.New(d)
			must(t, g.Capture(func() error {
				b = a.Clone()
				for range 5 {
					old := b
					b = temporary(func() T { return old.Clone().AddScalar(1) })
					old.Release()
				}
				return b.Err()
			}))
			equal(t, "with the graph", figuresOf(d).minus(before), fourFigures{c.segments, c.reserved, 1, c.bytes})
			check := func(when string) {
				t.Helper()
				if small {
					tensor.Scope(func() error {
						equal(t, "the smallest and the largest element "+when, append(values(t, b.Min()), values(t, b.Max())...), []float64{6, 6})
						return nil
					})
				}
			}
			if small {
				must(t, g.Replay())
			}
			check("after a replay")
			must(t, stream.Synchronize(background, d))
			must(t, g.Reset())
			must(t, memory.EmptyCache(d))
			equal(t, "without the graph", figuresOf(d).minus(before), fourFigures{1, c.after, 1, c.bytes})
			check("after the graph")
			b.Release()
			a.Release()
		})
	}
}
