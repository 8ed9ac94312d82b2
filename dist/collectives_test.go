package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// T is the tensor type.
type T = tensor.Tensor

// A trial is a call of a group: what a rank gives and what it gets.
type trial struct {
	name string
	call func(g *dist.Group, in, out T) *dist.Work
	in   func(rank, size, i int) float32 // element i of a rank's input
	ins  func(size int) int              // how many elements that has
	out  func(rank, size, i int) float32 // element i of what it gets; NaN free
	outs func(size int) int
	only int // the rank that gets anything; -1: all
}

// value is an element of a rank's input: small integers, whose sums are exact.
func value(rank, _, i int) float32 { return float32(10*rank + i%7) }

func fixed(n int) func(int) int { return func(int) int { return n } }
func ranks(n int) func(int) int { return func(size int) int { return n * size } }

// total returns the sum over ranks of element i.
func total(size, i int) (sum float32) {
	for r := range size {
		sum += value(r, size, i)
	}
	return sum
}

func trials() []trial {
	const n = 6
	root := func(size int) int { return size - 1 }
	return []trial{
		{"all-reduce", func(g *dist.Group, in, out T) *dist.Work { return g.AllReduce(in, dist.Sum) },
			value, fixed(n), func(_, size, i int) float32 { return total(size, i) }, nil, -1},
		{"all-reduce max", func(g *dist.Group, in, out T) *dist.Work { return g.AllReduce(in, dist.Max) },
			value, fixed(n), func(_, size, i int) float32 { return value(size-1, size, i) }, nil, -1},
		{"all-reduce min", func(g *dist.Group, in, out T) *dist.Work { return g.AllReduce(in, dist.Min) },
			value, fixed(n), func(_, size, i int) float32 { return value(0, size, i) }, nil, -1},
		{"all-reduce average", func(g *dist.Group, in, out T) *dist.Work { return g.AllReduce(in, dist.Average) },
			value, fixed(n), func(_, size, i int) float32 { return total(size, i) / float32(size) }, nil, -1},
		{"broadcast", func(g *dist.Group, in, out T) *dist.Work { return g.Broadcast(in, root(g.Size())) },
			value, fixed(n), func(_, size, i int) float32 { return value(root(size), size, i) }, nil, -1},
		{"reduce", func(g *dist.Group, in, out T) *dist.Work { return g.Reduce(in, 0, dist.Sum) },
			value, fixed(n), func(rank, size, i int) float32 {
				if rank == 0 {
					return total(size, i)
				}
				return value(rank, size, i)
			}, nil, -1},
		{"all-gather", func(g *dist.Group, in, out T) *dist.Work { return g.AllGather(out, in) },
			value, fixed(n), func(_, size, i int) float32 { return value(i/n, size, i%n) }, ranks(n), -1},
		{"reduce-scatter", func(g *dist.Group, in, out T) *dist.Work { return g.ReduceScatter(out, in, dist.Sum) },
			value, ranks(n), func(rank, size, i int) float32 { return total(size, rank*n+i) }, fixed(n), -1},
		{"gather", func(g *dist.Group, in, out T) *dist.Work {
			if g.Rank() != 0 {
				out = T{}
			}
			return g.Gather(out, in, 0)
		}, value, fixed(n), func(_, size, i int) float32 { return value(i/n, size, i%n) }, ranks(n), 0},
		{"scatter", func(g *dist.Group, in, out T) *dist.Work {
			if g.Rank() != root(g.Size()) {
				in = T{}
			}
			return g.Scatter(out, in, root(g.Size()))
		}, value, ranks(n), func(rank, size, i int) float32 { return value(root(size), size, rank*n+i) }, fixed(n), -1},
		{"all-to-all", func(g *dist.Group, in, out T) *dist.Work { return g.AllToAll(out, in) },
			value, ranks(n), func(rank, size, i int) float32 { return value(i/n, size, rank*n+i%n) }, ranks(n), -1},
		{"a ring", func(g *dist.Group, in, out T) *dist.Work {
			return g.Batch(func(b *dist.Batch) {
				b.Send(in, (g.Rank()+1)%g.Size())
				b.Receive(out, (g.Rank()+g.Size()-1)%g.Size())
			})
		}, value, fixed(n), func(rank, size, i int) float32 { return value((rank+size-1)%size, size, i) }, fixed(n), -1},
	}
}

