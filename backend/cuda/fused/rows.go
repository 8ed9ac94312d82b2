package fused

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
)

const (
	rowThreads  = 128 // of a block at most, as in rowwise.cuh
	vectorBytes = 16
	vectorsEach = 4 // of a row that a thread should have, at least, as a fold alone does
	mostBlocks  = 1<<31 - 1
)

// rowKernel is the name of the kernel of rows.
const rowKernel = module + "_rows"

// Rows returns the launch of rows, and the source that it launches the one kernel of.
func Rows(r *fusion.Rows) (*code.Kernels, error) {
	p := &rowPrinter{r: r}
	text, err := p.print()
	if err != nil {
		return nil, err
	}
	files := only(text)
	files.ptx = map[string]func() (string, error){module + ".ptx": p.ptx}
	if p.holds {
		for _, n := range heldVectors {
			files.ptx[heldModule(n)+".ptx"] = func() (string, error) { return p.ptxHeld(n) }
		}
	}
	return &code.Kernels{Module: module, Symbol: rowKernel, Source: files, Launch: p.launch}, nil
}

// RowKernel returns the name of the kernel of rows.
func RowKernel() string { return rowKernel }

// launch gives lanes of a block to each row, as a fold of rows in memory does.
func (p *rowPrinter) launch(g code.GPU, c *ir.Call) error {
	rows, length := int64(c.Space[0]), int64(c.Space[1])
	width := int64(vectorBytes / c.Compute.Size())
	lanes := int64(1)
	if n := (length + vectorsEach*width - 1) / (vectorsEach * width); n > 1 {
		lanes = min(rowThreads, int64(1)<<bits.Len64(uint64(n-1)))
	}
	each := rowThreads / lanes
	if lanes > warp {
		each = 1 // warps of a block wait for each other: for those of their row alone
	}
	grid := [3]int{int(min((rows+each-1)/each, mostBlocks)), 1, 1}
	from, name := module, rowKernel
	if held := p.held(c, (length/width+lanes-1)/lanes); held > 0 {
		if name = heldKernel(held); p.plain.Load() {
			from = heldModule(held)
		}
	}
	return g.Launch(from, name, grid, [3]int{int(lanes), int(each), 1}, 0, params(c))
}

// held returns how many vectors a lane holds in the kernel for lanes with at most so many
// each, or 0 for the kernel that holds none.
func (p *rowPrinter) held(c *ir.Call, vectors int64) int64 {
	if !p.holds || c.Space[1]*c.Compute.Size()%vectorBytes != 0 {
		return 0
	}
	for i, list := range [][]ir.View{c.In, c.Out} {
		for j := range list {
			v := &list[j]
			single := i == 0 && p.r.Single[j] || i == 1 && p.r.Single[p.r.Outs[j]]
			apart := i == 0 && !p.dense[j] // its vectors need not be those that are folded
			if !single && !apart && (v.Addr%vectorBytes != 0 || !v.IsContiguous()) {
				return 0
			}
		}
	}
	for _, held := range heldVectors {
		if vectors <= held {
			return held
		}
	}
	return 0
}

// params are what the kernels are given.
func params(c *ir.Call) []byte {
	var p driver.Params
	p.Int64(int64(c.Space[0]))
	p.Int64(int64(c.Space[1]))
	for _, v := range slices.Concat(c.In, c.Out) {
		p.Uint64(v.Addr)
		p.Int64(int64(v.Strides[0]))
		p.Int64(int64(v.Strides[1]))
	}
	for i, a := range c.Op.Attrs {
		s := c.Scalars[i]
		switch {
		case a.Kind == ir.AttrBool:
			p.Align(8)
			p.Bool(s.Bool())
		case a.Kind == ir.AttrInt:
			p.Int64(s.Int())
		case c.Compute == ir.Float32:
			p.Align(8)
			p.Float32(float32(s.Float()))
		default:
			p.Float64(s.Float())
		}
		p.Align(8)
	}
	return p.Bytes()
}

// A rowPrinter prints the source of rows, and launches its kernels.
type rowPrinter struct {
	r     *fusion.Rows
	b     strings.Builder
	holds bool        // there are kernels that hold rows
	plain atomic.Bool // the source was asked for PTX, whose kernels are modules of their own
	turns []pass      // over rows, where some are held
	dense []bool      // by operand: those kernels want it row after row, from a whole vector on
}

