package compile_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
)

// A nest is a compiled function that does something with itself while it is recorded.
type nest struct {
	*compile.Compiled[tensor.Tensor]
	inside func(n *nest, x tensor.Tensor) (tensor.Tensor, error)
	depth  int
	before tensor.Tensor // a result of an earlier call
	of     tensor.Tensor // its argument
}

// cube is what the function computes where nothing else is to be done.
func cube(x tensor.Tensor) (tensor.Tensor, error) { y := x.Square().Mul(x); return y, y.Err() }

// second returns the second derivatives of the sum of y by x.
func second(y, x tensor.Tensor) (tensor.Tensor, error) {
	g, err := tensor.Gradients([]tensor.Tensor{y.Sum()}, []tensor.Tensor{x}, tensor.CreateGraph())
	if err != nil {
		return tensor.Tensor{}, err
	}
	if g, err = tensor.Gradients([]tensor.Tensor{g[0].Sum()}, []tensor.Tensor{x}, tensor.CreateGraph()); err != nil {
		return tensor.Tensor{}, err
	}
	return g[0], nil
}

// TestInsideItself: a function that calls or prepares itself while it is recorded, or asks for
// its own gradients of gradients, is recorded or refused. It never waits for itself.
func TestInsideItself(t *testing.T) {
	ones := tensor.Ones([]int{3}) // another shape than that of what is recorded
	for _, c := range []struct {
		name   string
		inside func(n *nest, x tensor.Tensor) (tensor.Tensor, error)
		want   float32 // of 2; 0 where it is refused
	}{
		{"calls itself", func(n *nest, x tensor.Tensor) (tensor.Tensor, error) { return n.Call(x) }, 8},
		{"prepares itself", func(n *nest, x tensor.Tensor) (tensor.Tensor, error) {
			if err := errors.Join(n.Prepare(x), n.Prepare(ones), n.Wait(context.Background())); err != nil {
				return tensor.Tensor{}, err
			}
			return n.Call(x)
		}, 8},
		{"prepares another", func(_ *nest, x tensor.Tensor) (tensor.Tensor, error) {
			other := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return cube(x[0]) })
			defer other.Close()
			if err := other.Prepare(x); err != nil {
				return tensor.Tensor{}, err
			}
			return other.Call(x)
		}, 8},
		{"its second gradient", func(n *nest, x tensor.Tensor) (tensor.Tensor, error) {
			y, err := n.Call(x)
			if err != nil {
				return tensor.Tensor{}, err
			}
			return second(y, x)
		}, 12},
		{"a hook that calls it", func(n *nest, x tensor.Tensor) (tensor.Tensor, error) {
			y, err := n.Call(x)
			if err != nil {
				return tensor.Tensor{}, err
			}
			if _, err := y.RegisterHook(func(g tensor.Tensor) tensor.Tensor {
				z, err := n.Call(g)
				must(t, err)
				return z
			}); err != nil {
				return tensor.Tensor{}, err
			}
			return second(y, x)
		}, 12},
		{"the second gradient of what it was", func(n *nest, _ tensor.Tensor) (tensor.Tensor, error) { return second(n.before, n.of) }, 0},
		{"outside of the recording", func(n *nest, _ tensor.Tensor) (y tensor.Tensor, err error) {
			core.Unrecorded(func() { y, err = n.Call(ones) })
			return y, err
		}, 0},
		{"its second gradient outside of the recording", func(n *nest, _ tensor.Tensor) (y tensor.Tensor, err error) {
			core.Unrecorded(func() { y, err = second(n.before, n.of) })
			return y, err
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &nest{inside: c.inside}
			n.Compiled = compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				if n.depth--; n.depth != 0 {
					return cube(x[0])
				}
				return n.inside(n, x[0])
			}, compile.Captures(), compile.Key(func() any { return n.inside != nil }))
			defer n.Close()
			n.of = tensor.Full([]int{5}, 2.0).RequireGrad()
			was := n.inside
			n.inside = nil
			var err error
			n.before, err = n.Call(n.of) // as an ordinary function
			must(t, err)
			n.inside, n.depth = was, 1
			x := tensor.Full([]int{4}, 2.0).RequireGrad()
			y, err := n.Call(x)
			if c.want == 0 {
				if !errors.Is(err, compile.ErrUnrecordable) {
					t.Errorf("%v, want %v", err, compile.ErrUnrecordable)
				}
			} else if must(t, err); !cmp.Equal(values(t, y)[0], c.want) {
				t.Errorf("%v, want %v", y, c.want)
			}
			n.inside = nil
			y, err = second(n.before, n.of) // which goes on as if nothing had happened
			if err != nil || values(t, y)[0] != 12 {
				t.Errorf("afterwards the second gradient is %v, %v", y, err)
			}
		})
	}
}

// An asking handler of logs asks a compiled function for its figures.
type asking struct {
	slog.Handler
	ask func()
}

func (a asking) Handle(context.Context, slog.Record) error { a.ask(); return nil }

// TestManyTraces: that a function is recorded again and again is said once, and who is told may
// ask the function about it.
func TestManyTraces(t *testing.T) {
	was := slog.Default()
	defer slog.SetDefault(was)
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return cube(x[0]) })
	defer f.Close()
	asked := 0
	slog.SetDefault(slog.New(asking{was.Handler(), func() {
		if s := f.Stats(); s.Traces > 0 {
			asked++
		}
	}}))
	for n := range 12 {
		_, err := f.Call(tensor.Ones([]int{n + 1}))
		must(t, err)
	}
	if asked != 1 {
		t.Errorf("it was said %d times", asked)
	}
}
