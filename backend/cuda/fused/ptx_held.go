package fused

import (
	"math/bits"
	"slices"
)

// A ptxHeld prints a kernel whose lanes hold the vectors of a row that several passes need, as
// printHeld has it in C++.
type ptxHeld struct {
	*ptxRows
	number []string           // by vector of a lane: its number in the row
	inside []string           // by vector: the predicate that the row has it
	words  map[int][][]string // of held values, by vector
	whole  map[int]string     // by operand that need not lie row after row: the predicate that its vectors are whole
}

// ptxHeld prints the kernel of lanes with so many vectors as PTX.
func (p *rowPrinter) ptxHeld(vectors int64) (string, error) {
	rows, err := p.ptxRows()
	if err != nil {
		return "", err
	}
	k := &ptxHeld{ptxRows: rows, number: make([]string, vectors), inside: make([]string, vectors), words: map[int][][]string{}, whole: map[int]string{}}
	return k.module(heldKernel(vectors), k.rowsOf)
}

// rowsOf prints the computation of one row.
func (k *ptxHeld) rowsOf() {
	k.operands()
	vectors := k.Let("b32", "cvt.u32.u64 %s", k.Let("b64", "shr.u64 %s, %d", k.length, bits.TrailingZeros(uint(k.width))))
	for n := range k.number {
		k.number[n] = k.Let("b32", "mad.lo.u32 %s, %d, %s", k.lanes, n, k.lane)
		k.inside[n] = k.Let("pred", "setp.lt.u32 %s, %s", k.number[n], vectors)
	}
	for x := range k.r.Op.In {
		if !k.r.Single[x] && !k.dense[x] {
			near := k.Let("pred", "setp.eq.s64 %s, 1", k.step[x])
			low := k.Let("b64", "and.b64 %s, %d", k.origin[x], k.r.DType(x).Size()*k.width-1)
			k.whole[x] = k.Let("pred", "and.pred %s, %s", near, k.Let("pred", "setp.eq.s64 %s, 0", low))
		}
	}
	next := 0
	pass := func() *pass {
		next++
		q := &k.turns[next-1]
		k.hold(q)
		return q
	}
	for i := range k.r.Stages {
		switch s := &k.r.Stages[i]; {
		case s.Region == nil:
			q := pass()
			k.folded(i, func(add func(w int, v string)) {
				k.each(func(n int) {
					for w, v := range k.some(q, n) {
						add(w, v)
					}
				})
			})
		case s.Single:
			k.stage(i, k.values)
		}
	}
	for i, v := range k.r.Outs {
		if k.r.Single[v] {
			k.single(i, v)
			continue
		}
		k.result(i, pass())
	}
}

// each prints body for every vector that a lane may have.
func (k *ptxHeld) each(body func(n int)) {
	for n, inside := range k.inside {
		done := k.Label()
		k.Line("@!%s bra %s", inside, done)
		body(n)
		k.At(done)
	}
}

// registers returns registers for the vectors of a value. They begin as 0: what is written under
// a predicate alone would take registers before that, too.
func (k *ptxHeld) registers(v int) [][]string {
	list := make([][]string, len(k.number))
	for n := range list {
		for range max(k.r.DType(v).Size()*k.width/4, 1) {
			list[n] = append(list[n], k.Let("b32", "mov.b32 0"))
		}
	}
	return list
}

// hold reads what a pass begins to hold, all of it before the first is used, and finds
// registers for what it keeps.
func (k *ptxHeld) hold(q *pass) {
	for _, x := range q.hold {
		k.words[x] = k.registers(x)
		for n, words := range k.words[x] {
			bytes := k.r.DType(x).Size() * k.width
			if k.whole[x] == "" {
				k.Line("@%s ld.global.%s %s, [%s]", k.inside[n], access(bytes), vector(words), k.address(k.origin[x], n, bytes))
				continue
			}
			done := k.Label()
			k.Line("@!%s bra %s", k.inside[n], done)
			for i, w := range k.apart(x, n) {
				k.Line("mov.b32 %s, %s", words[i], w)
			}
			k.At(done)
		}
	}
	switch {
	case q.over >= 0:
		k.words[q.value] = k.words[q.over]
	case q.keep:
		k.words[q.value] = k.registers(q.value)
	}
}

// address is that of a lane's vector of so many bytes in memory without gaps.
func (k *ptxHeld) address(row string, n, bytes int) string {
	return k.Let("b64", "mad.wide.u32 %s, %d, %s", k.number[n], bytes, row)
}

// apart reads a vector of an operand that need not lie row after row.
func (k *ptxHeld) apart(x, n int) []string {
	at := k.Let("b64", "mul.wide.u32 %s, %d", k.number[n], k.width)
	place := k.Let("b64", "mul.lo.s64 %s, %s", at, k.step[x])
	return k.vector(x, k.width, k.Let("b64", "mad.lo.s64 %s, %d, %s", place, k.r.DType(x).Size(), k.origin[x]), k.whole[x])
}

// some computes a lane's vector of what a pass folds or stores, and keeps it where the pass
// does.
func (k *ptxHeld) some(q *pass, n int) []string {
	held := append(slices.Clone(q.held), q.hold...)
	stages, sources := k.needs(q.value, held)
	words := map[int][]string{}
	for _, x := range sources {
		size := k.r.DType(x).Size()
		switch {
		case slices.Contains(held, x):
			words[x] = k.words[x][n]
		case k.whole[x] == "":
			words[x] = loadWords(k.Code, size*k.width, k.address(k.origin[x], n, size*k.width))
		default:
			words[x] = k.apart(x, n)
		}
	}
	list := k.computed(q.value, stages, sources, words, k.width)
	if q.keep {
		for i, w := range k.packed(q.value, list) {
			k.Line("mov.b32 %s, %s", k.words[q.value][n][i], w)
		}
	}
	return list
}

// packed returns the words of the elements of a value.
func (k *ptxHeld) packed(v int, elements []string) (words []string) {
	for e, value := range elements {
		words = pack(k.Code, k.r.DType(v), words, value, e)
	}
	return words
}

// result stores what a pass computes: store_held of rowwise.cuh.
func (k *ptxHeld) result(i int, q *pass) {
	to, done := k.view(len(k.r.Op.In)+i), k.Label()
	k.Line("@!%s bra %s", k.own, done)
	bytes := k.r.DType(q.value).Size() * k.width
	k.each(func(n int) {
		storeWords(k.Code, bytes, k.address(to, n, bytes), k.packed(q.value, k.some(q, n)))
	})
	k.At(done)
}