func (p *rowPrinter) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// print prints the functors of the stages, what the kernel is given, and the kernel.
func (p *rowPrinter) print() (string, error) {
	p.line("namespace sinter {\n")
	var graphs []*expr.Graph
	for i := range p.r.Stages {
		if r := p.r.Stages[i].Region; r != nil {
			g, err := r.Graph()
			if err != nil {
				return "", err
			}
			graphs = append(graphs, g)
		}
	}
	p.b.WriteString(rounding(graphs...))
	for i := range p.r.Stages {
		if err := p.functor(i); err != nil {
			return "", err
		}
	}
	p.line("struct Region {\n  long long rows, length;\n  RowView x[%d], y[%d];", len(p.r.Op.In), len(p.r.Op.Out))
	for i, a := range p.r.Op.Attrs {
		p.line("  alignas(8) %s s%d;", p.scalar(a.Kind), i)
	}
	p.line("};\n\n}  // namespace sinter\n")
	p.line("extern \"C\" __global__ void __launch_bounds__(%d) %s(const sinter::Region p) {\n  using namespace sinter;", rowThreads, rowKernel)
	p.open()
	for i := range p.r.Stages {
		p.stage(i)
	}
	for i, v := range p.r.Outs {
		p.store(i, v)
	}
	p.line("  }\n}")
	p.dense = make([]bool, len(p.r.Op.In))
	passes, holds := p.passes()
	for _, q := range passes {
		if q.stage >= 0 && q.value < len(p.dense) {
			p.dense[q.value] = true // its own vectors are those that are folded
		}
		for _, x := range q.hold {
			p.dense[x] = true
		}
	}
	if p.holds = holds; holds {
		p.turns = passes
		p.printHeld()
	}
	return including(p.b.String(), "rowwise"), nil
}

// open prints the loop over rows, and the operands with one element a row.
func (p *rowPrinter) open() {
	p.line("  typedef %s T;\n  constexpr int width = %d / sizeof(T);", p.r.Kernel.Compute, vectorBytes)
	p.line("  for (long long base = (long long)blockIdx.x * blockDim.y; base < p.rows; base += (long long)gridDim.x * blockDim.y) {")
	p.line("    const bool own = base + threadIdx.y < p.rows;\n    const long long row = own ? base + threadIdx.y : base;")
	for v := range p.r.Op.In {
		if p.r.Single[v] {
			p.line("    const %s v%d = cast<%s>(RowOf<%s>::of<1>(p.x[%d], row, 0).one(0));", p.number(v), v, p.number(v), p.dtype(v), v)
		}
	}
}

// scalar is the type of a scalar.
func (p *rowPrinter) scalar(k ir.AttrKind) string {
	switch k {
	case ir.AttrInt:
		return "long long"
	case ir.AttrBool:
		return "bool"
	}
	return p.r.Kernel.Compute.String()
}

// dtype is the type of a value's elements.
func (p *rowPrinter) dtype(v int) string {
	if d := p.r.DType(v); d != ir.Bool {
		return d.String()
	}
	return "bool"
}

// number is the type that elements of a value are computed with.
func (p *rowPrinter) number(v int) string {
	if d := p.r.DType(v); d == ir.Float16 || d == ir.BFloat16 {
		return d.Compute().String()
	}
	return p.dtype(v)
}

// functor prints the functor of a stage.
func (p *rowPrinter) functor(i int) error {
	s := &p.r.Stages[i]
	if s.Region != nil {
		g, err := s.Region.Graph()
		if err == nil {
			err = steady(g)
		}
		if err != nil {
			return err
		}
		functor(&p.b, fmt.Sprintf("Stage%dFn", i), g)
		return nil
	}
	b, err := body.Of(s.Kernel)
	if err != nil {
		return err
	}
	types, acc := cpp.Types{T: "T", Real: "T"}, cpp.Types{T: "Acc", Real: "Acc"}
	p.line("template <class T> struct Stage%dFn {\n  typedef %s Acc;", i, types.Of(b.Map.Roots[0].Kind))
	for _, q := range b.Params {
		p.line("  %s %s;", paramType(q.Kind), q.Name)
	}
	member(&p.b, b.Init, acc, "init", "")
	member(&p.b, b.Map, types, "map", "T "+s.Kernel.Op.In[0].Name)
	member(&p.b, b.Combine, acc, "combine", "Acc a, Acc b")
	member(&p.b, b.Finish, acc, "finish", "Acc a, long long count")
	p.line("};\n")
	return nil
}

// member prints a member function of one result.
func member(b *strings.Builder, g *expr.Graph, types cpp.Types, name, params string) {
	code := types.Print(g)
	fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const {\n", types.Of(g.Roots[0].Kind), name, params)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", types.Of(l.Kind), l.Name, l.Expr)
	}
	fmt.Fprintf(b, "    return %s;\n  }\n", code.Results[0])
}

