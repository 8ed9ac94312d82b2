package lowering_test

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/num"
)

// unary and binaries are the functions of real numbers in T's own precision, as the
// portable loops have them.
func unary[T num.Float]() map[string]func(T) T {
	return map[string]func(T) T{
		"neg": func(x T) T { return -x }, "abs": num.Abs[T], "sign": num.Sign[T], "floor": num.Floor[T], "ceil": num.Ceil[T],
		"trunc": num.Trunc[T], "round": num.Round[T], "sqrt": num.Sqrt[T], "rsqrt": num.Rsqrt[T], "cbrt": num.Cbrt[T],
		"exp": num.Exp[T], "exp2": num.Exp2[T], "expm1": num.Expm1[T], "log": num.Log[T], "log1p": num.Log1p[T],
		"log2": num.Log2[T], "log10": num.Log10[T], "sigmoid": num.Sigmoid[T], "sin": num.Sin[T], "cos": num.Cos[T],
		"tan": num.Tan[T], "asin": num.Asin[T], "acos": num.Acos[T], "atan": num.Atan[T], "sinh": num.Sinh[T],
		"cosh": num.Cosh[T], "tanh": num.Tanh[T], "asinh": num.Asinh[T], "acosh": num.Acosh[T], "atanh": num.Atanh[T],
		"erf": num.Erf[T], "erfc": num.Erfc[T], "erfinv": num.Erfinv[T], "lgamma": num.Lgamma[T], "digamma": num.Digamma[T],
	}
}

func binaries[T num.Float]() map[string]func(a, b T) T {
	return map[string]func(a, b T) T{
		"add": func(a, b T) T { return a + b }, "sub": func(a, b T) T { return a - b },
		"mul": func(a, b T) T { return a * b }, "div": func(a, b T) T { return a / b },
		"rem": num.FMod[T], "fmod": num.FMod[T], "remainder": num.Remainder[T], "floordiv": num.FloorDiv[T], "truncdiv": num.TruncDiv[T],
		"min": num.Min[T], "max": num.Max[T], "fmin": num.FMin[T], "fmax": num.FMax[T], "pow": num.Pow[T],
		"atan2": num.Atan2[T], "hypot": num.Hypot[T], "copysign": num.Copysign[T],
	}
}

// inexact are the functions that lanes may compute with an error.
var inexact = map[string]bool{
	"rsqrt": true, "cbrt": true, "exp": true, "exp2": true, "expm1": true, "log": true, "log1p": true, "log2": true,
	"log10": true, "sigmoid": true, "sin": true, "cos": true, "tan": true, "asin": true, "acos": true, "atan": true,
	"sinh": true, "cosh": true, "tanh": true, "asinh": true, "acosh": true, "atanh": true, "erf": true, "erfc": true,
	"erfinv": true, "lgamma": true, "digamma": true, "pow": true, "atan2": true, "hypot": true,
}

// rounded are the operations that round once.
var rounded = map[string]bool{"add": true, "sub": true, "mul": true, "div": true, "sqrt": true, "fma": true}

// narrow is the arithmetic of T, as an expression's own loop has it, in which the
// result number target that is not exact is off by some units: that of an inexact
// function by what is stated for it, that of an operation by one.
type narrow[T num.Float] struct {
	one    map[string]func(T) T
	two    map[string]func(a, b T) T
	ulps   func(fn string) float64
	target int     // -1: none
	part   float64 // of its units
	count  int
}

func newNarrow[T num.Float](ulps func(fn string) float64) *narrow[T] {
	return &narrow[T]{one: unary[T](), two: binaries[T](), ulps: ulps, target: -1}
}

func (a *narrow[T]) FromFloat(f float64) float64 { return float64(T(f)) }
func (a *narrow[T]) FromInt(i int64) float64     { return float64(T(i)) }
func (a *narrow[T]) ToFloat(f float64) float64   { return f }
func (a *narrow[T]) ToInt(f float64) int64       { return num.ToInt[int64](f) }

