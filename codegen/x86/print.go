package x86

import (
	"github.com/sinter-go/sinter/codegen/amd64"
)

// place resolves operands in memory for one copy of the code.
type place struct {
	// array returns the register with an array's address, and an instruction that
	// must put it there first, or none.
	array func(k int) (reg, before string)
	skip  int // elements beyond the loop's index
	frame int // where the code's slots begin
}

// put adds finished instructions to a block, in the assembler's order.
func (p *place) put(b *amd64.Block, list []code) {
	for _, c := range list {
		if len(c.ops) == 0 {
			b.Asm("%s", c.op)
			continue
		}
		args := make([]amd64.Arg, len(c.ops))
		for i, o := range c.ops {
			args[len(args)-1-i] = p.operand(b, o)
		}
		b.Add(c.op, args...)
	}
}

// operand resolves an operand. What must come before its use goes to the block.
func (p *place) operand(b *amd64.Block, o operand) amd64.Arg {
	switch o.kind {
	case inVec:
		size := 64
		switch {
		case o.bytes <= 16:
			size = 16
		case o.bytes == 32:
			size = 32
		}
		return amd64.Arg{Kind: amd64.Vector, Reg: int8(o.n), Size: uint8(size)}
	case inMask:
		return amd64.Arg{Kind: amd64.Mask, Reg: int8(o.n)}
	case inConst:
		return amd64.Arg{Kind: amd64.Data, Name: o.text}
	case inSlot:
		return b.Arg("%d(SP)", p.frame+o.n)
	case inArray:
		base, before := o.text, ""
		if base == "" {
			base, before = p.array(o.n)
		}
		if before != "" {
			b.Asm("%s", before)
		}
		disp := ""
		if n := (p.skip + o.skip) * o.bytes; n != 0 {
			disp = itoa(n)
		}
		return b.Arg("%s(%s)(CX*%d)", disp, base, o.bytes)
	}
	return b.Arg("%s", o.text)
}
