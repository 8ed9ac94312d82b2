package num

import "math"

// smallestNormal is the least positive float64 with a full significand. The
// library's logarithm is wrong below it on amd64.
const smallestNormal = 0x1p-1022

// log is math.Log, right for subnormal numbers too.
func log(x float64) float64 {
	if x > 0 && x < smallestNormal {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// log2 adds the exponent of x to the logarithm of a significand about 1, so that
// nothing cancels near 1 and powers of two are exact.
func log2(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return log(x)
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	return float64(e) + math.Log(m)*math.Log2E
}

// log10 splits x = m·2^e with m in [1, 2), or [0.5, 1) below 1, so that both parts
// have one sign. The high part of log10(2) times e is exact.
func log10(x float64) float64 {
	const (
		log2Hi = 3.01029995663611771306e-01
		log2Lo = 3.69423907715893078616e-13
	)
	if !(x > 0) || math.IsInf(x, 1) {
		return log(x)
	}
	m, e := math.Frexp(x)
	if e > 0 {
		m, e = 2*m, e-1
	}
	return (float64(e)*log2Lo + math.Log(m)*math.Log10E) + float64(e)*log2Hi
}

// erfinv adds one Newton step to the library's rational approximation.
func erfinv(x float64) float64 {
	y := math.Erfinv(x)
	if math.IsInf(y, 0) || y != y || y == 0 {
		return y
	}
	slope := 2 / math.SqrtPi * math.Exp(-y*y)
	var err float64
	if math.Abs(x) < 0.5 {
		err = math.Erf(y) - x
	} else if x > 0 { // 1-x is exact here
		err = (1 - x) - math.Erfc(y)
	} else {
		err = math.Erfc(-y) - (1 + x)
	}
	if slope == 0 {
		return y
	}
	return y - err/slope
}

// lgamma is math.Lgamma with C's result at -Inf, and right for subnormal numbers
// and where the library evaluates a polynomial outside of its range.
func lgamma(x float64) float64 {
	switch {
	case math.IsInf(x, -1):
		return math.Inf(1)
	case x != 0 && math.Abs(x) < smallestNormal: // Γ(x) = 1/x to the last place
		return -log(math.Abs(x))
	}
	v, _ := math.Lgamma(x)
	y := math.Abs(x)
	var right float64
	switch {
	case y >= 0.1916 && y < 0.2317:
		right = (lgammaAbove(y, 2) - math.Log(y+1)) - log(y)
	case y >= 1.1916 && y < 1.2317:
		right = lgammaAbove(y, 1) - log(y)
	default:
		return v
	}
	if x > 0 {
		return right
	}
	w, _ := math.Lgamma(y) // which the reflection subtracted
	return v + (w - right)
}

// lgammaAbove returns log Γ(y + n) where that is about 2.2, for the y + n that is
// not rounded.
func lgammaAbove(y, n float64) float64 {
	const slope = 0.54 // digamma(2.2)
	z := y + n
	v, _ := math.Lgamma(z)
	return v + slope*(y-(z-n))
}
