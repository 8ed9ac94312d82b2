package fused

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/kernels/functions"
)

// library is the functions of expressions, compiled ahead.
var library = sync.OnceValues(func() (*ptx.Library, error) {
	text, err := functions.PTX()
	if err != nil {
		return nil, err
	}
	return ptx.NewLibrary(text), nil
})

// The struct Space of space.cuh, in bytes.
const (
	spaceCount    = 8
	spaceRank     = 16
	spaceDividers = 20 // each of 12 bytes: divisor, multiplier, shift
	spaceStrides  = 120
	spaceAxes     = 8
)

// A ptxKernel prints a loop over a region's elements, with the parameters of the loop of
// the same name that C++ has.
type ptxKernel struct {
	*ptx.Code
	g       *expr.Graph
	ports   []ir.DType // results, then operands
	results int
	width   int // elements of a vector, a power of two

	at      []string          // address of each port, in the global space
	number  []string          // by port: predicate of an operand that is a number; "" of others
	value   []string          // of those, the number
	scalars map[string]string // registers of attributes
}

// printPTX prints the kernel of a loop over a region as PTX.
func printPTX(r *fusion.Region, g *expr.Graph, l *loop) (string, error) {
	lib, err := library()
	if err != nil {
		return "", err
	}
	k := &ptxKernel{Code: lib.NewCode(), g: g, results: len(r.Kernel.Out), width: 8}
	for i, p := range slices.Concat(r.Kernel.Out, r.Kernel.In) {
		if i < k.results && p.DType.Compute() != g.KindDType(g.Roots[i].Kind) || p.DType.IsComplex() {
			return "", fmt.Errorf("a result of %s is stored as %s", g.KindDType(g.Roots[i].Kind), p.DType)
		}
		k.ports = append(k.ports, p.DType)
		k.width = min(k.width, vectorBytes/p.DType.Size())
	}
	name := fmt.Sprintf("%s_%s%s", module, r.Kernel.DType, l.suffix)
	over := ".param .u64 p0"
	if l.suffix != "" {
		over = fmt.Sprintf(".param .align 8 .b8 p0[%d]", spaceStrides+8*spaceAxes*len(k.ports))
	}
	size, align := k.prologue()
	switch l.suffix {
	case strided:
		k.overSpace(1)
	case rowwise:
		k.overSpace(k.width)
	default:
		k.contiguous()
	}
	body, err := k.Body()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf(".visible .entry %s(\n%s,\n.param .align 8 .b8 p1[%d],\n.param .align %d .b8 p2[%d]\n)\n.maxntid 256, 1, 1\n%s",
		name, over, 8*len(k.ports)+8, align, size, body)
	all, err := lib.Module(name, []byte(text))
	return string(all), err
}

// param reads a parameter of a compute dtype.
func (k *ptxKernel) param(d ir.DType, param string, offset int) string {
	typ := ptx.Class(d)
	if bits := 8 * d.Size(); bits < 32 { // bools and small integers, which are held as words
		sign := "s"
		if d == ir.Bool || d.Unsigned() {
			sign = "u"
		}
		typ = fmt.Sprint(sign, bits)
	}
	return k.Let(ptx.Class(d), "ld.param.%s [%s+%d]", typ, param, offset)
}