func (a *narrow[T]) Func(fn string) func(args ...float64) float64 {
	one, two := a.one[fn], a.two[fn]
	if one == nil && two == nil && fn != "fma" {
		return nil
	}
	return func(args ...float64) float64 {
		x := T(args[0])
		switch len(args) {
		case 1:
			return a.counted(fn, one(x))
		case 2:
			return a.counted(fn, two(x, T(args[1])))
		}
		return a.counted(fn, num.FMA(x, T(args[1]), T(args[2])))
	}
}

// counted returns the result r of fn, off where it is the target's turn.
func (a *narrow[T]) counted(fn string, r T) float64 {
	if inexact[fn] || rounded[fn] {
		if a.count == a.target {
			units := 1.0
			if inexact[fn] {
				units = math.Ceil(a.ulps(fn))
			}
			r = shift(r, a.part*units)
		}
		a.count++
	}
	return float64(r)
}

// shift is x moved by some units of its last place.
func shift[T num.Float](x T, ulps float64) T {
	toward := math.Inf(int(ulps))
	for range int(math.Abs(ulps)) {
		switch y := any(x).(type) {
		case float32:
			x = T(math.Nextafter32(y, float32(toward)))
		case float64:
			x = T(math.Nextafter(y, toward))
		}
	}
	return x
}

// CallComplex knows no function: bounds are of real ones.
func (a *narrow[T]) CallComplex(string, []complex128) (complex128, bool) { return 0, false }

func (a *narrow[T]) Predicate(fn string) func(args ...float64) bool {
	return func(args ...float64) bool { return a.test(fn, args) }
}

func (*narrow[T]) test(fn string, args []float64) bool {
	x, y := args[0], args[len(args)-1]
	switch fn {
	case "lt":
		return x < y
	case "le":
		return x <= y
	case "gt":
		return x > y
	case "ge":
		return x >= y
	case "eq":
		return x == y
	case "ne":
		return x != y
	case "isnan":
		return x != x
	case "isinf":
		return math.IsInf(x, 0)
	case "isfinite":
		return x-x == 0
	}
	return math.Signbit(x)
}

// spread returns the least and the greatest value that g may have: its own, and what
// it changes by when one result in it at a time errs by its units, all added up. nan
// says that it may be NaN.
func spread[T num.Float](g *expr.Graph, ulps func(string) float64, env map[string]expr.Number[float64]) (lo, hi float64, nan bool, err error) {
	a := newNarrow[T](ulps)
	value := func(target int, part float64) float64 {
		a.target, a.part, a.count = target, part, 0
		n, failed := expr.Interpret[float64](g, a, env)
		if failed != nil {
			err = failed
		}
		return float64(T(n.Float))
	}
	own := value(-1, 0)
	nan = own != own
	total := 0.0
	if own-own == 0 {
		total = 2 * unit(g.Result(), own)
	}
	if slices.ContainsFunc(g.Values, func(v *expr.Value) bool { return v.Name == "normal" }) {
		total *= 2 // it has a logarithm, a root and a cosine in it
	}
	for target := range a.count {
		change := 0.0
		for _, part := range []float64{-1, 1} {
			x := value(target, part)
			if nan = nan || x != x; x != x || x == own {
				continue
			}
			change = max(change, math.Abs(x-own))
		}
		total += change
	}
	if math.IsInf(total, 0) || math.IsInf(own, 0) && total > 0 {
		return math.Inf(-1), math.Inf(1), nan, err
	}
	return own - total, own + total, nan, err
}

// number is a value in memory for the interpretation.
func number(d ir.DType, bits uint64) (n expr.Number[float64]) {
	switch d {
	case ir.Bool:
		n.Bool = bits&0xff != 0
	case ir.Float32:
		n.Float = float64(math.Float32frombits(uint32(bits)))
	case ir.Float64:
		n.Float = math.Float64frombits(bits)
	case ir.Uint8:
		n.Int = int64(uint8(bits))
	default:
		n.Int = expr.Wrap(int64(bits), d)
	}
	return n
}

// unit is the unit in the last place of x.
func unit(d ir.DType, x float64) float64 {
	if d == ir.Float32 {
		y := float32(math.Abs(x))
		return float64(math.Nextafter32(y, float32(math.Inf(1))) - y)
	}
	return math.Nextafter(math.Abs(x), math.Inf(1)) - math.Abs(x)
}
