// Package mathlib holds mathematical functions as lane programs. Each is straight
// line code, right for every argument: signed zeros, subnormal numbers, infinities
// and NaN as in package ir/num. Polynomials are minimax approximations whose
// coefficients were rounded one after the other, the rest fitted again each time;
// testdata/fit.py computes them. The package knows nothing of processors but which
// operations are cheap on them, and nothing of tensors.
package mathlib

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/codegen/lane"
)

// A Set is the instruction set that a program is made for: what is cheap on it. NEON
// starts with the programs of AVX2, which use what every processor has, but for Lookup of
// more than 16 entries, which they have not; a Set of its own is worth it where tables are
// cheap, as TBL is.
type Set uint8

// The sets. A program for AVX512 may use what is slow or missing in AVX2.
const (
	AVX2 Set = iota
	AVX512
)

// A Func is one function of one dtype.
type Func struct {
	Name  string
	Type  lane.Type // F32 or F64
	Arity int
	// ULP bounds the error over the whole domain, in units in the last place of
	// the exact result; below the normal numbers, in units of the least one.
	ULP float64
	// Method says in a word how it is computed.
	Method string

	full func(p prog, x []lane.V) lane.V
	// fast, if not nil, is right where the first argument's magnitude is below
	// limit.
	fast  func(p prog, x []lane.V) lane.V
	limit float64
}

// Prog returns the program that is right for every argument.
func (f Func) Prog(set Set) (*lane.Prog, error) { return f.build(f.full, set) }

// Fast returns the program to be used where the first argument's magnitude is below
// limit in all lanes of a vector, and nil for functions that have none. NaN is not
// below it.
func (f Func) Fast(set Set) (p *lane.Prog, limit float64, err error) {
	if f.fast == nil {
		return nil, 0, nil
	}
	p, err = f.build(f.fast, set)
	return p, f.limit, err
}

// Inlinable reports whether the program is as fast within a loop as the subroutine
// made from it: whether there is no Fast.
func (f Func) Inlinable() bool { return f.fast == nil }

func (f Func) build(body func(p prog, x []lane.V) lane.V, set Set) (*lane.Prog, error) {
	p := prog{new(lane.Prog), f.Type, set}
	x := make([]lane.V, f.Arity)
	for i := range x {
		x[i] = p.Arg(i, f.Type)
	}
	p.Out(body(p, x))
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("mathlib: %s of %v: %w", f.Name, f.Type, err)
	}
	return p.Prog, nil
}

// Table returns all functions, by name and dtype.
func Table() []Func { return slices.Clone(table()) }

// table is made when it is first asked for: a program that imports this package may
// never do so.
var table = sync.OnceValue(func() []Func {
	all := slices.Concat(exponentials(), logarithms(), hyperbolics(), errorFunctions(), inverses(), roots(), gammas(), powers(),
		trigonometric(), activations())
	slices.SortFunc(all, func(a, b Func) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type)) })
	return all
})

// Lookup returns the function of a name and a dtype.
func Lookup(name string, t lane.Type) (Func, bool) {
	for _, f := range table() {
		if f.Name == name && f.Type == t {
			return f, true
		}
	}
	return Func{}, false
}

// prog is a program under construction, with the dtype that it is for.
type prog struct {
	*lane.Prog
	t   lane.Type
	set Set
}

// both is a function for both dtypes, with the bounds of F32 and of F64.
func both(f Func, ulp32, ulp64 float64) []Func {
	single, double := f, f
	single.Type, single.ULP = lane.F32, ulp32
	double.Type, double.ULP = lane.F64, ulp64
	return []Func{single, double}
}

// unary adapts a function of one argument.
func unary(f func(p prog, x lane.V) lane.V) func(prog, []lane.V) lane.V {
	return func(p prog, x []lane.V) lane.V { return f(p, x[0]) }
}

// c is a constant of the dtype.
func (p prog) c(x float64) lane.V { return p.ConstF(p.t, x) }

// i is a constant integer as wide as the dtype.
func (p prog) i(x int64) lane.V { return p.ConstI(p.t.Int(), x) }

// bits is x as an integer.
func (p prog) bits(x lane.V) lane.V { return p.Bits(x, p.t.Int()) }

// float is an integer's bits as a number of the dtype.
func (p prog) float(x lane.V) lane.V { return p.Bits(x, p.t) }

// pick is the constant for the dtype.
func (p prog) pick(f32, f64 float64) float64 {
	if p.t == lane.F32 {
		return f32
	}
	return f64
}

// list is the coefficients for the dtype.
func (p prog) list(f32, f64 []float64) []float64 {
	if p.t == lane.F32 {
		return f32
	}
	return f64
}

// mantissa is the number of stored bits of the significand.
func (p prog) mantissa() int {
	if p.t == lane.F32 {
		return 23
	}
	return 52
}

// horner is c[0] + c[1]x + ... in one chain.
func (p prog) horner(x lane.V, c ...float64) lane.V {
	y := p.c(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = p.FMA(y, x, p.c(c[i]))
	}
	return y
}

// poly is c[0] + c[1]x + ... in one chain if it is short: loops compute several
// vectors at a time. A long one is in two, of the even and the odd powers, which
// halves the time until it is there.
func (p prog) poly(x lane.V, c ...float64) lane.V {
	if len(c) < 10 {
		return p.horner(x, c...)
	}
	var even, odd []float64
	for i, v := range c {
		if i%2 == 0 {
			even = append(even, v)
		} else {
			odd = append(odd, v)
		}
	}
	xx := p.Mul(x, x)
	return p.FMA(p.horner(xx, odd...), x, p.horner(xx, even...))
}

// quotient is a/b for a normal b whose reciprocal is normal, too. AVX-512's division
// keeps a port for so long that an approximate reciprocal and the remainder of what it
// gives are faster; the result is as good to 2^-28.
func (p prog) quotient(a, b lane.V) lane.V {
	if p.set != AVX512 || p.t != lane.F32 {
		return p.Div(a, b)
	}
	over := p.Recip14(b)
	q := p.Mul(a, over)
	return p.FMA(p.FNMA(b, q, a), over, q)
}

// table is the bits of numbers of the dtype.
func (p prog) table(values ...float64) []uint64 {
	bits := make([]uint64, len(values))
	for i, v := range values {
		if p.t == lane.F32 {
			bits[i] = uint64(math.Float32bits(float32(v)))
		} else {
			bits[i] = math.Float64bits(v)
		}
	}
	return bits
}

// nearest is the k for which k·step is nearest to a >= 0, in the low bits of an integer,
// and a - k·step, which is exact if step has few bits.
func (p prog) nearest(a lane.V, step float64) (k, rest lane.V) {
	magic := p.c(math.Ldexp(1.5, p.mantissa()))
	at := p.FMA(a, p.c(1/step), magic)
	return p.bits(at), p.FNMA(p.Sub(at, magic), p.c(step), a)
}

// piece is the polynomial in x whose coefficients are column k of a table with a row
// for each power.
func (p prog) piece(k, x lane.V, rows ...[]float64) lane.V {
	coefficient := func(power int) lane.V { return p.Lookup(k, p.t, p.table(rows[power]...)) }
	y := coefficient(len(rows) - 1)
	for power := len(rows) - 2; power >= 0; power-- {
		y = p.FMA(y, x, coefficient(power))
	}
	return y
}

// nan is a quiet NaN, inf positive infinity.
func (p prog) nan() lane.V { return p.c(math.NaN()) }
func (p prog) inf() lane.V { return p.c(math.Inf(1)) }