// filled returns n elements of f.
func filled(n int, f func(i int) float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// alike returns how results may differ.
func (c *trial) alike(g *dist.Group) cmp.Option {
	if strings.HasSuffix(c.name, "average") {
		return averaged(g.Device(), g.Size(), optest.Epsilon(tensor.Float32))
	}
	return cmp.Options{}
}

// try makes a trial's call on one rank, and compares what it gets.
func (c *trial) try(t testing.TB, g *dist.Group) error {
	on := tensor.On(g.Device())
	in := tensor.FromSlice(filled(c.ins(g.Size()), func(i int) float32 { return c.in(g.Rank(), g.Size(), i) }), []int{c.ins(g.Size())}, on)
	result, n := in, c.ins(g.Size())
	if c.outs != nil {
		n = c.outs(g.Size())
		result = tensor.Zeros([]int{n}, on)
	}
	if err := c.call(g, in, result).Wait(context.Background()); err != nil {
		return err
	}
	if c.only >= 0 && c.only != g.Rank() {
		return nil
	}
	got, err := tensor.Data[float32](result)
	if err == nil {
		equal(t, fmt.Sprintf("%s on rank %d of %d", c.name, g.Rank(), g.Size()), got,
			filled(n, func(i int) float32 { return c.out(g.Rank(), g.Size(), i) }), c.alike(g))
	}
	return err
}

func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 64} {
		each(t, n, func(t *testing.T, devices []device.Device) {
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				for _, c := range trials() {
					if err := c.try(t, g); err != nil {
						return fmt.Errorf("%s: %w", c.name, err)
					}
				}
				return nil
			})...))
		})
	}
}

// TestOrder makes many calls without waiting in between: they are done in their order,
// after what the current stream was given before.
func TestOrder(t *testing.T) {
	for _, n := range []int{2, 3} {
		each(t, n, func(t *testing.T, devices []device.Device) {
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				x := tensor.Ones([]int{4}, tensor.On(g.Device()))
				var last *dist.Work
				for range 10 {
					last = g.AllReduce(x, dist.Sum)
				}
				if err := last.Wait(context.Background()); err != nil {
					return err
				}
				v, err := tensor.Data[float32](x)
				want := float32(math.Pow(float64(n), 10))
				equal(t, "ten sums", v, []float32{want, want, want, want})
				return err
			})...))
		})
	}
}

func TestDTypes(t *testing.T) {
	for _, n := range []int{2, 3} {
		each(t, n, func(t *testing.T, devices []device.Device) {
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error { return dtypes(t, g) })...))
		})
	}
}

// dtypes reduces the numbers from 1 to the group's size in every dtype.
func dtypes(t testing.TB, g *dist.Group) error {
	sum, product := 0, 1
	for r := range g.Size() {
		sum, product = sum+r+1, product*(r+1)
	}
	results := []float64{dist.Sum: float64(sum), dist.Product: float64(product), dist.Min: 1, dist.Max: float64(g.Size()),
		dist.Average: float64(sum) / float64(g.Size())}
	for _, dt := range ir.AllDTypes() {
		for op, v := range results {
			op := dist.Op(op)
			x := tensor.Full([]int{3}, g.Rank()+1, tensor.On(g.Device()), tensor.OfType(dt))
			if dt == tensor.Bool {
				v = 1
			}
			err := g.AllReduce(x, op).Wait(context.Background())
			if !op.Has(dt) || g.Device().Kind == device.KindCUDA && strings.Contains(fmt.Sprint(err), "NCCL has no "+op.String()) {
				if !errors.Is(err, dist.ErrCall) {
					return fmt.Errorf("%s of %s: %v", op, dt, err)
				}
				continue
			}
			if err != nil {
				return err
			}
			alike := cmp.Option(cmp.Options{})
			if op == dist.Average {
				alike = averaged(g.Device(), g.Size(), optest.Epsilon(dt))
			}
			got, err := tensor.Data[complex128](x.ToType(tensor.Complex128))
			if err != nil {
				return err
			}
			equal(t, fmt.Sprint(op, " of ", dt), got, []complex128{complex(v, 0), complex(v, 0), complex(v, 0)}, alike)
		}
	}
	return nil
}