// prologue reads the addresses, the numbers and the attributes. It returns the size and
// the alignment of the struct of attributes, the functor in C++.
func (k *ptxKernel) prologue() (size, align int) {
	mask := k.Let("b32", "ld.param.u32 [p1+%d]", 8*len(k.ports))
	numbers := k.results > 1 || len(k.ports) > 2 // as elementwise.cuh and several.cuh
	for i, d := range k.ports {
		k.at = append(k.at, k.Let("b64", "cvta.to.global.u64 %s", k.Let("b64", "ld.param.u64 [p1+%d]", 8*i)))
		is, value := "", ""
		if numbers && i >= k.results {
			is = k.Let("pred", "setp.ne.u32 %s, 0", k.Let("b32", "and.b32 %s, %d", mask, 1<<i))
			value = k.param(d.Compute(), "p1", 8*i)
		}
		k.number, k.value = append(k.number, is), append(k.value, value)
	}
	k.scalars, align = map[string]string{}, 1
	for _, p := range k.g.Env.Params {
		d := [...]ir.DType{k.g.T, k.g.T, ir.Int64, ir.Bool}[p.Kind]
		n := d.Size()
		size, align = (size+n-1)&-n, max(align, n)
		k.scalars[p.Name] = k.param(d, "p2", size)
		size += n
	}
	return max((size+align-1)&-align, 1), align
}

// thread returns this thread's number among all of the grid, and how many these are.
func (k *ptxKernel) thread(class string) (own, all string) {
	block, threads, blocks, lane := k.Let("b32", "mov.u32 %%ctaid.x"), k.Let("b32", "mov.u32 %%ntid.x"), k.Let("b32", "mov.u32 %%nctaid.x"), k.Let("b32", "mov.u32 %%tid.x")
	if class == "b32" {
		return k.Let(class, "mad.lo.u32 %s, %s, %s", block, threads, lane), k.Let(class, "mul.lo.u32 %s, %s", blocks, threads)
	}
	return k.Let(class, "mad.wide.u32 %s, %s, %s", block, threads, k.Let("b64", "cvt.u64.u32 %s", lane)), k.Let(class, "mul.wide.u32 %s, %s", blocks, threads)
}

// while prints a loop over i, from first in steps below end. The body may not change i.
func while(k *ptx.Code, class, typ, first, step, end string, body func(i string)) {
	i, again, done := k.Let(class, "mov.%s %s", class, first), k.Label(), k.Label()
	k.At(again)
	k.Line("@%s bra %s", k.Let("pred", "setp.ge.%s %s, %s", typ, i, end), done)
	body(i)
	k.Line("add.%s %s, %s, %s", typ, i, i, step)
	k.Line("bra %s", again)
	k.At(done)
}

// contiguous prints the loop over operands without gaps: vectors where all addresses are
// aligned for these, then what is left one by one.
func (k *ptxKernel) contiguous() {
	count := k.Let("b64", "ld.param.u64 [p0]")
	own, all := k.thread("b64")
	rest := k.Let("b64", "mov.b64 0") // from which on there are no vectors
	from := func(i string) func(int) string {
		return func(p int) string { return k.Let("b64", "mad.lo.s64 %s, %d, %s", i, k.ports[p].Size(), k.at[p]) }
	}
	if k.width > 1 {
		off := k.Let("b64", "mov.b64 0")
		for i, d := range k.ports {
			low := k.Let("b64", "and.b64 %s, %d", k.at[i], d.Size()*k.width-1)
			if k.number[i] != "" {
				low = k.Let("b64", "selp.b64 0, %s, %s", low, k.number[i])
			}
			k.Line("or.b64 %s, %s, %s", off, off, low)
		}
		aligned := k.Let("pred", "setp.eq.s64 %s, 0", off)
		k.Line("@%s and.b64 %s, %s, %d", aligned, rest, count, -k.width)
		first, step := k.Let("b64", "mul.lo.s64 %s, %d", own, k.width), k.Let("b64", "mul.lo.s64 %s, %d", all, k.width)
		while(k.Code, "b64", "s64", first, step, rest, func(i string) { k.elements(k.width, i, from(i), nil) })
	}
	first := k.Let("b64", "add.s64 %s, %s", own, rest)
	while(k.Code, "b64", "s64", first, all, count, func(i string) { k.elements(1, i, from(i), nil) })
}

