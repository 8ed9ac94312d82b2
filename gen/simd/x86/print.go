package x86

import (
	"fmt"
	"strings"
)

// place resolves operands in memory for one copy of the code.
type place struct {
	pool *pool
	// array returns the register with an array's address, and an instruction that
	// must put it there first, or none.
	array func(k int) (reg, before string)
	skip  int // elements beyond the loop's index
	frame int // where the code's slots begin
}

// print writes finished instructions in the assembler's order.
func (p *place) print(b *strings.Builder, list []code) {
	for _, c := range list {
		if len(c.ops) == 0 {
			fmt.Fprintf(b, "\t%s\n", c.op)
			continue
		}
		names := make([]string, len(c.ops))
		for i, o := range c.ops {
			var before string
			names[len(names)-1-i], before = p.operand(o)
			if before != "" {
				fmt.Fprintf(b, "\t%s\n", before)
			}
		}
		fmt.Fprintf(b, "\t%s %s\n", c.op, strings.Join(names, ", "))
	}
}

func (p *place) operand(o operand) (text, before string) {
	switch o.kind {
	case inVec:
		return regName(o.n, o.bytes), ""
	case inMask:
		return "K" + itoa(o.n), ""
	case inConst:
		return p.pool.ref(o.text), ""
	case inSlot:
		return fmt.Sprintf("%d(SP)", p.frame+o.n), ""
	case inArray:
		base := o.text
		if base == "" {
			base, before = p.array(o.n)
		}
		disp := ""
		if n := (p.skip + o.skip) * o.bytes; n != 0 {
			disp = itoa(n)
		}
		return fmt.Sprintf("%s(%s)(CX*%d)", disp, base, o.bytes), before
	}
	return o.text, ""
}
