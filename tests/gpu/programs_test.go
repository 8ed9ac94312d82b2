package gpu_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

var programs = flag.Int("programs", 300, "how many random programs to compare")

// TestPrograms runs random programs on the CPU and on the GPU: a dozen operators
// on tensors of random shapes and layouts, in-place changes among them, then a
// backward pass. Results and gradients must agree.
func TestPrograms(t *testing.T) {
	need(t)
	exactly(t)
	failures := 0
	for seed := range *programs {
		if !shard.has(seed) {
			continue
		}
		want, err := runProgram(uint64(seed), device.CPU)
		if err != nil {
			t.Fatalf("program %d on the CPU: %v", seed, err)
		}
		got, err := runProgram(uint64(seed), gpu)
		if err == nil {
			err = want.differ(got)
		}
		if err != nil {
			t.Errorf("program %d: %v\n%v", seed, err, want.text)
			if failures++; failures == 5 {
				t.Fatal("more programs are not run")
			}
		}
	}
}

// An outcome is what a program made: the operators in words, and the elements of
// all results and gradients.
type outcome struct {
	text    []string
	shapes  [][]int
	results [][]float64
}

// rough is how far results may lie apart, relative to the larger of 1 and their
// size: programs round to float32 on the way.
const rough = 2e-4

func (o outcome) differ(got outcome) error {
	if !slices.Equal(o.text, got.text) {
		return fmt.Errorf("another program ran: %v", got.text)
	}
	for i, want := range o.results {
		if !slices.Equal(o.shapes[i], got.shapes[i]) {
			return fmt.Errorf("result %d has shape %v, want %v", i, got.shapes[i], o.shapes[i])
		}
		if k := far(want, got.results[i], rough); k >= 0 {
			return fmt.Errorf("element %d of result %d of %d, shape %v, is %v, want %v", k, i, len(o.results), o.shapes[i], got.results[i][k], want[k])
		}
	}
	return nil
}

// shapes are those of programs' operands.
var shapes = [][]int{{7}, {33, 5}, {4, 17, 9}, {64, 64}, {257}, {128, 130}, {1, 40}, {3, 2, 2, 31}, {2050}, {16, 1, 70}}

// program is one that is being run. All its choices come from r and from shapes,
// so it is the same on every device.
type program struct {
	*rand.Rand
	dev  device.Device
	live []T
	out  outcome
	err  error // of calls that return no tensor
}

func runProgram(seed uint64, dev device.Device) (o outcome, err error) {
	tensor.Scope(func() error {
		p := &program{Rand: rand.New(rand.NewPCG(seed, 11)), dev: dev}
		var leaves []T
		for range 4 {
			x := p.fresh(shapes[p.IntN(p.limit(len(shapes)))])
			leaves = append(leaves, x.RequireGrad())
		}
		p.live = slices.Clone(leaves)
		for range 8 + p.IntN(10) {
			p.step()
		}
		o, err = p.finish(leaves)
		return nil
	})
	return o, err
}

// limit keeps programs of simulated devices small.
func (p *program) limit(n int) int {
	if *simulated {
		return min(n, 3)
	}
	return n
}

// fresh returns a tensor of numbers that are the same on every device, now and
// then as float32 or in another layout.
func (p *program) fresh(shape []int) T {
	data := make([]float64, ir.NumElements(shape))
	for i := range data {
		data[i] = p.NormFloat64()
	}
	x := tensor.From(data, shape...).To(p.dev)
	switch p.IntN(4) {
	case 0:
		x = x.ToType(tensor.Float32)
	case 1:
		if len(shape) > 1 {
			x = x.Transpose(0, -1).Contiguous().Transpose(0, -1)
		}
	}
	return x.Detach()
}

// step applies a random operator to random tensors.
func (p *program) step() {
	at := p.IntN(len(p.live))
	x := p.live[at]
	if x.Rank() == 0 {
		x = x.Reshape(1)
	}
	op := steps[p.IntN(len(steps))]
	out := op.apply(p, x)
	p.out.text = append(p.out.text, fmt.Sprintf("%s %v of %d", op.name, x.Shape(), at))
	if out.NumElements() == 0 && out.Err() == nil || out.NumElements() > 1<<20 {
		return
	}
	p.live = append(p.live, out)
}

// beside returns another operand for x: of its shape or one that broadcasts.
func (p *program) beside(x T) T {
	shape := slices.Clone(x.Shape())
	for i := range shape {
		if p.IntN(4) == 0 {
			shape[i] = 1
		}
	}
	if len(shape) > 1 && p.IntN(4) == 0 {
		shape = shape[1:]
	}
	return p.fresh(shape)
}

// axis returns one of x's axes.
func (p *program) axis(x T) int { return p.IntN(x.Rank()) }

// finish adds up what is live, differentiates that, and collects all elements.
func (p *program) finish(leaves []T) (outcome, error) {
	loss := tensor.Zeros([]int{}, tensor.On(p.dev), tensor.OfType(tensor.Float64))
	all := slices.Clone(p.live)
	for _, x := range p.live {
		loss = loss.Add(x.ToType(tensor.Float64).Tanh().Mean())
	}
	if err := errors.Join(p.err, loss.Backward()); err != nil {
		return p.out, fmt.Errorf("%w after %v", err, p.out.text)
	}
	for _, x := range leaves {
		g, ok := x.Grad()
		if !ok {
			return p.out, errors.New("a leaf has no gradient")
		}
		all = append(all, g)
	}
	for _, x := range append(all, loss) {
		v, err := values(x)
		if err != nil {
			return p.out, err
		}
		p.out.shapes = append(p.out.shapes, x.Shape())
		p.out.results = append(p.out.results, v)
	}
	return p.out, nil
}

