package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/wide"
)

// MostRows returns how many rows a tile has at most, so that its sums, two vectors
// of weights and an element fit the registers.
func MostRows(avx512 bool) int {
	if avx512 {
		return 14
	}
	return 6
}

// MostPaired returns how many rows there are at most in each half of a tile of two: a
// tile of one vector may have more.
func MostPaired(avx512 bool, vectors int) int {
	if avx512 && vectors == 1 {
		return 8
	}
	return MostRows(avx512) / 2
}

// A tile is being written: what reaches its rows. Those from the sixth on, or from
// the second half on, are counted from a base of their own.
type tile struct {
	*wide.Kit
	rows, vectors int
	paired        bool
	upper         int                  // the first row of those
	steps         map[int]reg.Register // multiples of the distance of rows
	base          [2]reg.GPVirtual
}

// step makes multiples of the distance of rows that addresses cannot.
func (t *tile) step() {
	one := t.Arg("step")
	t.steps = map[int]reg.Register{1: one, 2: one, 4: one, 8: one}
	most := max(t.upper, t.rows-t.upper)
	if most > 3 {
		three := t.C.GP64()
		t.C.LEAQ(operand.Mem{Base: one, Index: one, Scale: 2}, three)
		t.steps[3], t.steps[6] = three, three
	}
	if most > 5 || t.rows > t.upper {
		five := t.C.GP64()
		t.C.LEAQ(operand.Mem{Base: one, Index: one, Scale: 4}, five)
		t.steps[5] = five
	}
	if most > 7 {
		seven := t.C.GP64()
		t.C.LEAQ(operand.Mem{Base: t.steps[3], Index: one, Scale: 4}, seven)
		t.steps[7] = seven
	}
}

// at returns where a row's element is.
func (t *tile) at(row int) operand.Mem {
	m := operand.Mem{Base: t.base[0]}
	if row >= t.upper {
		m.Base = t.base[1]
		row -= t.upper
	}
	if row > 0 {
		m.Index, m.Scale = t.steps[row], uint8(row)
		for _, odd := range []int{3, 5, 7} {
			if row%odd == 0 {
				m.Scale = uint8(row / odd)
			}
		}
	}
	return m
}

// tiles sums products of elements, one for each row, and vectors of weights.
func tiles(k *wide.Kit, rows, vectors int, paired bool) {
	name, where, apart := fmt.Sprintf("tiles%dx%d%s", rows, vectors, k.Suffix()), "a row's step bytes behind the one before,", ""
	t := tile{Kit: k, rows: rows, vectors: vectors, paired: paired, upper: min(rows, 5)}
	if paired {
		t.upper = rows / 2
		name = fmt.Sprintf("pairs%dx%d%s", t.upper, vectors, k.Suffix())
		where = "a row's step bytes behind the one before and the second half's jump bytes behind the first's,"
		apart = " The second half lies leap bytes behind the first, and what is said of rows is of each half's."
	}
	function(k, name, "func(dst *byte, pitch int, leap int, src *byte, step int, jump int, pieces *int, count int, terms *int, first int, whole int, last int, weights *byte, add int)",
		fmt.Sprintf("%s sets count tiles of %d rows of %d vectors, which are pitch bytes apart, to sums over terms:", name, rows, vectors),
		"of the element of src at the term's offset, "+where,
		"times the vectors of weights at the term's other offset. Unless add is 0 they are added to what is there.",
		"The first terms are not for the first row, and the last ones not for the last; a single row has none of",
		"these. pieces has two numbers for each tile, in bytes: where it lies in src and in dst. count is at",
		"least 1."+apart)
	pieces, count := k.Arg("pieces"), k.Arg("count")
	t.step()
	var jump reg.GPVirtual
	if paired {
		jump = k.Arg("jump")
	}
	sums := make([][]reg.VecVirtual, rows)
	k.C.Label("tile")
	t.start(sums, pieces)
	from, next, weights := k.Arg("src"), k.Arg("terms"), k.Arg("weights")
	k.C.ADDQ(operand.Mem{Base: pieces}, from)
	for _, part := range []string{"first", "whole", "last"} {
		if part == "whole" || rows > 1 && t.upper > 1 {
			t.terms(part, sums, from, next, weights, jump)
		}
	}
	t.each(sums, pieces, func(v reg.VecVirtual, m operand.Mem) { k.Move(v, m) })
	k.C.ADDQ(operand.Imm(16), pieces)
	k.C.DECQ(count)
	k.C.JNE(operand.LabelRef("tile"))
	k.End()
}

