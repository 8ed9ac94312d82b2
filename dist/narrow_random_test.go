package dist_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// narrowed returns x rounded to even to a format of so many binary digits, whose numbers are multiples of 1<<least
// and no larger than most.
func narrowed(x float32, digits, least int, most float64) float32 {
	v := float64(x)
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return x
	}
	_, exp := math.Frexp(v)
	unit := max(exp-digits, least)
	if v = math.Ldexp(math.RoundToEven(math.Ldexp(v, -unit)), unit); math.Abs(v) > most {
		v = math.Inf(int(math.Copysign(1, v)))
	}
	return float32(v)
}

var narrowFormats = map[tensor.DType]func(float32) float32{
	tensor.BFloat16: func(x float32) float32 { return narrowed(x, 8, -133, 0x1.fep127) },
	tensor.Float16:  func(x float32) float32 { return narrowed(x, 11, -24, 65504) },
}

// ownGrads are what a pass adds to a gradient, by rank: of numbers that 16 bits do not hold, too small and too large ones.
var ownGrads = [2][]float32{
	{1 + 0x1p-20, -3.1415927, 1e-8, 0.1, 1000.5, 0, 65519, 70000, float32(math.Inf(1)), 1, 1e-30},
	{0x1p-10, 2.7182817, 3e-8, -0.3, -1e-3, 0, 65519, 1, float32(math.Inf(-1)), float32(math.NaN()), 2e38},
}

// A ledger is what two ranks' gradients and parameters are to be.
type ledger struct {
	round  func(float32) float32
	grads  [2][]float32 // nil: none
	values [2][]float32
}

// do takes one step of a script.
func (l *ledger) do(what byte, times float32) {
	for rank, own := range ownGrads {
		g := l.grads[rank]
		switch what {
		case 'z', 'M':
			l.grads[rank] = nil
		case 'h':
			for i := range g {
				g[i] *= 0.5
			}
		case 'o':
			for i := range g {
				l.values[rank][i] -= 0.5 * g[i]
			}
		}
		if what != 's' && what != 'n' && what != 'M' {
			continue
		}
		next := make([]float32, len(own))
		for i, x := range own {
			if next[i] = x * times; l.grads[rank] != nil {
				next[i] = g[i] + next[i]
			}
		}
		l.grads[rank] = next
	}
	if what != 's' && what != 'M' {
		return
	}
	for i := range ownGrads[0] {
		mean := float32(0.5*float64(l.round(l.grads[0][i])) + 0.5*float64(l.round(l.grads[1][i])))
		l.grads[0][i], l.grads[1][i] = mean, mean
	}
	if what == 'M' {
		l.do('o', 0)
	}
}

// narrowScripts are passes (s) and passes on each rank alone (n), by how often the gradients are taken, steps (o), passes with a
// step by Minimize (M); gradients are looked at (r), halved in place (h), as by who clips or unscales them, and
// forgotten (z).
var narrowScripts = []string{
	"s1 r", "s1 o", "s1 r o", "s1 r r o", "s1 h o r", "s1 o r h r",
	"n1 s2 r o", "n1 n2 s1 o r", "n1 r s1 r o", "n1 h s1 o",
	"s1 s2 r o", "s1 r s2 o r", "s1 n2 r", "s1 n2 s1 o", "s1 h s1 r o",
	"M1 r", "M1 o", "M1 M2 r", "M1 r M2 r h o", "M1 s1 r o", "M1 n1 s1 o r", "n1 M2 r", "M1 z s1 o r", "s1 z n1 r z M1 r",
}

// randomScript returns one of so many steps. Where ranks have other gradients there is no step of the optimizer.
func randomScript(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 51))
	var list []string
	for same := true; len(list) < n; {
		what := "snMorrhz"[r.IntN(8)]
		if what == 'o' && !same {
			continue
		}
		same = what == 's' || what == 'M' || what == 'z' || same && what != 'n'
		if times := ""; strings.IndexByte("snM", what) >= 0 {
			times = fmt.Sprint(1 + r.IntN(3))
			list = append(list, string(what)+times)
		} else {
			list = append(list, string(what))
		}
	}
	return strings.Join(list, " ")
}

