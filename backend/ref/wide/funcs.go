package wide

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

	"sqrt": unary(sqrtOf), "rsqrt": unary(rsqrtOf), "cbrt": unary(cbrtOf), "hypot": binary(hypot), "pow": binary(pow),
	"exp": unary(expOf), "exp2": unary(exp2Of), "expm1": unary(expm1Of), "sigmoid": unary(sigmoid),
	"log": unary(logOf(log)), "log2": unary(logOf(log2)), "log10": unary(logOf(log10)), "log1p": unary(log1pOf),

	"sin": unary(sin), "cos": unary(cos), "tan": unary(tan),
	"asin": unary(asin), "acos": unary(acos), "atan": unary(atanOf), "atan2": binary(atan2),
	"sinh": unary(sinh), "cosh": unary(cosh), "tanh": unary(tanh),
	"asinh": unary(asinh), "acosh": unary(acosh), "atanh": unary(atanh),

	"erf": unary(erf), "erfc": unary(erfc), "erfinv": unary(erfinv), "lgamma": unary(lgamma), "digamma": unary(digamma),
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
