package ref

import (
	"math"
	"math/cmplx"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// arith is the interpreter's real arithmetic.
type arith[F any] = expr.Arith[F]

// wides is arithmetic of 160 bits, for float64.
type wides struct{}

func (wides) FromFloat(f float64) wide.Float { return wide.FromFloat64(f) }

func (wides) FromInt(i int64) wide.Float { return wide.FromInt64(i) }

func (wides) ToFloat(f wide.Float) float64 { return f.Float64() }

func (wides) ToInt(f wide.Float) int64 {
	if i, ok := f.Int(); ok {
		return i
	}
	return ir.FloatScalar(f.Float64()).Int()
}

func (wides) Func(fn string) func(args ...wide.Float) wide.Float { return wide.Funcs[fn] }

func (wides) Predicate(fn string) func(args ...wide.Float) bool { return widePredicates[fn] }

var widePredicates = predicates(wide.Compares, map[string]func(x wide.Float) bool{
	"isnan": wide.Float.IsNaN, "isinf": wide.Float.IsInf, "signbit": wide.Float.Signbit,
	"isfinite": func(x wide.Float) bool { return !x.IsNaN() && !x.IsInf() },
})

// predicates returns those of two operands and of one.
func predicates[F any](two map[string]func(x, y F) bool, one map[string]func(x F) bool) map[string]func(args ...F) bool {
	all := map[string]func(args ...F) bool{}
	for name, f := range two {
		all[name] = func(args ...F) bool { return f(args[0], args[1]) }
	}
	for name, f := range one {
		all[name] = func(args ...F) bool { return f(args[0]) }
	}
	return all
}

// doubles is float64 arithmetic, for float32 and what computes in it.
type doubles struct{}

func (doubles) FromFloat(f float64) float64 { return f }

func (doubles) FromInt(i int64) float64 { return float64(i) }

func (doubles) ToFloat(f float64) float64 { return f }

func (doubles) ToInt(f float64) int64 { return ir.FloatScalar(f).Int() }

func (doubles) Func(fn string) func(args ...float64) float64 {
	if f, ok := doubleFuncs1[fn]; ok {
		return func(args ...float64) float64 { return f(args[0]) }
	}
	if f, ok := doubleFuncs2[fn]; ok {
		return func(args ...float64) float64 { return f(args[0], args[1]) }
	}
	f, ok := wide.Funcs[fn]
	if !ok {
		return nil
	}
	return func(args ...float64) float64 { // what package math has not is computed wide and rounded
		wideArgs := make([]wide.Float, len(args))
		for i, a := range args {
			wideArgs[i] = wide.FromFloat64(a)
		}
		return f(wideArgs...).Float64()
	}
}

var doubleFuncs1 = map[string]func(float64) float64{
	"neg": func(x float64) float64 { return -x }, "abs": math.Abs,
	"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.RoundToEven,
	"sqrt": math.Sqrt, "rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "cbrt": math.Cbrt,
	"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1,
	"log": math.Log, "log1p": math.Log1p, "log2": math.Log2, "log10": math.Log10,
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"sin":     math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"erf": math.Erf, "erfc": math.Erfc,
}

var doubleFuncs2 = map[string]func(x, y float64) float64{
	"add": func(x, y float64) float64 { return x + y }, "sub": func(x, y float64) float64 { return x - y },
	"mul": func(x, y float64) float64 { return x * y }, "div": func(x, y float64) float64 { return x / y },
	"rem": math.Mod, "fmod": math.Mod,
	"min": func(x, y float64) float64 { return min(x, y) }, "max": func(x, y float64) float64 { return max(x, y) },
	"pow": math.Pow, "atan2": math.Atan2, "hypot": math.Hypot, "copysign": math.Copysign,
}

func (doubles) Predicate(fn string) func(args ...float64) bool { return doublePredicates[fn] }

var doublePredicates = predicates(map[string]func(x, y float64) bool{
	"lt": func(x, y float64) bool { return x < y }, "le": func(x, y float64) bool { return x <= y },
	"gt": func(x, y float64) bool { return x > y }, "ge": func(x, y float64) bool { return x >= y },
	"eq": func(x, y float64) bool { return x == y }, "ne": func(x, y float64) bool { return x != y },
}, map[string]func(x float64) bool{
	"isnan": func(x float64) bool { return x != x }, "isinf": func(x float64) bool { return math.IsInf(x, 0) },
	"isfinite": func(x float64) bool { return x-x == 0 }, "signbit": func(x float64) bool { return x == x && math.Signbit(x) },
})

func (wides) CallComplex(fn string, args []complex128) (complex128, bool) {
	return complexCall(fn, args)
}

// CallComplex is as wide as for complex128: functions of two parts may cancel.
func (doubles) CallComplex(fn string, args []complex128) (complex128, bool) {
	return complexCall(fn, args)
}

// complexCall computes a complex function of finite numbers wide, and of others by the
// standard library, which knows the limits.
func complexCall(fn string, args []complex128) (complex128, bool) {
	wideArgs := make([]wide.Complex, len(args))
	finite := true
	for i, a := range args {
		wideArgs[i] = wide.FromComplex(a)
		finite = finite && wideArgs[i].Finite()
	}
	f, ok := wide.ComplexFuncs[fn]
	if finite && ok {
		return f(wideArgs...).Complex128(), true
	}
	limit, ok := complexLimits[fn]
	if !ok {
		return 0, false
	}
	return limit(args[0], args[len(args)-1]), true
}

func limit(f func(complex128) complex128) func(x, _ complex128) complex128 {
	return func(x, _ complex128) complex128 { return f(x) }
}

var complexLimits = map[string]func(x, y complex128) complex128{
	"sqrt": limit(cmplx.Sqrt), "rsqrt": limit(func(x complex128) complex128 { return 1 / cmplx.Sqrt(x) }),
	"exp": limit(cmplx.Exp), "exp2": limit(func(x complex128) complex128 { return cmplx.Exp(complex(real(x)*math.Ln2, imag(x)*math.Ln2)) }),
	"expm1": limit(func(x complex128) complex128 { return cmplx.Exp(x) - 1 }),
	"log":   limit(cmplx.Log), "log1p": limit(func(x complex128) complex128 { return cmplx.Log(complex(1+real(x), imag(x))) }),
	"log2": limit(func(x complex128) complex128 { return cmplx.Log(x) / math.Ln2 }), "log10": limit(cmplx.Log10),
	"sigmoid": limit(func(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) }), "pow": cmplx.Pow,
	"sin": limit(cmplx.Sin), "cos": limit(cmplx.Cos), "tan": limit(cmplx.Tan),
	"sinh": limit(cmplx.Sinh), "cosh": limit(cmplx.Cosh), "tanh": limit(cmplx.Tanh),
	"asin": limit(cmplx.Asin), "acos": limit(cmplx.Acos), "atan": limit(cmplx.Atan),
	"asinh": limit(cmplx.Asinh), "acosh": limit(cmplx.Acosh), "atanh": limit(cmplx.Atanh),
}
