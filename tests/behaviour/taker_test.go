package behaviour_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
)

// A taker notes what it is given.
type taker struct {
	log  []string
	fail error // of Take
	end  error // of Finish
}

func (k *taker) Take(leaf int, g *core.Tensor) error {
	v, err := core.Data[float64](g)
	k.log = append(k.log, fmt.Sprint("take ", leaf, v))
	return errors.Join(err, k.fail)
}

func (k *taker) Finish(err error) error {
	k.log = append(k.log, fmt.Sprint("finish ", err != nil))
	return k.end
}

// TestTaker: gradients of leaves with a taker come to it once each when they are
// complete, in the order in which they are, and are not accumulated.
func TestTaker(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name string
		k    taker
		want string
		err  error
	}{
		{"taken", taker{}, "take 2 [18] take 1 [15] finish false", nil},
		{"not taken", taker{fail: refused}, "take 2 [18] finish true", refused},
		{"not finished", taker{end: refused}, "take 2 [18] take 1 [15] finish false", refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, y, z := leafOf([]float64{2}), leafOf([]float64{3}), leafOf([]float64{5})
			must(t, x.Handle().SetTaker(&c.k, 1))
			must(t, y.Handle().SetTaker(&c.k, 2))
			// y is read first, and again: the pass goes the other way.
			loss := x.Mul(z).Mul(y).Add(y.Mul(y).MulScalar(0)).Add(y.MulScalar(8)).Sum()
			err := loss.Backward()
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if got := strings.Join(c.k.log, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for name, l := range map[string]T{"x": x, "y": y} {
				if _, has := l.Grad(); has {
					t.Errorf("%s has a gradient", name)
				}
			}
			if _, has := z.Grad(); has != (c.err == nil) {
				t.Errorf("z has a gradient: %v", has)
			}
			must(t, x.Handle().SetTaker(nil, 0))
			must(t, y.Handle().SetTaker(nil, 0))
			must(t, x.MulScalar(7).Sum().Backward())
			g, _ := x.Grad()
			wantValues(t, "x", g, 7)
		})
	}
}

// TestTakerRefused: a leaf has one taker, and only a leaf has one.
func TestTakerRefused(t *testing.T) {
	x := leafOf([]float64{2})
	must(t, x.Handle().SetTaker(&taker{}, 0))
	defer func() { must(t, x.Handle().SetTaker(nil, 0)) }()
	for name, of := range map[string]T{"twice": x, "no leaf": x.MulScalar(2), "no gradient": tensor.Ones([]int{1})} {
		if err := of.Handle().SetTaker(&taker{}, 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTakerOfOtherPasses: Gradients gives gradients to its caller and not to takers.
func TestTakerOfOtherPasses(t *testing.T) {
	x, k := leafOf([]float64{2}), &taker{}
	must(t, x.Handle().SetTaker(k, 0))
	defer func() { must(t, x.Handle().SetTaker(nil, 0)) }()
	gs, err := tensor.Gradients([]T{x.Square().Sum()}, []T{x})
	must(t, err)
	wantValues(t, "x", gs[0], 4)
	if len(k.log) > 0 {
		t.Errorf("the taker was given %v", k.log)
	}
}
