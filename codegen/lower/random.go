package lower

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/ir/expr"
)

// random is a function of seed, offset and the element's place.
func (l *lowerer) random(v *expr.Value, args []lane.V) (lane.V, error) {
	index, ok := l.env["index"]
	if !ok {
		return 0, fmt.Errorf("internal error: no value for index")
	}
	t := l.typeOf(v.Kind)
	if v.Name == "uniform" && t == lane.F32 {
		w := l.philox(args[0], args[1], l.Shr(index, 2))
		half := l.bit(index, 1)
		word := l.either(l.bit(index, 0), l.either(half, w[0], w[2]), l.either(half, w[1], w[3]))
		return l.Mul(l.IToF(l.Narrow(l.Shr(l.low(word), 8), lane.I32)), l.ConstF32(0x1p-24)), nil
	}
	pair := index
	if v.Name == "normal" { // two numbers a pair
		pair = l.Shr(index, 1)
	}
	w := l.philox(args[0], args[1], l.Shr(pair, 1))
	half := l.bit(pair, 0)
	w0, w1 := l.either(half, w[0], w[2]), l.either(half, w[1], w[3])
	switch v.Name {
	case "random_bits":
		return l.Or(l.Shl(w0, 32), l.low(w1)), nil
	case "uniform":
		return l.Mul(l.IToF(l.Shr(l.Or(l.Shl(w0, 32), l.low(w1)), 11)), l.ConstF64(0x1p-53)), nil
	}
	unit := l.ConstF64(0x1p-32)
	x := l.Mul(l.Add(l.IToF(l.low(w0)), l.ConstF64(1)), unit)
	odd := l.IToF(l.And(index, l.ConstI(lane.I64, 1)))
	y := l.Sub(l.Mul(l.IToF(l.low(w1)), unit), l.Mul(odd, l.ConstF64(0.25)))
	log, cos := l.caller(l.Prog, "log", x), l.caller(l.Prog, "cos", l.Mul(l.ConstF64(2*math.Pi), y))
	if log == 0 || cos == 0 {
		return 0, fmt.Errorf("log and cos of %s", lane.F64)
	}
	r := l.Mul(l.Sqrt(l.Mul(l.ConstF64(-2), log)), cos)
	if t == lane.F32 {
		r = l.Narrow(r, t)
	}
	return r, nil
}

// low is the low 32 bits.
func (l *lowerer) low(x lane.V) lane.V { return l.And(x, l.ConstI(lane.I64, math.MaxUint32)) }

// bit is all bits of x's number n.
func (l *lowerer) bit(x lane.V, n int) lane.V {
	return l.Sub(l.ConstI(lane.I64, 0), l.And(l.Shr(x, n), l.ConstI(lane.I64, 1)))
}

// either is y where all bits of mask are set, and x where none is.
func (l *lowerer) either(mask, x, y lane.V) lane.V { return l.Xor(x, l.And(mask, l.Xor(x, y))) }

// philox is the words of a block of num.Word in the low halves of I64. What is in
// the high halves between the rounds does not matter: products take the low ones.
func (l *lowerer) philox(seed, offset, index lane.V) [4]lane.V {
	word := func(x int64) lane.V { return l.ConstI(lane.I64, x) }
	c := [4]lane.V{index, l.Shr(index, 32), offset, l.Shr(offset, 32)}
	k := [2]lane.V{seed, l.Shr(seed, 32)}
	for round := range int64(10) {
		p0, p1 := l.MulU32(word(0xD2511F53), c[0]), l.MulU32(word(0xCD9E8D57), c[2])
		key := [2]lane.V{l.Add(k[0], word(round*0x9E3779B9)), l.Add(k[1], word(round*0xBB67AE85))}
		c = [4]lane.V{
			l.Xor(l.Shr(p1, 32), l.Xor(c[1], key[0])), p1,
			l.Xor(l.Shr(p0, 32), l.Xor(c[3], key[1])), p0,
		}
	}
	return c
}