// overSpace prints the loop over any layout, of vectors along the innermost axis where
// width is not 1.
func (k *ptxKernel) overSpace(width int) {
	first, count, rank := k.Let("b64", "ld.param.u64 [p0]"), k.Let("b32", "ld.param.u32 [p0+%d]", spaceCount), k.Let("b32", "ld.param.u32 [p0+%d]", spaceRank)
	own, all := k.thread("b32")
	while(k.Code, "b32", "u32", own, all, count, func(i string) {
		offsets := make([]string, len(k.ports))
		for p := range offsets {
			offsets[p] = k.Let("b32", "mov.b32 0")
		}
		k.locate(i, rank, width, offsets)
		index := k.Let("b64", "mad.wide.u32 %s, %d, %s", i, width, first)
		var repeated func(p int) string
		if width > 1 {
			repeated = func(p int) string {
				return k.Let("pred", "setp.eq.u32 %s, 0", k.Let("b32", "ld.param.u32 [p0+%d]", spaceStrides+8*spaceAxes*p))
			}
		}
		k.elements(width, index, func(p int) string {
			return k.Let("b64", "mad.wide.u32 %s, %d, %s", offsets[p], k.ports[p].Size(), k.at[p])
		}, repeated)
	})
}

// locate adds to the offset of each port, in elements, where the element or the vector i is.
// What is left for the last axis is its place there: only axes before it need a division.
func (k *ptxKernel) locate(i, rank string, width int, offsets []string) {
	left, done := k.Let("b32", "mov.b32 %s", i), k.Label()
	k.Line("@%s bra %s", k.Let("pred", "setp.eq.u32 %s, 0", rank), done)
	for axis := range spaceAxes {
		place, last := left, k.Let("pred", "setp.eq.u32 %s, %d", rank, axis+1)
		if axis < spaceAxes-1 {
			place = k.Let("b32", "mov.b32 %s", left)
			whole := k.Label()
			k.Line("@%s bra %s", last, whole)
			divider := spaceDividers + 12*axis
			divisor, multiplier, shift := k.Let("b32", "ld.param.u32 [p0+%d]", divider), k.Let("b32", "ld.param.u32 [p0+%d]", divider+4), k.Let("b32", "ld.param.u32 [p0+%d]", divider+8)
			k.Line("shr.u32 %s, %s, %s", left, k.Let("b32", "add.u32 %s, %s", k.Let("b32", "mul.hi.u32 %s, %s", left, multiplier), left), shift)
			k.Line("sub.u32 %[1]s, %[1]s, %[2]s", place, k.Let("b32", "mul.lo.u32 %s, %s", left, divisor))
			k.At(whole)
		}
		if axis == 0 && width > 1 {
			place = k.Let("b32", "mul.lo.u32 %s, %d", place, width)
		}
		for p := range offsets {
			k.Line("mad.lo.u32 %[1]s, %[2]s, %[3]s, %[1]s", offsets[p], place, k.Let("b32", "ld.param.u32 [p0+%d]", spaceStrides+8*(spaceAxes*p+axis)))
		}
		if axis < spaceAxes-1 {
			k.Line("@%s bra %s", last, done)
		}
	}
	k.At(done)
}

// elements computes n neighbours, of which the first has an index. Address says where they
// are in a port; repeated, which may be nil, whether an operand has one element for all of
// them.
func (k *ptxKernel) elements(n int, index string, address func(p int) string, repeated func(p int) string) {
	words := make([][]string, len(k.ports))
	for p := k.results; p < len(k.ports); p++ {
		words[p] = k.fetch(p, n, address, repeated)
	}
	out := make([][]string, k.results)
	for e := range n {
		names := map[string]string{"index": index}
		if e > 0 {
			names["index"] = k.Let("b64", "add.s64 %s, %d", index, e)
		}
		for name, r := range k.scalars {
			names[name] = r
		}
		for i, o := range k.g.Env.Operands {
			p := k.results + i
			v := unpack(k.Code, k.ports[p], words[p], e)
			if k.number[p] != "" {
				class := ptx.Class(k.ports[p].Compute())
				v = k.Let(class, "selp.%s %s, %s, %s", class, k.value[p], v, k.number[p])
			}
			names[o.Name] = v
		}
		for p, v := range k.Graph(k.g, names) {
			out[p] = pack(k.Code, k.ports[p], out[p], v, e)
		}
	}
	for p, list := range out {
		storeWords(k.Code, k.ports[p].Size()*n, address(p), list)
	}
}

