package wide

import "sync"

// Funcs holds every real function and operator of the scalar language, under
// the names of package ir/expr. Each takes as many operands as its row there
// has; fewer are a mistake of the caller.
var Funcs = map[string]func(args ...Float) Float{
	"neg": unary(Float.Neg), "abs": unary(abs), "sign": unary(sign),
	"add": binary(Float.Add), "sub": binary(Float.Sub), "mul": binary(Float.Mul), "div": binary(Float.Quo), "rem": binary(fmod),
	"fma": func(args ...Float) Float { return FMA(args[0], args[1], args[2]) },

	"min": binary(minimum), "max": binary(maximum), "fmin": binary(fmin), "fmax": binary(fmax),
	"copysign": binary(copysign),
	"floor":    unary(floor), "ceil": unary(ceil), "trunc": unary(trunc), "round": unary(round),
	"fmod": binary(fmod), "remainder": binary(remainder), "floordiv": binary(floordiv), "truncdiv": binary(truncdiv),

	"sqrt": known(sqrtOf), "rsqrt": known(rsqrtOf), "cbrt": known(cbrtOf), "hypot": binary(hypot), "pow": known2(pow),
	"exp": known(expOf), "exp2": known(exp2Of), "expm1": known(expm1Of), "sigmoid": known(sigmoid),
	"log": known(logOf(log)), "log2": known(logOf(log2)), "log10": known(logOf(log10)), "log1p": known(log1pOf),

	"sin": known(sin), "cos": known(cos), "tan": known(tan),
	"asin": known(asin), "acos": known(acos), "atan": known(atanOf), "atan2": known2(atan2),
	"sinh": known(sinh), "cosh": known(cosh), "tanh": known(tanh),
	"asinh": known(asinh), "acosh": known(acosh), "atanh": known(atanh),

	"erf": known(erf), "erfc": known(erfc), "erfinv": known(erfinv), "lgamma": known(lgamma), "digamma": known(digamma),
}

// Compares holds the comparisons. All but ne are false when either side is NaN.
var Compares = map[string]func(x, y Float) bool{
	"lt": Float.Less,
	"le": Float.LessEqual,
	"gt": func(x, y Float) bool { return y.Less(x) },
	"ge": func(x, y Float) bool { return y.LessEqual(x) },
	"eq": Float.Equal,
	"ne": func(x, y Float) bool { return !x.Equal(y) },
}

// unary returns f with NaN for NaN.
func unary(f func(Float) Float) func(...Float) Float {
	return func(args ...Float) Float {
		if args[0].nan {
			return NaN()
		}
		return f(args[0])
	}
}

// binary returns f, which answers for NaN itself.
func binary(f func(x, y Float) Float) func(...Float) Float {
	return func(args ...Float) Float { return f(args[0], args[1]) }
}

// known returns unary of an f that takes long, which is computed once for each number.
func known(f func(Float) Float) func(...Float) Float { return unary(remember(f)) }

// known2 is known for two operands.
func known2(f func(x, y Float) Float) func(...Float) Float {
	g := remember(func(args [2]Float) Float { return f(args[0], args[1]) })
	return func(args ...Float) Float { return g([2]Float(args[:2])) }
}

// remembered is how many results of a function are kept. The same numbers come again and again:
// in other layouts, in another order, from a call that is made twice.
const remembered = 1 << 13

// remember returns f with its results kept, until there are too many.
func remember[K comparable, V any](f func(K) V) func(K) V {
	var lock sync.Mutex
	results := map[K]V{}
	return func(x K) V {
		lock.Lock()
		y, ok := results[x]
		lock.Unlock()
		if ok {
			return y
		}
		y = f(x)
		lock.Lock()
		defer lock.Unlock()
		if len(results) >= remembered {
			clear(results)
		}
		results[x] = y
		return y
	}
}
