package dist_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// readers are the ways to learn what a device has computed, each after work of the current stream.
var readers = map[string]func(x T) error{
	"elements": func(x T) error { _, err := tensor.Data[float32](x); return err },
	"an item":  func(x T) error { _, err := x.Narrow(0, 0, 1).Item(); return err },
	"a copy":   func(x T) error { return x.CPU().Err() },
	"a product": func(x T) error {
		_, err := tensor.Data[float32](x.MulScalar(2))
		return err
	},
	"a stream": func(x T) error { return stream.Current(x.Device()).Synchronize(context.Background()) },
	"a device": func(x T) error { return stream.Synchronize(context.Background(), x.Device()) },
	"an event": func(x T) error {
		e, err := stream.Current(x.Device()).RecordEvent(nil)
		return errors.Join(err, e.Synchronize(context.Background()))
	},
	"another stream": func(x T) error {
		s := stream.New(x.Device(), 0)
		err := s.WaitStream(stream.Current(x.Device()))
		return errors.Join(err, s.Do(func() error { _, err := tensor.Data[float32](x); return err }))
	},
	"another device": func(x T) error {
		_, err := tensor.Data[float32](x.To(device.Device{Kind: x.Device().Kind, Index: 1 - x.Device().Index}))
		return err
	},
}

// TestReadsAfterFailure has one rank read what a replay, or a call, computes that the other one gave up: every way of
// reading returns why. What was read before is right, and what is read once the group is closed is nobody's.
func TestReadsAfterFailure(t *testing.T) {
	copying(t, 512)
	why := errors.New("no more")
	gives := map[string]func(g *dist.Group, x T, k *graph.Graph) error{
		"replay": func(_ *dist.Group, _ T, k *graph.Graph) error { return k.Replay() },
		"call": func(g *dist.Group, x T, _ *graph.Graph) error {
			return g.AllReduce(x, dist.Max).Wait(context.Background())
		},
	}
	for what, give := range gives {
		for way, opts := range ways {
			for name, read := range readers {
				if *kindName == "cuda" && !slices.Contains([]string{"elements", "a device", "another stream"}, name) { // a group takes a while
					continue
				}
				t.Run(what+"/"+way+"/"+name, func(t *testing.T) {
					groups, err := dist.Local(accelerators(t, 2), append(opts, dist.Timeout(patience.Left(t)))...)
					must(t, err)
					x, recorded := captureBoth(t, groups)
					given := make(chan error, len(groups))
					for rank, g := range groups { // GPUs connect at the first call
						go func() { given <- give(g, x[rank], recorded[rank]) }()
					}
					must(t, errors.Join(<-given, <-given))
					for rank := range groups {
						if err := read(x[rank]); err != nil {
							t.Fatalf("rank %d reads what is right: %v", rank, err)
						}
					}
					must(t, give(groups[0], x[0], recorded[0])) // which rank 1 does not make
					groups[1].Abort(why)
					if err := read(x[0]); !errors.Is(err, why) {
						t.Errorf("what rank 0 reads: %v; want %v", err, why)
					}
					_ = read(x[0]) // on another stream it is told again
					for rank, g := range groups {
						_ = g.Close() // of calls the streams of which have it still
						must(t, recorded[rank].Reset())
						if what == "call" || way != "copies" {
							_ = stream.Synchronize(context.Background(), g.Device()) // the device says so itself
						}
						if err := read(x[rank]); err != nil {
							t.Errorf("what rank %d reads once all is closed: %v", rank, err)
						}
						x[rank].Release()
					}
				})
			}
		}
	}
}

// TestCloseAfterFailure closes a group of which a replay, or a call, was given up and whose values nobody read: the
// rank is told then, and once. What its streams are given later is not doubted.
func TestCloseAfterFailure(t *testing.T) {
	copying(t, 512)
	why := errors.New("no more")
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			groups, err := dist.Local(accelerators(t, 2), append(opts, dist.Timeout(patience.Left(t)))...)
			must(t, err)
			x, recorded := captureBoth(t, groups)
			must(t, stream.Synchronize(context.Background(), x[1].Device())) // rank 0 writes there once it waits no more
			must(t, recorded[0].Replay())
			groups[1].Abort(why)
			if err := groups[0].Close(); !errors.Is(err, why) {
				t.Errorf("rank 0 closes with %v; want %v", err, why)
			}
			must(t, errors.Join(groups[0].Close(), groups[1].Close()))
			for rank := range groups {
				must(t, recorded[rank].Reset())
				if _, err := tensor.Data[float32](x[rank]); err != nil && way == "copies" { // else the device says so itself
					t.Errorf("rank %d is told again: %v", rank, err)
				}
				x[rank].Release()
			}
		})
	}
}

// TestResetTellsNobody frees a graph with calls that were given up, whose memory of the host its replay reads: it waits
// for the replay, and who reads what that computed is still told.
func TestResetTellsNobody(t *testing.T) {
	copying(t, 512)
	why := errors.New("no more")
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			groups, err := dist.Local(accelerators(t, 2), append(opts, dist.Timeout(patience.Left(t)))...)
			must(t, err)
			x, recorded := captureBoth(t, groups)
			pinned := tensor.Ones([]int{4}).PinMemory(x[0].Device())
			y := tensor.Zeros([]int{4}, tensor.On(x[0].Device()))
			must(t, recorded[0].Reset())
			capture := func(rank int) error {
				return device.With(groups[rank].Device(), func() error {
					return recorded[rank].Capture(func() error {
						var err error
						if rank == 0 {
							err = y.CopyFrom(pinned, tensor.NonBlocking())
						}
						return errors.Join(err, groups[rank].AllReduce(x[rank], dist.Sum).Wait(context.Background()))
					})
				})
			}
			must(t, recorded[1].Reset())
			captured := make(chan error, 1)
			go func() { captured <- capture(1) }()
			must(t, errors.Join(capture(0), <-captured))
			must(t, stream.Synchronize(context.Background(), x[1].Device())) // rank 0 writes there once it waits no more
			must(t, recorded[0].Replay())
			groups[1].Abort(why)
			must(t, recorded[0].Reset())
			if _, err := tensor.Data[float32](x[0]); !errors.Is(err, why) {
				t.Errorf("what rank 0 reads: %v; want %v", err, why)
			}
			for rank, g := range groups {
				_ = g.Close() // says so again where a stream has it still
				must(t, recorded[rank].Reset())
				x[rank].Release()
			}
		})
	}
}