// access is the type that so many bytes are loaded and stored as.
func access(bytes int) string {
	if bytes > 4 {
		return fmt.Sprintf("v%d.b32", bytes/4)
	}
	return fmt.Sprintf("b%d", 8*bytes)
}

// vector spells registers that are loaded or stored at once.
func vector(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// loadWords reads so many bytes into words of 32 bits, storeWords writes such.
func loadWords(k *ptx.Code, bytes int, at string) []string {
	words := make([]string, max(bytes/4, 1))
	for i := range words {
		words[i] = k.Register("b32")
	}
	k.Line("ld.global.%s %s, [%s]", access(bytes), vector(words), at)
	return words
}

func storeWords(k *ptx.Code, bytes int, at string, words []string) {
	k.Line("st.global.%s [%s], %s", access(bytes), at, vector(words))
}

// fetch reads n neighbours of an operand into words of 32 bits; nothing of a number.
func (k *ptxKernel) fetch(p, n int, address func(int) string, repeated func(int) string) []string {
	size, done := k.ports[p].Size(), k.Label()
	words := make([]string, max(size*n/4, 1))
	for i := range words {
		words[i] = k.Register("b32")
	}
	if k.number[p] != "" {
		k.Line("@%s bra %s", k.number[p], done)
	}
	at := address(p)
	if repeated != nil {
		each := k.Label()
		k.Line("@!%s bra %s", repeated(p), each)
		one := loadWords(k.Code, size, at)
		if size < 4 { // in all bytes of a word
			k.Line("mul.lo.u32 %s, %s, %d", one[0], one[0], map[int]int{1: 0x01010101, 2: 0x00010001}[size])
		}
		for i := range words {
			k.Line("mov.b32 %s, %s", words[i], one[i%len(one)])
		}
		k.Line("bra %s", done)
		k.At(each)
	}
	k.Line("ld.global.%s %s, [%s]", access(size*n), vector(words), at)
	k.At(done)
	return words
}

// unpack returns the value of element e of what was fetched.
func unpack(k *ptx.Code, d ir.DType, words []string, e int) string {
	switch size := d.Size(); size {
	case 1, 2:
		signed := "u32"
		if d == ir.Int8 || d == ir.Int16 {
			signed = "s32"
		}
		return k.Load(d, k.Let("b32", "bfe.%s %s, %d, %d", signed, words[e*size/4], 8*(e*size%4), 8*size))
	case 8:
		return k.Let(ptx.Class(d), "mov.b64 {%s, %s}", words[2*e], words[2*e+1])
	}
	return k.Let(ptx.Class(d), "mov.b32 %s", words[e])
}

// pack adds the value of element e to the words that will be stored.
func pack(k *ptx.Code, d ir.DType, words []string, v string, e int) []string {
	switch size := d.Size(); size {
	case 1, 2:
		v = k.Store(d, v)
		at := 8 * (e * size % 4)
		if at == 0 {
			return append(words, k.Let("b32", "and.b32 %s, %d", v, 1<<(8*size)-1))
		}
		last := len(words) - 1
		words[last] = k.Let("b32", "bfi.b32 %s, %s, %d, %d", v, words[last], at, 8*size)
		return words
	case 8:
		low, high := k.Register("b32"), k.Register("b32")
		k.Line("mov.b64 {%s, %s}, %s", low, high, v)
		return append(words, low, high)
	}
	return append(words, k.Let("b32", "mov.b32 %s", v))
}
