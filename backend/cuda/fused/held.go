package fused

import (
	"fmt"
	"slices"
	"strings"
)

// mostHeld is how many values of a row may stay in registers at a time.
const mostHeld = 2

// heldVectors are the vectors of a row that a lane holds, a kernel for each: rows that
// lanes have few of take few registers.
var heldVectors = []int64{4, 16}

// heldKernel is the name of the kernel that holds so many vectors a lane.
func heldKernel(vectors int64) string { return fmt.Sprintf("%s_held%d", rowKernel, vectors) }

// heldModule is the module of its PTX: the driver compiles a kernel when it is first wanted.
func heldModule(vectors int64) string { return fmt.Sprintf("%s_held%d", module, vectors) }

// A pass goes over the elements of a row once: it folds what a stage folds, or stores a
// result.
type pass struct {
	stage, out int   // one of them is -1
	value      int   // what it folds or stores
	held       []int // the values that are in registers before it
	hold       []int // operands that are read into registers first
	keep       bool  // what it computes stays in registers
	over       int   // the held value in whose registers that is, needed no more; or -1
}

// passes are the passes over rows, and whether any of them uses what another one held.
func (p *rowPrinter) passes() (list []pass, holds bool) {
	for i := range p.r.Stages {
		if s := &p.r.Stages[i]; s.Region == nil {
			list = append(list, pass{stage: i, out: -1, value: s.In[0], over: -1})
		}
	}
	for i, v := range p.r.Outs {
		if !p.r.Single[v] {
			list = append(list, pass{stage: -1, out: i, value: v, over: -1})
		}
	}
	var held []int
	for k := range list {
		q, later := &list[k], list[k+1:]
		q.held = held
		for _, x := range p.sources(q.value, held) {
			if len(held) < mostHeld && !slices.Contains(held, x) && p.used(x, later, held) {
				q.hold = append(q.hold, x)
				held = append(slices.Clone(held), x)
			}
		}
		if q.value >= len(p.r.Op.In) && !slices.Contains(held, q.value) && p.used(q.value, later, append(slices.Clone(held), q.value)) {
			with := p.needed(append(slices.Clone(held), q.value), later)
			if q.keep = len(with) <= mostHeld; q.keep {
				for _, x := range held {
					if p.dtype(x) == p.dtype(q.value) && !slices.Contains(with, x) {
						q.over = x
					}
				}
				held = with
			}
		}
		held = p.needed(held, later)
		holds = holds || len(q.hold) > 0 || q.keep
	}
	return list, holds
}

// sources are the operands and the held values that all elements of a value are computed of.
func (p *rowPrinter) sources(v int, held []int) []int {
	_, from := p.needs(v, held)
	return from
}

// used reports whether one of the passes reads all elements of v where these are held.
func (p *rowPrinter) used(v int, passes []pass, held []int) bool {
	return slices.ContainsFunc(passes, func(q pass) bool { return slices.Contains(p.sources(q.value, held), v) })
}

// needed are those of the held values that a pass of these reads.
func (p *rowPrinter) needed(held []int, passes []pass) []int {
	var list []int
	for _, v := range held {
		if p.used(v, passes, held) {
			list = append(list, v)
		}
	}
	return list
}

// printHeld prints the kernels of rows of which every lane has few vectors. Rows are whole
// vectors, and operands and results lie row after row.
func (p *rowPrinter) printHeld() {
	p.line("namespace sinter {\ntemplate <int held> SINTER_FN void held_rows(const Region& p) {")
	p.open()
	p.line("    const int vectors = int(p.length / width);")
	for v := range p.r.Op.In {
		switch {
		case p.r.Single[v]:
		case p.dense[v]: // launch has seen that it lies as it should
			p.line("    const RowOf<%[1]s> x%[2]d = {static_cast<const %[1]s*>(p.x[%[2]d].at) + row * p.length, 1, true};", p.dtype(v), v)
		default:
			p.line("    const auto x%d = RowOf<%s>::of<width>(p.x[%d], row, 0);", v, p.dtype(v), v)
		}
	}
	next := 0
	for i := range p.r.Stages {
		if p.r.Stages[i].Region != nil {
			p.stage(i)
			continue
		}
		p.functorOf(i)
		q := &p.turns[next]
		next++
		p.hold(q)
		p.line("    const T v%d = f%d.finish(fold_held<width, held>(f%d, vectors, %s), p.length);", p.r.Stages[i].Out, i, i, p.getHeld(q))
	}
	for i, v := range p.r.Outs {
		if p.r.Single[v] {
			p.store(i, v)
			continue
		}
		q := &p.turns[next]
		next++
		p.hold(q)
		p.line("    if (own) store_held<width, held>(%s, vectors, %s);", p.at(i), p.getHeld(q))
	}
	p.line("  }\n}\n}  // namespace sinter")
	for _, vectors := range heldVectors {
		p.line("extern \"C\" __global__ void __launch_bounds__(%d) %s(const sinter::Region p) { sinter::held_rows<%d>(p); }", rowThreads, heldKernel(vectors), vectors)
	}
}

// hold prints the registers of what a pass begins to hold, and the reads of operands.
func (p *rowPrinter) hold(q *pass) {
	for _, v := range q.hold {
		p.line("    Vector<%s, width> h%d[held];\n    hold(h%d, vectors, x%d);", p.dtype(v), v, v, v)
	}
	switch {
	case q.over >= 0:
		p.line("    auto& h%d = h%d;", q.value, q.over)
	case q.keep:
		p.line("    Vector<%s, width> h%d[held];", p.dtype(q.value), q.value)
	}
}

// getHeld is the lambda of fold_held and store_held that returns what a pass folds or stores.
func (p *rowPrinter) getHeld(q *pass) string {
	var some, each strings.Builder
	held := append(slices.Clone(q.held), q.hold...)
	stages, sources := p.needs(q.value, held)
	for _, x := range sources {
		from := fmt.Sprintf("h%d[i]", x)
		if !slices.Contains(held, x) {
			from = fmt.Sprintf("y%d", x)
			fmt.Fprintf(&some, "const Vector<%s, width> y%d = x%d.template some<width>(k); ", p.dtype(x), x, x)
		}
		fmt.Fprintf(&each, "const %s v%d = cast<%s>(%s.at[w]); ", p.number(x), x, p.number(x), from)
	}
	for _, i := range stages {
		each.WriteString(p.values(i) + " ")
	}
	keep := ""
	if q.keep {
		keep = fmt.Sprintf("h%d[i] = r; ", q.value)
	}
	return fmt.Sprintf("[&](int i, int k) { %sVector<%s, width> r;\n#pragma unroll\n        for (int w = 0; w < width; w++) { %sr.at[w] = cast<%s>(v%d); }\n        %sreturn r; }",
		some.String(), p.dtype(q.value), each.String(), p.dtype(q.value), q.value, keep)
}
