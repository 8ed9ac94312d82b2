package num

import "math"

// digamma shifts x above 10 by the recurrence, where its asymptotic series holds
// to the last place, and reflects negative x.
func digamma(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case math.IsInf(x, 1):
		return x
	case x < 0 && x == math.Floor(x), math.IsInf(x, -1):
		return math.NaN()
	case math.Abs(x) < 0x1p-60:
		return -1 / x
	case x < 0:
		return digammaReflected(x)
	}
	if d := (x - digammaRoot.hi) - digammaRoot.lo; math.Abs(d) < 0.2 {
		return aroundRoot(d)
	}
	sum := 0.0
	for x < 10 {
		sum -= 1 / x
		x++
	}
	return sum + math.Log(x) - 0.5/x - digammaSeries(1/float64(x*x))
}

// digammaSeries returns what log(x) - 1/(2x) exceeds digamma(x) by, for z = 1/x²
// of at most 1/100.
func digammaSeries(z float64) float64 {
	b := [...]float64{1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12}
	sum := 0.0
	for i := len(b) - 1; i >= 0; i-- {
		sum = float64(sum*z) + b[i]
	}
	return sum * z
}

// digammaReflected returns digamma(x) = digamma(1-x) - pi*cot(pi*x) for x < 0. The
// two cancel near its zeros, so both are computed to about 63 bits.
func digammaReflected(x float64) float64 {
	c := cotPi(x - math.RoundToEven(x)) // the distance from the nearest integer is exact
	c = pi.mul(c)
	return digammaDouble(twoSum(1, -x)).add(double{-c.hi, -c.lo}).hi
}

// digammaDouble returns digamma(x) for x >= 1.
func digammaDouble(x double) double {
	var sum double
	for x.hi < 16 {
		sum = sum.add(double{hi: -1}.over(x))
		x = x.add(double{hi: 1})
	}
	l := logDouble(x.hi).add(double{hi: x.lo / x.hi})
	half := double{hi: -0.5}.over(x)
	return l.add(half).add(sum).add(double{hi: -digammaSeries(1 / float64(x.hi*x.hi))})
}

var (
	pi         = double{math.Pi, 0x1.1a62633145c07p-53}
	sixth      = double{third.hi / 2, third.lo / 2}
	inverse24  = double{sixth.hi / 4, sixth.lo / 4}
	inverse120 = inverse24.over(double{hi: 5})
)

// cotPi returns cot(pi*r) for 0 < |r| <= 1/2, from the Taylor series of sine and
// cosine on the half that is nearer to 0.
func cotPi(r float64) double {
	a := math.Abs(r)
	complement := a > 0.25
	if complement {
		a = 0.5 - a
	}
	x := pi.mul(double{hi: a})
	u := x.mul(x)
	minus := double{-u.hi, -u.lo}
	one := double{hi: 1}
	sine, cosine := 1.0, 1.0 // the terms from -x^7/7! and -x^6/6! on, over these
	for n := 20.0; n >= 8; n -= 2 {
		sine = 1 - float64(u.hi*sine)/(n*(n+1))
		cosine = 1 - float64(u.hi*cosine)/((n-1)*n)
	}
	s := inverse120.add(minus.mul(double{hi: sine / 5040}))
	s = one.add(minus.mul(sixth.add(minus.mul(s)))).mul(x)
	c := inverse24.add(minus.mul(double{hi: cosine / 720}))
	c = one.add(minus.mul(double{hi: 0.5}.add(minus.mul(c))))
	if complement {
		s, c = c, s
	}
	q := c.over(s)
	if r < 0 {
		return double{-q.hi, -q.lo}
	}
	return q
}

// digammaRoot is the positive zero of digamma.
var digammaRoot = double{1.4616321449683622, 9.549995429965697e-17}

// rootSeries holds digamma's derivatives at its root: the k-th over k!, from the
// first.
var rootSeries = [...]float64{
	0.9676722454476212, -0.4427631689835921, 0.258499760955651, -0.16394270544240652, 0.10782405069126237,
	-0.07219956125645471, 0.04880428816414311, -0.03316112647484736, 0.022597648232218104, -0.01542476590494896,
	0.010538791616612175, -0.007204534386356869, 0.004926781395729853, -0.003369801655439328, 0.002305126326734928,
	-0.0015769367714301972, 0.0010788252019162967, -0.0007380709389960052, 0.000504953265834602,
}

// aroundRoot returns digamma at a distance d of at most 0.2 from its root, where
// the asymptotic series would cancel.
func aroundRoot(d float64) float64 {
	sum := 0.0
	for i := len(rootSeries) - 1; i >= 0; i-- {
		sum = float64(sum*d) + rootSeries[i]
	}
	return sum * d
}