// steps are the operators of programs. Each keeps numbers of moderate size
// moderate, so that what one device rounds does not grow.
var steps = []struct {
	name  string
	apply func(p *program, x T) T
}{
	{"add", func(p *program, x T) T { return x.Add(p.beside(x)).Tanh() }},
	{"sub", func(p *program, x T) T { return p.beside(x).Sub(x).Sin() }},
	{"mul", func(p *program, x T) T { return x.Mul(p.beside(x)).Tanh() }},
	{"div", func(p *program, x T) T { return x.Div(p.beside(x).Square().AddScalar(1)) }},
	{"scale", func(p *program, x T) T { return x.MulScalar(0.5).AddScalar(0.25) }},
	{"sigmoid", func(p *program, x T) T { return x.Sigmoid() }},
	{"gelu", func(p *program, x T) T { return x.GELU() }},
	{"silu", func(p *program, x T) T { return x.SiLU() }},
	{"exp", func(p *program, x T) T { return x.Square().Neg().Exp() }},
	{"erf", func(p *program, x T) T { return x.Erf() }},
	{"where", func(p *program, x T) T { return tensor.Where(x.GtScalar(0.1), x, x.MulScalar(0.1)) }},
	{"maximum", func(p *program, x T) T { return x.Maximum(p.beside(x)).Tanh() }},
	{"clamp", func(p *program, x T) T { return x.ClampScalar(-0.7, 0.9) }},
	{"softmax", func(p *program, x T) T { return x.Softmax(p.axis(x)) }},
	{"mean", func(p *program, x T) T { return x.Mean(tensor.Dim(p.axis(x)), tensor.KeepDim(p.IntN(2) == 0)) }},
	{"max", func(p *program, x T) T {
		v, _ := x.MaxDim(p.axis(x))
		return v
	}},
	{"logsumexp", func(p *program, x T) T { return x.Logsumexp([]int{p.axis(x)}).Tanh() }},
	{"cumsum", func(p *program, x T) T {
		d := p.axis(x)
		return x.Cumsum(d).DivScalar(float64(max(x.Size(d), 1)))
	}},
	{"sort", func(p *program, x T) T {
		v, _ := x.Sort(p.axis(x), tensor.Descending(p.IntN(2) == 0))
		return v
	}},
	{"topk", func(p *program, x T) T {
		d := p.axis(x)
		v, _ := x.Topk(max(1, x.Size(d)/3), d)
		return v
	}},
	{"transpose", func(p *program, x T) T { return x.Transpose(p.axis(x), p.axis(x)) }},
	{"flip", func(p *program, x T) T { return x.Flip(p.axis(x)) }},
	{"roll", func(p *program, x T) T { return x.Roll([]int{p.IntN(9) - 4}, tensor.Dim(p.axis(x))) }},
	{"slice", func(p *program, x T) T {
		d := p.axis(x)
		return x.Slice(d, p.IntN(max(x.Size(d)/2, 1)), x.Size(d), 1+p.IntN(3))
	}},
	{"cat", func(p *program, x T) T { return tensor.Cat([]T{x, x.MulScalar(0.5), x}, p.axis(x)) }},
	{"pad", func(p *program, x T) T { return x.Pad([]int{p.IntN(3), p.IntN(3)}, tensor.Value(0.5)) }},
	{"reshape", func(p *program, x T) T { return x.Reshape(-1) }},
	{"index select", func(p *program, x T) T {
		d := p.axis(x)
		index := make([]int64, 1+p.IntN(12))
		for i := range index {
			index[i] = p.Int64N(int64(max(x.Size(d), 1)))
		}
		return x.IndexSelect(d, tensor.From(index).To(p.dev))
	}},
	{"matmul", func(p *program, x T) T {
		if x.Rank() < 2 {
			return x.Outer(p.fresh([]int{5})).Tanh()
		}
		k := x.Size(-1)
		return x.MatMul(p.fresh([]int{k, 1 + p.IntN(40)}).ToType(x.DType())).MulScalar(1 / math.Sqrt(float64(k)))
	}},
	{"layer norm", func(p *program, x T) T { return x.LayerNorm([]int{x.Size(-1)}, tensor.Eps(0.5)) }},
	{"round to float32", func(p *program, x T) T { return x.ToType(tensor.Float32) }},
	{"to float64", func(p *program, x T) T { return x.ToType(tensor.Float64) }},
	{"to the host and back", func(p *program, x T) T { return x.CPU().MulScalar(0.75).To(p.dev) }},
	{"in place", func(p *program, x T) T { return p.inPlace(x) }},
}

// inPlace changes a copy of x through a view of it.
func (p *program) inPlace(x T) T {
	c := x.Detach().Clone()
	d := p.axis(x)
	v := c.Narrow(d, 0, (c.Size(d)+1)/2)
	p.err = errors.Join(p.err, v.MulScalarInPlace(0.25), v.AddInPlace(v.Clone().Sin()))
	return c.Add(x)
}
