package x86

import (
	"cmp"
	"fmt"
)

// fmaForm is a form of a multiplication with addition.
type fmaForm struct {
	name string  // 213, 231 or 132
	dst  vreg    // the operand that is destroyed
	rest [2]vreg // the others in Intel's order
	mem  vreg    // the last, if it is in memory
}

// form picks the form whose destroyed operand is not needed any more.
func (a *allocator) form(in *inst) fmaForm {
	x, y, z := in.src[0], in.src[1], in.src[2]
	var m vreg
	for _, v := range []vreg{z, y, x} {
		if m == 0 && a.foldable(in, v) && count(in.src, v) == 1 {
			m = v
		}
	}
	ends := func(v vreg) bool { return v != m && a.dies(v) && count(in.src, v) == 1 }
	if m == x || m != y && !ends(x) && ends(y) {
		x, y = y, x // the product commutes
	}
	sum := fmaForm{"231", z, [2]vreg{x, y}, m} // z = x*y + z
	switch {
	case m == 0 && (ends(z) || !ends(x)):
		return sum
	case m == z && m != 0 && !ends(x):
		sum.mem = 0 // loaded, then destroyed
		return sum
	case m == y && m != 0 && (ends(z) || !ends(x)):
		return sum
	case m == y && m != 0:
		return fmaForm{"132", x, [2]vreg{z, y}, m} // x = x*y + z
	}
	return fmaForm{"213", x, [2]vreg{y, z}, m} // x = y*x + z
}

// fma allocates a multiplication with addition.
func (a *allocator) fma(in *inst) error {
	f := a.form(in)
	op := in.op
	if !a.dry {
		op = fmt.Sprintf(in.op, f.name)
	}
	return a.destroying(in, op, f.dst, f.rest[:], f.mem)
}

// ternary allocates logic of three values: it destroys one that is not needed any
// more, or else one that must be loaded.
func (a *allocator) ternary(in *inst) error {
	m, d := -1, -1
	for i, v := range in.src {
		if a.foldable(in, v) && count(in.src, v) == 1 {
			m = i
		}
	}
	rank := func(i int) int {
		v := in.src[i]
		switch {
		case i == m:
			return -1
		case a.at[v] >= 0 && a.dies(v):
			return 2
		case a.at[v] < 0:
			return 1
		}
		return 0
	}
	for i := range in.src {
		if d < 0 || rank(i) > rank(d) {
			d = i
		}
	}
	if m >= 0 && rank(d) == 0 { // rather than a copy of a register
		m, d = -1, m
	}
	order := [3]int{d, (d + 1) % 3, (d + 2) % 3}
	if order[1] == m {
		order[1], order[2] = order[2], order[1]
	}
	var mem vreg
	if m >= 0 {
		mem = in.src[m]
	}
	in.imm = permuted(in.imm, order)
	return a.destroying(in, in.op, in.src[d], []vreg{in.src[order[1]], in.src[order[2]]}, mem)
}

// inPlace allocates an operation whose result takes the place of its first operand.
func (a *allocator) inPlace(in *inst) error {
	var mem vreg
	if v := in.src[len(in.src)-1]; a.foldable(in, v) && count(in.src, v) == 1 {
		mem = v
	}
	return a.destroying(in, in.op, in.src[0], in.src[1:], mem)
}

// destroying allocates an instruction whose result takes the place of its operand
// dst. The rest of its operands follow in Intel's order; mem among them, if it is
// not 0, is in memory.
func (a *allocator) destroying(in *inst, op string, dst vreg, rest []vreg, mem vreg) error {
	fresh := a.at[dst] < 0 && a.defs[dst].home != noHome // loaded where the result goes
	for _, v := range in.src {
		if v != mem && !(fresh && v == dst && count(in.src, v) == 1) {
			if err := a.ensure(v, in.src...); err != nil {
				return err
			}
		}
	}
	var room [6]operand
	ops := room[:1] // the result's
	suffix := ""
	for _, v := range rest {
		if v == mem {
			o, s := a.memory(in, v)
			ops, suffix = append(ops, o), s
		} else {
			ops = append(ops, a.reg(v, in.width))
		}
	}
	bytes, at := cmp.Or(in.width, a.defs[in.dst].bytes), int(a.at[dst])
	if at < 0 || !a.dies(dst) || in.form != merge && contains(rest, dst) { // a copy is destroyed
		r, err := a.take(in.dst, in.src...)
		if err != nil {
			return err
		}
		if at < 0 {
			a.load(dst, r)
		} else {
			a.emitCode("VMOVAPS", a.regAt(r, bytes), a.regAt(at, bytes))
			a.cost += 0.5
		}
		at = r
	}
	a.leave(in.src)
	a.hold(in.dst, at)
	ops[0] = a.reg(in.dst, in.width)
	if in.imm >= 0 {
		ops = append(ops, a.immediate(in.imm))
	}
	a.emitCode(op+suffix, ops...)
	return nil
}

func count(list []vreg, v vreg) int {
	n := 0
	for _, w := range list {
		if w == v {
			n++
		}
	}
	return n
}
