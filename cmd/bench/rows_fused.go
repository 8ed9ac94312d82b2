package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// A fusedWork is work of several operators that a compiler makes one kernel of, on a matrix
// and what else it reads.
type fusedWork struct {
	name  string
	in    func(m, line operand) []operand
	ours  func(x ...T) (T, error)
	torch string
}

var fusedWorks = []fusedWork{
	{"chain", func(m, line operand) []operand { return []operand{m, m, m} }, chain, "torch.tanh(a * torch.sigmoid(a) * b + c) * 0.5 + a"},
	{"rms norm of parts", func(m, line operand) []operand { return []operand{m, line} }, normParts,
		"a * torch.rsqrt(a.square().mean(-1, keepdim=True) + 1e-6) * b"},
	{"scaled softmax of parts", func(m, line operand) []operand { return []operand{m} }, softmaxParts,
		"(lambda e: e / e.sum(-1, keepdim=True))((lambda s: torch.exp(s - s.amax(-1, keepdim=True)))(a * 0.125))"},
}

func chain(x ...T) (T, error) {
	y := x[0].Mul(x[0].Sigmoid()).Mul(x[1]).Add(x[2]).Tanh().MulScalar(0.5).Add(x[0])
	return y, y.Err()
}

func normParts(x ...T) (T, error) {
	mean := x[0].Square().Mean(tensor.Dim(-1), tensor.KeepDim())
	y := x[0].Mul(mean.AddScalar(1e-6).Rsqrt()).Mul(x[1])
	return y, y.Err()
}

func softmaxParts(x ...T) (T, error) {
	s := x[0].MulScalar(0.125)
	e := s.Sub(s.Max(tensor.Dim(-1), tensor.KeepDim())).Exp()
	y := e.Div(e.Sum(tensor.Dim(-1), tensor.KeepDim()))
	return y, y.Err()
}

// gradientOf is the gradient of f with respect to its first operand, for one of its result that is the
// last.
func gradientOf(f func(x ...T) (T, error)) func(x ...T) (T, error) {
	return func(x ...T) (T, error) {
		last := len(x) - 1
		leaf := x[0].Detach().RequireGrad()
		y, err := f(append([]T{leaf}, x[1:last]...)...)
		if err != nil {
			return y, err
		}
		list, err := tensor.Gradients([]T{y}, []T{leaf}, tensor.WithGradient(x[last]))
		if err != nil {
			return T{}, err
		}
		return list[0], nil
	}
}

// program makes calls of f as a program.
func program(f func(x ...T) (T, error)) maker {
	return func(o *ourSide) (call, error) {
		c := compile.Func(f)
		o.after = append(o.after, func() error { c.Close(); return nil })
		return func(x []T) error {
			y, err := c.Call(x...)
			y.Release()
			return err
		}, nil
	}
}

// rows returns the work over a matrix as eager calls and as a program, beside PyTorch's eager
// calls and, where it compiles, what its compiler makes.
func (f *fusedWork) rows(m, line operand, compiled bool) []row {
	return f.pair(m, f.in(m, line), f.ours, compiled, "", func(y string) string { return y })
}

// gradientRows are rows of the gradient with respect to the first operand, for one of the result
// that is an operand more.
func (f *fusedWork) gradientRows(m, line operand, compiled bool) []row {
	in := f.in(m, line)
	own := fusedWork{"gradient of " + f.name, nil, nil, f.torch}
	of := in[0]
	of.Name = "g"
	return own.pair(m, append(slices.Clone(in), of), gradientOf(f.ours), compiled, "a.requires_grad_()",
		func(y string) string { return "torch.autograd.grad(" + y + ", a, g)[0]" })
}

// pair are the two rows of what ours computes; of is PyTorch's statement, by that of the work's result,
// after a setup.
func (f *fusedWork) pair(m operand, in []operand, ours func(x ...T) (T, error), compiled bool, setup string, of func(y string) string) []row {
	eager := row{name: f.name, in: in, setup: setup, torch: of(f.torch),
		ours: result(func(x []T) T { return inScope(func() T { y, _ := ours(x...); return y }) })} // an error sticks to the tensor
	made := row{name: f.name + ", compiled", in: in, setup: setup, torch: of(f.torch), ours: program(ours)}
	if compiled {
		args := slices.DeleteFunc(slices.Clone(in), func(o operand) bool { return o.Name == "g" })
		made.setup = strings.TrimSuffix("f = torch.compile(lambda a, b=None, c=None, d=None: "+f.torch+"); "+setup, "; ")
		made.torch = of("f(" + "a, b, c, d"[:3*len(args)-2] + ")")
	}
	bytes := m.bytes()
	for _, o := range in {
		bytes += o.bytes()
	}
	eager.work, made.work = float64(bytes), float64(bytes)
	return []row{eager, made}
}

// fusedRows are such works on a device, and what there is no operator for here yet.
func (w *workload) fusedRows(compiled bool) (rows []row) {
	for _, f := range fusedWorks {
		rows = append(rows, f.rows(f32(w.side, w.side), f32(w.side), compiled)...)
	}
	if compiled {
		rows = append(rows,
			row{name: "attention, causal, bf16", in: repeated(operand{Shape: []int{8, 16, w.side / 4, 64}, DType: "bfloat16"}, 3),
				torch: "F.scaled_dot_product_attention(a, b, c, is_causal=True)"},
			row{name: "fft 256 x 65536", in: []operand{f32(256, 8*w.side)}, setup: "z = torch.randn(256, 65536, dtype=torch.complex64, device=device)", torch: "torch.fft.fft(z)"})
	}
	return grouped(fmt.Sprintf("Work of several operators, %d x %d float32", w.side, w.side), measured(deviceTime, milliseconds, rows))
}

// cpuFusedRows are such works of rows of 1024 on the CPU, in the second cache and from memory.
func (w *workload) cpuFusedRows(compiled bool) (rows []row) {
	cached := make([]string, len(fusedWorks)) // by work: the row of its program in a cache
	for _, at := range w.cpuSizes() {
		length := 1024
		if at.n < length*32 { // a quick run
			length = 64
		}
		if at.level == "L3" || at.level == "L1" && w.spread != 0 {
			continue
		}
		for i := range fusedWorks {
			list := fusedWorks[i].rows(f32(at.n/length, length), f32(length), compiled)
			for k := range list {
				list[k].name += fmt.Sprintf(" %s (%s)", size(at.n), at.level)
			}
			made := &list[1]
			made.targets = []target{atLeast(1, byPyTorch)}
			if at.level == "memory" { // in the second cache arithmetic alone bounds it
				made.targets = append(made.targets, atLeast(0.95, memcpyLimit).orAtLeast(0.9, cached[i]))
			} else {
				cached[i] = made.name
			}
			rows = append(rows, list...)
		}
	}
	rows = grouped("Work of several operators, rows of 1024 float32", measured(wallTime, bandwidth, rows))
	var all []row
	for _, threads := range cpuThreads {
		for _, r := range rows {
			all = append(all, r.with(threads))
		}
	}
	return all
}
