package gemm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// integers are the isas of integers, whose sums wrap. They have kernels for tiles and
// none for products of few rows. An element of I8 is four bytes: a term of its kernels is the
// sum of four products, of bytes of A that have no sign and bytes of B that have one, which
// is added to 32 bits.
var integers = []isa{
	{level: "AVX2", dtype: "I32", size: 4, lanes: 8, regs: 16},
	{level: "AVX2", dtype: "I64", size: 8, lanes: 4, regs: 16},
	{level: "AVX512", dtype: "I32", size: 4, lanes: 16, regs: 32, mask: true},
	{level: "AVX512", dtype: "I64", size: 8, lanes: 8, regs: 32, mask: true},
	{level: "AVX2", dtype: "I8", size: 4, lanes: 8, regs: 16},
	{level: "AVX512VNNI", dtype: "I8", size: 4, lanes: 16, regs: 32, mask: true},
}

func (s isa) integer() bool { return s.dtype[0] == 'I' }

const (
	// integerRows is how many rows tiles of integers have at most: multiplications set the
	// pace, so more would gain nothing.
	integerRows = 4
	// byteRows is the same where one instruction multiplies and adds.
	byteRows = 8
)

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
	switch {
	case s.dtype == "I8" && s.mask:
		k.add, k.fma = c.VPADDD, c.VPDPBUSD
		k.takeTurns()
		return k
	case s.dtype == "I8":
		k.add, k.fma = c.VPADDD, func(ops ...operand.Op) { fourBytes(c, ops[0], ops[1], ops[2], x, y) }
		return k
	}
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

// takeTurns gives the kernel other sums where it has few: one would wait for the last term
// before it takes the next, and integers may be added up in any order.
func (k *kernel) takeTurns() {
	n, few := k.rows*k.vectors, 4
	for len(k.more) < few-1 && n*(len(k.more)+2) <= 12 {
		var part [][]reg.VecPhysical
		for range k.rows {
			part = append(part, k.temp[len(k.temp)-k.vectors:])
			k.temp = k.temp[:len(k.temp)-k.vectors]
		}
		k.more = append(k.more, part)
	}
}

// fourBytes adds to sum what four bytes of b and a give, from products of 16 bits: the
// multiplication of bytes limits sums of two products to 16 bits.
func fourBytes(c *build.Context, b, a, sum operand.Op, x, y reg.VecPhysical) {
	c.VPSLLW(operand.U8(8), b, x)
	c.VPSRAW(operand.U8(8), x, x)
	c.VPSLLW(operand.U8(8), a, y)
	c.VPSRLW(operand.U8(8), y, y)
	c.VPMADDWD(y, x, x)
	c.VPADDD(x, sum, sum)
	c.VPSRAW(operand.U8(8), b, x)
	c.VPSRLW(operand.U8(8), a, y)
	c.VPMADDWD(y, x, x)
	c.VPADDD(x, sum, sum)
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