// TestMismatch has one rank make another call than the others. All ranks learn which.
func TestMismatch(t *testing.T) {
	ranks := 3
	if *kindName == "cuda" { // one process with all of them compares, too
		ranks = 2
	}
	type call = func(g *dist.Group, x T) *dist.Work
	sum := func(g *dist.Group, x T) *dist.Work { return g.AllReduce(x, dist.Sum) }
	for _, c := range []struct {
		name        string
		most, other call
		texts       []string
	}{
		{"kind", sum, func(g *dist.Group, x T) *dist.Work { return g.Broadcast(x, 1) },
			[]string{"all-reduce(sum) of float32 [2 3]", "rank 1", "broadcast of float32 [2 3] from rank 1"}},
		{"operation", sum, func(g *dist.Group, x T) *dist.Work { return g.AllReduce(x, dist.Max) },
			[]string{"all-reduce(sum)", "rank 1", "all-reduce(max)"}},
		{"shape", sum, func(g *dist.Group, x T) *dist.Work { return g.AllReduce(x.Narrow(0, 0, 1), dist.Sum) },
			[]string{"[2 3]", "rank 1", "[1 3]"}},
		{"dtype", sum, func(g *dist.Group, x T) *dist.Work { return g.AllReduce(x.ToType(tensor.Float64), dist.Sum) },
			[]string{"float32", "rank 1", "float64"}},
		{"root", func(g *dist.Group, x T) *dist.Work { return g.Broadcast(x, 0) },
			func(g *dist.Group, x T) *dist.Work { return g.Broadcast(x, 1) },
			[]string{"from rank 0", "rank 1", "from rank 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, ranks, func(t *testing.T, devices []device.Device) {
				errs := together(t, devices, func(g *dist.Group) error {
					x := tensor.Ones([]int{2, 3}, tensor.On(g.Device()))
					make := c.most
					if g.Rank() == 1 {
						make = c.other
					}
					if err := make(g, x).Synchronize(context.Background()); err != nil {
						return err
					}
					return g.Barrier().Synchronize(context.Background())
				})
				wantErrors(t, errs, dist.ErrMismatch, c.texts...)
			})
		})
	}
}

// TestRefused makes calls that cannot be made whatever the others do. The group goes on.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		call       func(g *dist.Group) *dist.Work
	}{
		{"root", "rank 5 of a group of 2", func(g *dist.Group) *dist.Work { return g.Broadcast(tensor.Ones([]int{2}, tensor.On(g.Device())), 5) }},
		{"strides", "not contiguous", func(g *dist.Group) *dist.Work {
			return g.AllReduce(tensor.Ones([]int{2, 3}, tensor.On(g.Device())).Transpose(0, 1), dist.Sum)
		}},
		{"sizes", "does not hold 2 inputs", func(g *dist.Group) *dist.Work {
			x := tensor.Ones([]int{2}, tensor.On(g.Device()))
			return g.AllGather(x, x.Clone())
		}},
		{"zero", "no input", func(g *dist.Group) *dist.Work { return g.AllReduce(T{}, dist.Sum) }},
		{"gradient", "requires gradients", func(g *dist.Group) *dist.Work {
			return g.AllReduce(tensor.Ones([]int{2}, tensor.On(g.Device()), tensor.RequireGrad()), dist.Sum)
		}},
		{"dtype", "average is not an operation of int32", func(g *dist.Group) *dist.Work {
			return g.AllReduce(tensor.Ones([]int{2}, tensor.On(g.Device()), tensor.OfType(tensor.Int32)), dist.Average)
		}},
		{"an error", "add: ", func(g *dist.Group) *dist.Work {
			on := tensor.On(g.Device())
			return g.AllReduce(tensor.Ones([]int{2}, on).Add(tensor.Ones([]int{3}, on)), dist.Sum)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, 2, func(t *testing.T, devices []device.Device) {
				must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
					contains(t, c.call(g).Wait(context.Background()), c.text)
					return g.Barrier().Synchronize(context.Background())
				})...))
			})
		})
	}
}