// TestNarrowScripts has two ranks exchange rounded gradients between passes of their own, steps, looks and changes: gradients are to
// the bit the mean of what both rounded, and optimizers read it, also where the state is divided.
func TestNarrowScripts(t *testing.T) {
	scripts := narrowScripts
	seeds := uint64(60)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		scripts = append(scripts, randomScript(seed, 8))
	}
	each(t, 2, func(t *testing.T, devices []device.Device) {
		for compress, round := range narrowFormats {
			for _, sharded := range []bool{false, true} {
				for _, apart := range []int{1 << 20, 1} {
					if testing.Short() && sharded == (apart == 1) {
						continue
					}
					t.Run(fmt.Sprintf("%s, sharded %t, apart %d", compress, sharded, apart), func(t *testing.T) {
						defer dist.SetApartBytes(dist.SetApartBytes(apart))
						must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
							for _, script := range scripts {
								if err := playNarrow(t, g, script, compress, round, sharded); err != nil {
									return fmt.Errorf("%s: %w", script, err)
								}
							}
							return nil
						})...))
					})
				}
			}
		}
	})
}

// playNarrow has a rank play a script, and compares what it has after each step that looks, and in the end.
func playNarrow(t *testing.T, g *dist.Group, script string, compress tensor.DType, round func(float32) float32, sharded bool) error {
	n := len(ownGrads[0])
	want := ledger{round: round, values: [2][]float32{make([]float32, n), make([]float32, n)}}
	own := tensor.From(ownGrads[g.Rank()]).To(g.Device())
	p := nn.NewParameter(tensor.Zeros([]int{n}, tensor.On(g.Device())))
	d, err := dist.NewDistributedDataParallel(g, &struct{ P *nn.Parameter }{p}, dist.Compress(compress))
	if err != nil {
		return err
	}
	var o optim.Optimizer
	build := func(part []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(part, 0.5) }
	if o, err = build([]*nn.Parameter{p}); sharded {
		o, err = dist.NewShardedOptimizer(g, []*nn.Parameter{p}, build)
	}
	if err != nil {
		return err
	}
	look := func(done string) error {
		grad, has := p.Grad()
		if has != (want.grads[g.Rank()] != nil) {
			t.Errorf("%s of %s: there is a gradient: %t", done, script, has)
		}
		if !has {
			return nil
		}
		defer grad.Release()
		got, err := tensor.Data[float32](grad)
		equal(t, fmt.Sprintf("the gradient of rank %d after %q of %q", g.Rank(), done, script), got, want.grads[g.Rank()], cmpopts.EquateNaNs())
		return err
	}
	done := ""
	for what := range strings.FieldsSeq(script) {
		times := float32(0)
		if len(what) > 1 {
			times = float32(what[1] - '0')
		}
		want.do(what[0], times)
		done += what + " "
		err := tensor.Scope(func() error { return stepNarrow(what[0], times, p, own, d, o, func() error { return look(done) }) })
		if err != nil {
			return err
		}
	}
	got, err := tensor.Data[float32](p.Detach())
	equal(t, fmt.Sprintf("the parameter of rank %d after %q", g.Rank(), script), got, want.values[g.Rank()],
		cmpopts.EquateApprox(1e-6, 0), cmp.FilterValues(neitherFinite, cmp.Ignore()))
	return errors.Join(err, look(done), d.Close())
}

// neitherFinite reports whether both elements are infinite or NaN: a step by an infinite gradient makes the former of a
// parameter, and the next one the latter, as its decay is 0 times that.
func neitherFinite(x, y float32) bool { return x-x != 0 && y-y != 0 }

// stepNarrow takes one step of a script.
func stepNarrow(what byte, times float32, p *nn.Parameter, own T, d *dist.DistributedDataParallel, o optim.Optimizer, look func() error) error {
	loss := func() T { return p.Mul(own.MulScalar(float64(times))).Sum() }
	switch what {
	case 's':
		return loss().Backward()
	case 'n':
		return d.NoSync(func() error { return loss().Backward() })
	case 'M':
		_, err := d.Minimize(o, loss)
		return err
	case 'o':
		return o.Step()
	case 'z':
		return o.ZeroGrad()
	case 'h':
		return tensor.NoGrad(func() error {
			g, has := p.Grad()
			if !has {
				return nil
			}
			return g.MulScalarInPlace(0.5)
		})
	}
	return look()
}
