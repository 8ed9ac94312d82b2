package fused

import (
	"fmt"

	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// The struct Region of a kernel of rows, in bytes.
const (
	rowViews = 16 // of operands, then of results: address, distance of rows, distance of elements
	rowView  = 24
	warp     = 32
)

// A ptxRows prints the kernel of rows that holds none of them, and is what ptxHeld begins
// with. Folds are those of rowwise.cuh, in their order.
type ptxRows struct {
	*ptx.Code
	*rowPrinter
	lib          *ptx.Library
	width        int // elements of a vector
	lane, lanes  string
	length, row  string
	own          string         // predicate: this thread's row is one of the call
	scalars      []string       // of the call
	values       map[int]string // registers of values with one element a row
	graphs       []*expr.Graph  // by stage; nil of folds
	step, origin map[int]string // by operand with many: the distance of its elements, and the address of its row
}

// ptx prints the kernel as PTX. Launches ask for those that hold rows by their own names, then.
func (p *rowPrinter) ptx() (string, error) {
	k, err := p.ptxRows()
	if err != nil {
		return "", err
	}
	text, err := k.module(rowKernel, k.rowsOf)
	if err == nil {
		p.plain.Store(true)
	}
	return text, err
}

// ptxRows begins a kernel.
func (p *rowPrinter) ptxRows() (*ptxRows, error) {
	lib, err := library()
	if err != nil {
		return nil, err
	}
	k := &ptxRows{Code: lib.NewCode(), rowPrinter: p, lib: lib, width: vectorBytes / p.r.Kernel.Compute.Size(),
		values: map[int]string{}, step: map[int]string{}, origin: map[int]string{}}
	return k, k.prepare()
}

// module returns the text of a kernel, of which rows prints what it does with a row.
func (k *ptxRows) module(name string, rows func()) (string, error) {
	size := k.kernel(rows)
	text, err := k.Body()
	if err != nil {
		return "", err
	}
	all, err := k.lib.Module(name, fmt.Appendf(nil, ".visible .entry %s(\n.param .align 8 .b8 p0[%d]\n)\n.maxntid %d, 1, 1\n{\n.shared .align 16 .b8 warps[%d];\n%s}\n",
		name, size, rowThreads, 8*rowThreads/warp, text))
	return string(all), err
}

// prepare finds the graphs, and what the kernel cannot do.
func (k *ptxRows) prepare() error {
	compute := k.r.Kernel.Compute
	for v := range k.r.Op.In {
		if d := k.r.DType(v); d.Size()*k.width > vectorBytes {
			return fmt.Errorf("rows of %s beside %s", d, compute)
		}
	}
	for i := range k.r.Stages {
		s := &k.r.Stages[i]
		b, err := body.Of(s.Kernel)
		if err != nil {
			return err
		}
		if s.Region != nil {
			g, err := s.Region.Graph()
			if err != nil {
				return err
			}
			k.graphs = append(k.graphs, g)
			continue
		}
		k.graphs = append(k.graphs, nil)
		if k.r.DType(s.In[0]).Compute() != compute || b.Finish.Result() != compute {
			return fmt.Errorf("a fold of %s to %s in rows of %s", k.r.DType(s.In[0]), b.Finish.Result(), compute)
		}
	}
	return nil
}

// read reads 8 bytes of the parameters, or as many as a type has.
func (k *ptxRows) read(class, typ string, offset int) string {
	return k.Let(class, "ld.param.%s [p0+%d]", typ, offset)
}

// kernel prints the loop over rows, of which body prints the computation of one a group of
// lanes. It returns the size of the parameters.
func (k *ptxRows) kernel(body func()) (size int) {
	rows := k.read("b64", "u64", 0)
	k.length = k.read("b64", "u64", 8)
	n := rowViews + rowView*(len(k.r.Op.In)+len(k.r.Op.Out))
	for _, a := range k.r.Op.Attrs {
		switch {
		case a.Kind == ir.AttrInt:
			k.scalars = append(k.scalars, k.read("b64", "u64", n))
		case a.Kind == ir.AttrBool:
			k.scalars = append(k.scalars, k.read("b32", "u8", n))
		default:
			class := ptx.Class(k.r.Kernel.Compute)
			k.scalars = append(k.scalars, k.read(class, class, n))
		}
		n += 8
	}
	k.lane, k.lanes = k.Let("b32", "mov.u32 %%tid.x"), k.Let("b32", "mov.u32 %%ntid.x")
	each, place := k.Let("b32", "mov.u32 %%ntid.y"), k.Let("b32", "mov.u32 %%tid.y")
	first := k.Let("b64", "mul.wide.u32 %s, %s", k.Let("b32", "mov.u32 %%ctaid.x"), each)
	step := k.Let("b64", "mul.wide.u32 %s, %s", k.Let("b32", "mov.u32 %%nctaid.x"), each)
	while(k.Code, "b64", "s64", first, step, rows, func(base string) {
		row := k.Let("b64", "add.s64 %s, %s", base, k.Let("b64", "cvt.u64.u32 %s", place))
		k.own = k.Let("pred", "setp.lt.s64 %s, %s", row, rows)
		k.row = k.Let("b64", "selp.b64 %s, %s, %s", row, base, k.own)
		body()
	})
	return n
}

// operands prints where this row of the operands is, and reads those with one element a row.
func (k *ptxRows) operands() {
	for v := range k.r.Op.In {
		at := k.view(v)
		k.origin[v], k.step[v] = at, k.read("b64", "u64", rowViews+rowView*v+16)
		if k.r.Single[v] {
			k.values[v] = k.element(v, at)
		}
	}
}

// rowsOf prints the computation of one row.
func (k *ptxRows) rowsOf() {
	k.operands()
	for i := range k.r.Stages {
		switch s := &k.r.Stages[i]; {
		case s.Region == nil:
			k.fold(i)
		case s.Single:
			k.stage(i, k.values)
		}
	}
	for i, v := range k.r.Outs {
		k.result(i, v)
	}
}

// view returns the address of this row of an operand or a result.
func (k *ptxRows) view(n int) string {
	at := k.Let("b64", "cvta.to.global.u64 %s", k.read("b64", "u64", rowViews+rowView*n))
	far := k.Let("b64", "mul.lo.s64 %s, %s", k.row, k.read("b64", "u64", rowViews+rowView*n+8))
	return k.Let("b64", "mad.lo.s64 %s, %d, %s", far, k.viewed(n).Size(), at)
}

// viewed is the dtype of what a view is of.
func (k *ptxRows) viewed(n int) ir.DType {
	if n < len(k.r.Op.In) {
		return k.r.DType(n)
	}
	return k.r.DType(k.r.Outs[n-len(k.r.Op.In)])
}

// element reads one element of an operand.
func (k *ptxRows) element(v int, address string) string {
	d := k.r.DType(v)
	return unpack(k.Code, d, loadWords(k.Code, d.Size(), address), 0)
}

// stage computes an element-wise stage of values, to which it adds its own.
func (k *ptxRows) stage(i int, values map[int]string) {
	s, g := &k.r.Stages[i], k.graphs[i]
	names := k.named(i)
	for at, o := range g.Env.Operands {
		names[o.Name] = values[s.In[at]]
	}
	for n, r := range k.Graph(g, names) {
		values[s.Out+n] = r
	}
}

// named are the scalars of a stage, by name.
func (k *ptxRows) named(i int) map[string]string {
	names := map[string]string{"index": k.row} // which regions of rows do not read
	for n, name := range scalarNames(&k.r.Stages[i]) {
		names[name] = k.scalars[k.r.Stages[i].Scalar+n]
	}
	return names
}

// some computes n neighbours of a value, from the element of a number in the row on.
// Vectors says of an operand whether they are loaded at once; nil where there is one.
func (k *ptxRows) some(v, n int, at string, vectors map[int]string) []string {
	stages, operands := k.needs(v, nil)
	words := map[int][]string{}
	for _, x := range operands {
		d := k.r.DType(x)
		place := k.Let("b64", "mul.lo.s64 %s, %s", at, k.step[x])
		address := k.Let("b64", "mad.lo.s64 %s, %d, %s", place, d.Size(), k.origin[x])
		if n == 1 {
			words[x] = loadWords(k.Code, d.Size(), address)
			continue
		}
		words[x] = k.vector(x, n, address, vectors[x])
	}
	return k.computed(v, stages, operands, words, n)
}

// computed computes n neighbours of a value by stages, of words that have been read or held.
func (k *ptxRows) computed(v int, stages, operands []int, words map[int][]string, n int) []string {
	list := make([]string, n)
	for e := range list {
		values := map[int]string{}
		for u, r := range k.values {
			values[u] = r
		}
		for _, x := range operands {
			values[x] = unpack(k.Code, k.r.DType(x), words[x], e)
		}
		for _, i := range stages {
			k.stage(i, values)
		}
		list[e] = values[v]
	}
	return list
}

// vector reads n neighbours: at once where a predicate says that they lie so.
func (k *ptxRows) vector(x, n int, address, whole string) []string {
	size := k.r.DType(x).Size()
	words := make([]string, max(size*n/4, 1))
	for i := range words {
		words[i] = k.Register("b32")
	}
	apart, done := k.Label(), k.Label()
	k.Line("@!%s bra %s", whole, apart)
	k.Line("ld.global.%s %s, [%s]", access(size*n), vector(words), address)
	k.Line("bra %s", done)
	k.At(apart)
	step := k.Let("b64", "mul.lo.s64 %s, %d", k.step[x], size)
	at := k.Let("b64", "mov.b64 %s", address)
	for e := range n {
		one := loadWords(k.Code, size, at)
		switch {
		case size >= 4:
			for i, w := range one {
				k.Line("mov.b32 %s, %s", words[e*size/4+i], w)
			}
		case e*size%4 == 0:
			k.Line("mov.b32 %s, %s", words[e*size/4], one[0])
		default:
			k.Line("bfi.b32 %[1]s, %[2]s, %[1]s, %[3]d, %[4]d", words[e*size/4], one[0], e*size%4*8, size*8)
		}
		k.Line("add.s64 %[1]s, %[1]s, %[2]s", at, step)
	}
	k.At(done)
	return words
}

// together returns for the operands that a value is computed of the predicates of vectors
// that begin at head and lie together.
func (k *ptxRows) together(v int, head string) map[int]string {
	_, operands := k.needs(v, nil)
	vectors := map[int]string{}
	for _, x := range operands {
		size := k.r.DType(x).Size()
		near := k.Let("pred", "setp.eq.s64 %s, 1", k.step[x])
		vectors[x] = k.Let("pred", "and.pred %s, %s", near, k.aligned(k.origin[x], head, size))
	}
	return vectors
}

// aligned is the predicate of a vector that begins at head after an address.
func (k *ptxRows) aligned(address, head string, size int) string {
	at := k.Let("b64", "mad.lo.s64 %s, %d, %s", head, size, address)
	return k.Let("pred", "setp.eq.s64 %s, 0", k.Let("b64", "and.b64 %s, %d", at, size*k.width-1))
}

// fold prints a fold: fold_row of rowwise.cuh.
func (k *ptxRows) fold(i int) {
	s := &k.r.Stages[i]
	elements := k.Let("b64", "mul.lo.s64 %s, %s", k.row, k.length)
	if v := s.In[0]; v < len(k.r.Op.In) {
		elements = k.Let("b64", "div.u64 %s, %d", k.origin[v], k.r.DType(v).Size())
	}
	head := k.head(elements)
	vectors := k.together(s.In[0], head)
	head = k.Let("b64", "min.s64 %s, %s", head, k.length)
	k.folded(i, func(add func(w int, v string)) {
		k.row3(head, k.length, func(at string) {
			add(0, k.some(s.In[0], 1, at, nil)[0])
		}, func(at string) {
			for w, v := range k.some(s.In[0], k.width, at, vectors) {
				add(w, v)
			}
		})
	})
}

// folded prints a fold of what elements adds to the sums of this lane, one for each element of
// a vector, which other lanes' are combined with.
func (k *ptxRows) folded(i int, elements func(add func(w int, v string))) {
	s := &k.r.Stages[i]
	b, err := body.Of(s.Kernel)
	if err != nil {
		k.Fail(err)
		return
	}
	class := ptx.Class(b.Map.Result())
	acc := make([]string, k.width)
	init := k.Graph(b.Init, k.named(i))[0]
	for w := range acc {
		acc[w] = k.Let(class, "mov.%s %s", class, init)
	}
	elements(func(w int, v string) {
		names := k.named(i)
		names[s.Kernel.Op.In[0].Name] = v
		mapped := k.Graph(b.Map, names)[0]
		k.Line("mov.%s %s, %s", class, acc[w], k.combine(b, i, acc[w], mapped))
	})
	for half := k.width / 2; half > 0; half /= 2 {
		for w := range half {
			k.Line("mov.%s %s, %s", class, acc[w], k.combine(b, i, acc[w], acc[w+half]))
		}
	}
	k.across(b, i, class, acc[0])
	names := k.named(i)
	names["a"], names["count"] = acc[0], k.length
	k.values[s.Out] = k.Graph(b.Finish, names)[0]
}

// combine prints what a fold makes of two.
func (k *ptxRows) combine(b *body.Body, i int, x, y string) string {
	names := k.named(i)
	names["a"], names["b"] = x, y
	return k.Graph(b.Combine, names)[0]
}

// head is how many elements lie before the first whole vector: head_of.
func (k *ptxRows) head(elements string) string {
	return k.Let("b64", "and.b64 %s, %d", k.Let("b64", "neg.s64 %s", elements), k.width-1)
}

// row3 prints the three loops over a row: one by one up to head, by vectors, and what is left.
func (k *ptxRows) row3(head, n string, one, vector func(at string)) {
	lane, lanes := k.Let("b64", "cvt.u64.u32 %s", k.lane), k.Let("b64", "cvt.u64.u32 %s", k.lanes)
	while(k.Code, "b64", "s64", lane, lanes, head, one)
	bits := k.Let("b64", "sub.s64 %s, %s", n, head)
	whole := k.Let("b64", "and.b64 %s, %d", bits, -k.width)
	end := k.Let("b64", "add.s64 %s, %s", head, whole)
	first := k.Let("b64", "mad.lo.s64 %s, %d, %s", lane, k.width, head)
	while(k.Code, "b64", "s64", first, k.Let("b64", "mul.lo.s64 %s, %d", lanes, k.width), end, vector)
	while(k.Code, "b64", "s64", k.Let("b64", "add.s64 %s, %s", end, lane), lanes, n, one)
}

// across combines what the lanes of a row have, as reduce.cuh does. All get it.
func (k *ptxRows) across(b *body.Body, i int, class, acc string) {
	butterfly := func(count string) {
		mask, again, done := k.Let("b32", "shr.u32 %s, 1", count), k.Label(), k.Label()
		k.At(again)
		k.Line("@%s bra %s", k.Let("pred", "setp.eq.u32 %s, 0", mask), done)
		k.Line("mov.%s %s, %s", class, acc, k.combine(b, i, acc, k.shuffled(class, acc, mask)))
		k.Line("shr.u32 %[1]s, %[1]s, 1", mask)
		k.Line("bra %s", again)
		k.At(done)
	}
	size := map[string]int{"b32": 4, "f32": 4, "b64": 8, "f64": 8}[class]
	butterfly(k.Let("b32", "min.u32 %s, %d", k.lanes, warp))
	done := k.Label()
	k.Line("@%s bra %s", k.Let("pred", "setp.le.u32 %s, %d", k.lanes, warp), done)
	y := k.Let("b32", "mov.u32 %%tid.y")
	thread := k.Let("b32", "mad.lo.u32 %s, %s, %s", y, k.lanes, k.lane)
	count := k.Let("b32", "shr.u32 %s, 5", k.lanes)
	place := func(n string) string {
		return k.Let("b32", "mad.lo.u32 %s, %d, %s", n, size, k.Let("b32", "mov.u32 warps"))
	}
	first := k.Let("pred", "setp.eq.u32 %s, 0", k.Let("b32", "and.b32 %s, %d", thread, warp-1))
	k.Line("@%s st.shared.%s [%s], %s", first, class, place(k.Let("b32", "shr.u32 %s, 5", thread)), acc)
	k.Line("bar.sync 0")
	own := k.Let("b32", "and.b32 %s, %s", thread, k.Let("b32", "sub.u32 %s, 1", count))
	k.Line("ld.shared.%s %s, [%s]", class, acc, place(k.Let("b32", "mad.lo.u32 %s, %s, %s", y, count, own)))
	butterfly(count)
	k.Line("bar.sync 0")
	k.At(done)
}

// shuffled is what the lane has whose number is this one's but for the bits of mask.
func (k *ptxRows) shuffled(class, v, mask string) string {
	if class == "b32" || class == "f32" {
		return k.Let(class, "shfl.sync.bfly.b32 %s, %s, 31, -1", v, mask)
	}
	low, high := k.Register("b32"), k.Register("b32")
	k.Line("mov.b64 {%s, %s}, %s", low, high, v)
	low, high = k.Let("b32", "shfl.sync.bfly.b32 %s, %s, 31, -1", low, mask), k.Let("b32", "shfl.sync.bfly.b32 %s, %s, 31, -1", high, mask)
	return k.Let(class, "mov.b64 {%s, %s}", low, high)
}

// result stores a value: store_row of rowwise.cuh.
func (k *ptxRows) result(i, v int) {
	if k.r.Single[v] {
		k.single(i, v)
		return
	}
	d := k.r.DType(v)
	to, done := k.view(len(k.r.Op.In)+i), k.Label()
	k.Line("@!%s bra %s", k.own, done)
	head := k.head(k.Let("b64", "mul.lo.s64 %s, %s", k.row, k.length))
	vectors := k.together(v, head)
	whole := k.aligned(to, head, d.Size())
	head = k.Let("b64", "min.s64 %s, %s", head, k.length)
	head = k.Let("b64", "selp.b64 %s, %s, %s", head, k.length, whole)
	store := func(n int) func(at string) {
		return func(at string) {
			var words []string
			for e, value := range k.some(v, n, at, vectors) {
				words = pack(k.Code, d, words, value, e)
			}
			storeWords(k.Code, d.Size()*n, k.Let("b64", "mad.lo.s64 %s, %d, %s", at, d.Size(), to), words)
		}
	}
	k.row3(head, k.length, store(1), store(k.width))
	k.At(done)
}

// single stores a value with one element a row.
func (k *ptxRows) single(i, v int) {
	d := k.r.DType(v)
	to, done := k.view(len(k.r.Op.In)+i), k.Label()
	k.Line("@!%s bra %s", k.own, done)
	k.Line("@%s bra %s", k.Let("pred", "setp.ne.u32 %s, 0", k.lane), done)
	storeWords(k.Code, d.Size(), to, pack(k.Code, d, nil, k.values[v], 0))
	k.At(done)
}
