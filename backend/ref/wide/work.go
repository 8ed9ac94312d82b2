package wide

import (
	"math/big"
	"sync"
)

// The functions below and those in the files about exp, log and so on work on
// finite numbers at the working precision. They never change their operands.

func fresh() *big.Float { return new(big.Float).SetPrec(work) }

func number(i int) *big.Float { return fresh().SetInt64(int64(i)) }

func add(x, y *big.Float) *big.Float { return fresh().Add(x, y) }

func sub(x, y *big.Float) *big.Float { return fresh().Sub(x, y) }

func mul(x, y *big.Float) *big.Float { return fresh().Mul(x, y) }

func quo(x, y *big.Float) *big.Float { return fresh().Quo(x, y) }

func neg(x *big.Float) *big.Float { return fresh().Neg(x) }

func root(x *big.Float) *big.Float { return fresh().Sqrt(x) }

// scaled returns x * 2^exp.
func scaled(x *big.Float, exp int) *big.Float { return fresh().SetMantExp(x, exp) }

// negligible reports whether term no longer changes sum.
func negligible(term, sum *big.Float) bool {
	return term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-work
}

var (
	unit    = number(1)
	two     = number(2)
	half    = scaled(unit, -1)
	wideLn2 = sync.OnceValue(func() *big.Float { return ln2Digits(2 * work) })
	ln2     = sync.OnceValue(func() *big.Float { return fresh().Set(wideLn2()) })
	ln10    = sync.OnceValue(func() *big.Float { return log(number(10)) })
	// widePi has digits enough to reduce any float64 angle, and then some.
	widePi   = sync.OnceValue(func() *big.Float { return piDigits(maxAngleExp + 3*work) })
	pi       = sync.OnceValue(func() *big.Float { return fresh().Set(widePi()) })
	halfPi   = sync.OnceValue(func() *big.Float { return scaled(pi(), -1) })
	rootPi   = sync.OnceValue(func() *big.Float { return root(pi()) })
	logTwoPi = sync.OnceValue(func() *big.Float { return log(scaled(pi(), 1)) })
)

// arcInverse returns the arc tangent of 1/n, or its hyperbolic counterpart, as
// an integer in units of 2^-bits.
func arcInverse(n int64, bits uint, hyperbolic bool) *big.Int {
	square := big.NewInt(n * n)
	power := new(big.Int).Lsh(big.NewInt(1), bits)
	power.Quo(power, big.NewInt(n))
	sum, term := new(big.Int), new(big.Int)
	for k := int64(1); power.Sign() != 0; k += 2 {
		term.Quo(power, big.NewInt(k))
		if hyperbolic || k%4 == 1 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		power.Quo(power, square)
	}
	return sum
}

// guard is how many bits the sums of arcInverse may lose, at the least.
const guard = 32

// piDigits returns pi by Machin's formula, 16 atan(1/5) - 4 atan(1/239).
func piDigits(bits uint) *big.Float {
	sum := arcInverse(5, bits+guard, false)
	sum.Lsh(sum, 2)
	sum.Sub(sum, arcInverse(239, bits+guard, false))
	z := new(big.Float).SetPrec(bits).SetInt(sum)
	return z.SetMantExp(z, 2-int(bits+guard))
}

// ln2Digits returns the logarithm of 2 as 2 atanh(1/3).
func ln2Digits(bits uint) *big.Float {
	z := new(big.Float).SetPrec(bits).SetInt(arcInverse(3, bits+guard, true))
	return z.SetMantExp(z, 1-int(bits+guard))
}

// inverseFactorials holds 1/k! for every k the series need.
var inverseFactorials = sync.OnceValue(func() []*big.Float {
	f := []*big.Float{unit}
	for k := 1; k < 34; k++ {
		f = append(f, quo(f[k-1], number(k)))
	}
	return f
})

// arcSeries returns the sum of z^k/k over odd k, with alternating signs unless
// hyperbolic: the arc tangent of z, or its hyperbolic counterpart. Small z only.
func arcSeries(z *big.Float, hyperbolic bool) *big.Float {
	square, power, sum := mul(z, z), fresh().Set(z), fresh().Set(z)
	if !hyperbolic {
		square.Neg(square)
	}
	term, k := fresh(), fresh()
	for i := 3; ; i += 2 {
		power.Mul(power, square)
		term.Quo(power, k.SetInt64(int64(i)))
		if negligible(term, sum) {
			return sum
		}
		sum.Add(sum, term)
	}
}
