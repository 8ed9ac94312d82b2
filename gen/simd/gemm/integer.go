package gemm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integers are the isas of integers, whose sums wrap. They have kernels for tiles and
// none for products of few rows.
var integers = []isa{
	{level: "AVX2", dtype: "I32", size: 4, lanes: 8, regs: 16},
	{level: "AVX2", dtype: "I64", size: 8, lanes: 4, regs: 16},
	{level: "AVX512", dtype: "I32", size: 4, lanes: 16, regs: 32, mask: true},
	{level: "AVX512", dtype: "I64", size: 8, lanes: 8, regs: 32, mask: true},
}

func (s isa) integer() bool { return s.dtype[0] == 'I' }

// integerRows is how many rows tiles of integers have at most: multiplications set the
// pace, so more would gain nothing.
const integerRows = 4

// kernel returns a micro-kernel to be emitted.
func (s isa) kernel(c *build.Context, t shape) *kernel {
	k := newKernel(c, s, t)
	if !s.integer() {
		return k
	}
	n := len(k.temp) - 2
	x, y := k.temp[n], k.temp[n+1]
	k.temp = k.temp[:n]
	k.load, k.broadcast, k.store, k.maskMove, k.loadZ = c.VMOVUPS, c.VBROADCASTSS, c.VMOVUPS, c.VMASKMOVPS, c.VMOVUPS_Z
	multiply := c.VPMULLD
	k.add = c.VPADDD
	if s.size == 8 {
		k.load, k.broadcast, k.store, k.maskMove, k.loadZ = c.VMOVUPD, c.VBROADCASTSD, c.VMOVUPD, c.VMASKMOVPD, c.VMOVUPD_Z
		multiply, k.add = c.VPMULLQ, c.VPADDQ
	}
	k.fma = func(ops ...operand.Op) {
		if s.size == 8 && !s.mask {
			mulLow64(c, ops[0], ops[1], x, y)
		} else {
			multiply(ops[0], ops[1], x)
		}
		k.add(x, ops[2], ops[2])
	}
	return k
}

// mulLow64 sets x to the lower halves of the products of a and b, from products of
// halves: AVX2 has no such multiplication.
func mulLow64(c *build.Context, a, b operand.Op, x, y reg.VecPhysical) {
	c.VPSRLQ(operand.U8(32), a, x)
	c.VPMULUDQ(b, x, x)
	c.VPSRLQ(operand.U8(32), b, y)
	c.VPMULUDQ(a, y, y)
	c.VPADDQ(y, x, x)
	c.VPSLLQ(operand.U8(32), x, x)
	c.VPMULUDQ(a, b, y)
	c.VPADDQ(y, x, x)
}