// TestElsewhere gives a group a tensor of another device.
func TestElsewhere(t *testing.T) {
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		err := g.AllReduce(tensor.Ones([]int{2}), dist.Sum).Wait(context.Background())
		if !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("a host tensor: %v", err)
		}
		return nil
	})...))
}

// TestTimeout has a rank stay away. The others give up, and so does it when it comes.
func TestTimeout(t *testing.T) {
	n, timeout := 3, 50*time.Millisecond
	if *kindName == "cuda" { // whose groups take a while to join
		n, timeout = 2, 10*time.Second
	}
	each(t, n, func(t *testing.T, devices []device.Device) {
		gone := make(chan struct{})
		errs := within(t, timeout, devices, func(g *dist.Group) error {
			x := tensor.Ones([]int{2}, tensor.On(g.Device()))
			if g.Rank() == n-1 {
				<-gone
				return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
			}
			err := g.AllReduce(x, dist.Sum).Synchronize(context.Background())
			if g.Rank() == 0 {
				close(gone)
			}
			return err
		})
		wantErrors(t, errs, dist.ErrTimeout, "all-reduce(sum) of float32 [2]")
	})
}

// TestLeave has a rank close its group, abort it, or return early.
func TestLeave(t *testing.T) {
	onSimulated(t)
	lost := errors.New("its disk is full")
	for _, c := range []struct {
		name  string
		leave func(g *dist.Group) error
		want  error
	}{
		{"close", (*dist.Group).Close, dist.ErrClosed},
		{"abort", func(g *dist.Group) error { g.Abort(lost); return nil }, lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, 3, func(t *testing.T, devices []device.Device) {
				errs := together(t, devices, func(g *dist.Group) error {
					x := tensor.Ones([]int{2}, tensor.On(g.Device()))
					if err := g.AllReduce(x, dist.Sum).Synchronize(context.Background()); err != nil {
						return err
					}
					if g.Rank() == 1 {
						if err := c.leave(g); err != nil {
							return err
						}
					}
					return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
				})
				wantErrors(t, errs, c.want, "rank 1")
			})
		})
	}
}

// TestContext ends a wait. The call goes on.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	each(t, 2, func(t *testing.T, devices []device.Device) {
		come := make(chan struct{})
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			x := tensor.Ones([]int{2}, tensor.On(g.Device()))
			if err := g.Barrier().Synchronize(context.Background()); err != nil { // connects ranks with GPUs
				return err
			}
			if g.Rank() == 1 {
				<-come
			}
			w := g.AllReduce(x, dist.Sum)
			if g.Rank() == 0 {
				err := w.Synchronize(ctx)
				close(come)
				if !errors.Is(err, context.Canceled) {
					return fmt.Errorf("the wait ended with %v", err)
				}
			}
			if err := w.Synchronize(context.Background()); err != nil {
				return err
			}
			equal(t, "sum", data[float32](t, x), []float32{2, 2})
			return nil
		})...))
	})
}

// TestRun has one rank fail: Run returns, with the errors of all.
func TestRun(t *testing.T) {
	onSimulated(t)
	lost := errors.New("no such file")
	err := dist.Run(accelerators(t, 3), func(g *dist.Group) error {
		if g.Rank() == 1 {
			return lost
		}
		return g.Barrier().Synchronize(context.Background())
	}, dist.Timeout(patience.Left(t)))
	if !errors.Is(err, lost) {
		t.Error(err)
	}
	for _, d := range []string{"rank 0", "rank 2"} {
		contains(t, err, "dist: "+d)
	}
	if err := dist.Run(nil, nil); !errors.Is(err, dist.ErrCall) {
		t.Errorf("no devices: %v", err)
	}
	mixed := []device.Device{device.CPU, device.Sim(0)}
	if err := dist.Run(mixed, nil); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("two kinds: %v", err)
	}
}