// functorOf prints the functor of a stage, with its scalars.
func (p *rowPrinter) functorOf(i int) {
	s := &p.r.Stages[i]
	p.line("    Stage%dFn<T> f%d;", i, i)
	for k, name := range scalarNames(s) {
		p.line("    f%d.%s = p.s%d;", i, name, s.Scalar+k)
	}
}

// stage prints what one stage adds: its functor, and its value of each row.
func (p *rowPrinter) stage(i int) {
	s := &p.r.Stages[i]
	p.functorOf(i)
	switch {
	case s.Region == nil:
		head := "head_of<width>((unsigned long long)(row * p.length))"
		if v := s.In[0]; v < len(p.r.Op.In) {
			head = fmt.Sprintf("head_at<%s, width>(p.x[%d], row)", p.dtype(v), v)
		}
		p.line("    const long long h%d = %s;", i, head)
		p.line("    const T v%d = f%d.finish(fold_row<width>(f%d, p.length, h%d, %s), p.length);", s.Out, i, i, i, p.get(s.In[0], fmt.Sprintf("h%d", i)))
	case s.Single:
		p.line("    %s", p.values(i))
	}
}

// scalarNames returns the names of the scalars of a stage, as its functor has them.
func scalarNames(s *fusion.Stage) []string {
	b, err := body.Of(s.Kernel)
	if err != nil {
		return nil // functor has said so
	}
	var list []string
	for _, q := range b.Params {
		list = append(list, q.Name)
	}
	return list
}

// values is the statements that compute what an element-wise stage gives.
func (p *rowPrinter) values(i int) string {
	s := &p.r.Stages[i]
	args := []string{"0"}
	for _, v := range s.In {
		args = append(args, fmt.Sprintf("v%d", v))
	}
	if len(s.Kernel.Out) == 1 {
		return fmt.Sprintf("const %s v%d = f%d(%s);", p.number(s.Out), s.Out, i, strings.Join(args, ", "))
	}
	text := fmt.Sprintf("auto r%d = f%d(%s);", i, i, strings.Join(args, ", "))
	for k := range s.Kernel.Out {
		text += fmt.Sprintf(" const %s v%d = get<%d>(r%d);", p.number(s.Out+k), s.Out+k, k, i)
	}
	return text
}

// needs returns the stages over all elements that a value is computed by where some are
// held, and the operands and held values of which they read all elements.
func (p *rowPrinter) needs(v int, held []int) (stages, sources []int) {
	seen := map[int]bool{}
	var visit func(v int)
	visit = func(v int) {
		if p.r.Single[v] || seen[v] {
			return
		}
		seen[v] = true
		if v < len(p.r.Op.In) || slices.Contains(held, v) {
			sources = append(sources, v)
			return
		}
		i := slices.IndexFunc(p.r.Stages, func(s fusion.Stage) bool { return v >= s.Out && v < s.Out+len(s.Kernel.Out) })
		if slices.Contains(stages, i) {
			return
		}
		stages = append(stages, i)
		for _, from := range p.r.Stages[i].In {
			visit(from)
		}
	}
	visit(v)
	slices.Sort(stages)
	slices.Sort(sources)
	return stages, sources
}

// get is a lambda of the elements of operands that returns an element of a value, and the
// rows of those operands, as arguments.
func (p *rowPrinter) get(v int, head string) string {
	stages, operands := p.needs(v, nil)
	var params, statements, rows []string
	for _, x := range operands {
		params = append(params, fmt.Sprintf("%s u%d", p.dtype(x), x))
		statements = append(statements, fmt.Sprintf("const %s v%d = cast<%s>(u%d);", p.number(x), x, p.number(x), x))
		rows = append(rows, fmt.Sprintf("RowOf<%s>::of<width>(p.x[%d], row, %s)", p.dtype(x), x, head))
	}
	for _, i := range stages {
		statements = append(statements, p.values(i))
	}
	text := fmt.Sprintf("[&](%s) { %s return v%d; }", strings.Join(params, ", "), strings.Join(statements, " "), v)
	return strings.Join(append([]string{text}, rows...), ", ")
}

// store prints the store of a result.
func (p *rowPrinter) store(i, v int) {
	at := p.at(i)
	if p.r.Single[v] {
		p.line("    if (own && threadIdx.x == 0) *%s = cast<%s>(v%d);", at, p.dtype(v), v)
		return
	}
	p.line("    const long long g%d = head_of<width>((unsigned long long)(row * p.length));", i)
	p.line("    if (own) store_row<width>(%s, p.length, g%d, %s);", at, i, p.get(v, fmt.Sprintf("g%d", i)))
}

// at is where the row of a result lies.
func (p *rowPrinter) at(i int) string {
	return fmt.Sprintf("(static_cast<%s*>(p.y[%d].at) + row * p.y[%d].row)", p.dtype(p.r.Outs[i]), i, i)
}
