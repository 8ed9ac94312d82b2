package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// ours measures the rows on this library's side. A row that fails is left out, and the error
// says why.
func (s *settings) ours(log io.Writer) (list []figure, failed error) {
	add := func(f figure, measure func() (float64, error)) {
		if !s.wants(f.Row) {
			return
		}
		var err error
		if f.Ours, err = measure(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", f.Row, err))
			return
		}
		fmt.Fprintf(log, "%s: %.4g %s\n", f.Row, f.Ours, f.Unit)
		list = append(list, f)
	}
	for _, mega := range s.size.Mega {
		f := figure{Row: fmt.Sprintf("all-reduce of %d MiB, bus bandwidth", mega), Unit: "GB/s", More: true, Reach: "0.98 of PyTorch's rate"}
		add(f, func() (float64, error) { return s.bandwidth(mega << 20) })
	}
	add(figure{Row: "all-reduce of 256 bytes, host to done", Unit: "us", Reach: "0.9 of PyTorch's time"}, func() (float64, error) {
		t, err := s.together(func(g *dist.Group) (func() error, error) {
			x := tensor.Ones([]int{64}, tensor.On(g.Device()))
			return func() error { return g.AllReduce(x, dist.Sum).Synchronize(context.Background()) }, x.Err()
		})
		return t * 1e6, err
	})
	for _, c := range []struct {
		name, reach string
		how         how
	}{
		{"perceptron: step on all over step on one", "1.20", how{}},
		{"perceptron, bf16 compression: step on all over step on one", "1.12", how{compress: true}},
		{"perceptron, captured: step on all over step on one", "1.18", how{capture: true}},
		{"perceptron, captured, bf16 compression: step on all over step on one", "1.10", how{compress: true, capture: true}},
	} {
		add(figure{Row: c.name, Unit: "times", Reach: c.reach}, func() (float64, error) {
			one, all, err := s.training(s.perceptron, c.how)
			fmt.Fprintf(log, "%s: %.3f ms over %.3f ms\n", c.name, all*1e3, one*1e3)
			return all / one, err
		})
	}
	add(figure{Row: "transformer blocks: tokens a second on all over one", Unit: "times", More: true, Reach: "1.9, and ahead of PyTorch"}, func() (float64, error) {
		one, all, err := s.training(s.transformer, how{})
		fmt.Fprintf(log, "transformer blocks: %.3f ms, %.3f ms on one\n", all*1e3, one*1e3)
		return float64(len(s.devices)) * one / all, err
	})
	for _, way := range ways {
		add(figure{Row: "perceptron with Adam, peak memory: " + way.name, Unit: "MiB", Reach: "PyTorch's or below"}, func() (float64, error) {
			return s.peak(way.make)
		})
	}
	return list, failed
}

// patience is how long a rank waits for the others before its row fails.
const patience = time.Minute

// group calls f for every device, with the end of a group.
func (s *settings) group(f func(g *dist.Group) error, opts ...dist.Option) error {
	return dist.Run(s.devices, f, append(opts, dist.Timeout(patience), dist.CopyEngines(s.copies))...)
}

// bandwidth returns the bus bandwidth of an all-reduce, in GB/s: what each rank's link carries
// of a ring.
func (s *settings) bandwidth(bytes int) (float64, error) {
	t, err := s.together(func(g *dist.Group) (func() error, error) {
		x := tensor.Ones([]int{bytes / 4}, tensor.On(g.Device()))
		return func() error { return g.AllReduce(x, dist.Average).Wait(context.Background()) }, x.Err()
	})
	n := float64(len(s.devices))
	return 2 * (n - 1) / n * float64(bytes) / t / 1e9, err
}

// together measures calls that all ranks make: the median over rounds of the time of one, in
// seconds, as rank 0 has it.
func (s *settings) together(make func(g *dist.Group) (func() error, error)) (seconds float64, err error) {
	err = s.group(func(g *dist.Group) error {
		return tensor.Scope(func() error {
			call, err := make(g)
			if err != nil {
				return err
			}
			t, err := s.time(g, call)
			if g.Rank() == 0 {
				seconds = t
			}
			return err
		})
	})
	s.clear()
	return seconds, err
}

// time measures one rank's calls; g may be nil.
func (s *settings) time(g *dist.Group, call func() error) (float64, error) {
	var rounds []float64
	for round := range s.size.Rounds + 1 {
		if g != nil {
			if err := g.Barrier().Synchronize(context.Background()); err != nil {
				return 0, err
			}
		}
		began := time.Now()
		for range s.size.Calls {
			if err := tensor.Scope(call); err != nil {
				return 0, err
			}
		}
		d := s.devices[0]
		if g != nil {
			d = g.Device()
		}
		if err := stream.Current(d).Synchronize(context.Background()); err != nil {
			return 0, err
		}
		if round > 0 { // the first one warms up
			rounds = append(rounds, time.Since(began).Seconds()/float64(s.size.Calls))
		}
	}
	slices.Sort(rounds)
	return rounds[len(rounds)/2], nil
}

// clear gives the devices' memory back, so that rows and PyTorch have all of it, and no row
// counts what one before it dropped.
func (s *settings) clear() {
	for range 3 { // what cleanups let go goes in a later round
		goruntime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	for _, d := range s.devices {
		_ = memory.EmptyCache(d) // a row that has no memory says so
	}
}