// terms adds up a part of the terms, for the rows that it is for.
func (t *tile) terms(part string, sums [][]reg.VecVirtual, from, next, weights, jump reg.GPVirtual) {
	left, at := t.Arg(part), t.C.GP64()
	t.C.TESTQ(left, left)
	t.C.JE(operand.LabelRef("no" + part))
	t.base = [2]reg.GPVirtual{t.C.GP64(), t.C.GP64()}
	w, x := t.Vecs(t.vectors), t.Vec()
	t.C.Label(part)
	t.C.MOVQ(operand.Mem{Base: next}, t.base[0])
	t.C.MOVQ(operand.Mem{Base: next, Disp: 8}, at)
	t.C.ADDQ(from, t.base[0])
	switch {
	case t.paired:
		t.C.LEAQ(operand.Mem{Base: t.base[0], Index: jump, Scale: 1}, t.base[1])
	case t.rows > t.upper:
		t.C.LEAQ(operand.Mem{Base: t.base[0], Index: t.steps[5], Scale: 1}, t.base[1])
	}
	for v := range w {
		t.Move(operand.Mem{Base: weights, Index: at, Scale: 1, Disp: v * t.Bytes()}, w[v])
	}
	for r := range t.rows {
		if !t.takes(part, r) {
			continue
		}
		t.Broadcast(t.at(r), x)
		for v := range w {
			t.FMA(x, w[v], sums[r][v])
		}
	}
	t.C.ADDQ(operand.Imm(16), next)
	t.C.DECQ(left)
	t.C.JNE(operand.LabelRef(part))
	t.C.Label("no" + part)
}

// takes reports whether a part of the terms is for a row.
func (t *tile) takes(part string, row int) bool {
	rows := t.rows
	if t.paired {
		row, rows = row%t.upper, t.upper
	}
	return part == "whole" || part == "first" && row > 0 || part == "last" && row < rows-1
}

// start makes a tile's sums what is in dst, or zero.
func (t *tile) start(sums [][]reg.VecVirtual, pieces reg.Register) {
	for r := range sums {
		sums[r] = t.Vecs(t.vectors)
		for _, v := range sums[r] {
			t.Zero(v)
		}
	}
	add := t.Arg("add")
	t.C.TESTQ(add, add)
	t.C.JE(operand.LabelRef("start"))
	t.each(sums, pieces, func(v reg.VecVirtual, m operand.Mem) { t.Move(m, v) })
	t.C.Label("start")
}

// each calls f for every vector of the sums with its place in dst.
func (t *tile) each(sums [][]reg.VecVirtual, pieces reg.Register, f func(v reg.VecVirtual, m operand.Mem)) {
	to, pitch := t.Arg("dst"), t.Arg("pitch")
	t.C.ADDQ(operand.Mem{Base: pieces, Disp: 8}, to)
	for r := range sums {
		for v := range sums[r] {
			f(sums[r][v], operand.Mem{Base: to, Disp: v * t.Bytes()})
		}
		switch {
		case t.paired && r+1 == t.upper:
			leap := t.Arg("leap")
			to = t.Arg("dst")
			t.C.ADDQ(operand.Mem{Base: pieces, Disp: 8}, to)
			t.C.ADDQ(leap, to)
		case r+1 < len(sums):
			t.C.ADDQ(pitch, to)
		}
	}
}

// ask asks for memory that will be read.
func ask(k *wide.Kit) {
	function(k, "ask", "func(src *byte, step int, rows int, lines int)",
		"ask asks for rows of cache lines, step bytes apart. rows and lines are at least 1.")
	src, step, rows := k.Arg("src"), k.Arg("step"), k.Arg("rows")
	at, left := k.C.GP64(), k.C.GP64()
	k.C.Label("row")
	lines := k.Arg("lines")
	k.C.MOVQ(src, at)
	k.C.MOVQ(lines, left)
	k.C.Label("line")
	k.C.PREFETCHT1(operand.Mem{Base: at})
	k.C.ADDQ(operand.Imm(64), at)
	k.C.DECQ(left)
	k.C.JNE(operand.LabelRef("line"))
	k.C.ADDQ(step, src)
	k.C.DECQ(rows)
	k.C.JNE(operand.LabelRef("row"))
	k.C.RET()
}
