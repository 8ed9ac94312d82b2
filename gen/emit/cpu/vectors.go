package cpu

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/codegen/loops"
	lanes "github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

const (
	vmathPath = unit.Module + "/backend/cpu/vmath"
	madePath  = unit.Module + "/backend/cpu/made"
)

// instructionSets are what loops are lowered to, as package vector names them.
var instructionSets = []x86.ISA{x86.AVX2, x86.AVX512}

// vectors are the assembly loops of one schema.
type vectors struct {
	e         *emitter
	functions map[string]string // names of the assembly, by program and instruction set
	wrappers  map[string]string // by function and the conversions of its arguments
	entries   []vectorEntry
	lines     map[string]int // of assembly, by group
}

// A vectorEntry is one entry of an operator's table.
type vectorEntry struct {
	op      *schema.Op
	variant int
	dtype   ir.DType
	loops   []string            // Go functions by instruction set; "" where there is none
	others  map[string][]string // those by instruction set that do the same otherwise, by the field of vector.Loop
	reason  string              // why one is missing
}

// vectorCode emits the assembly of loops and the lists of it. Where there is to be none,
// tables name what has vector code made when a loop is first used.
func (e *emitter) vectorCode() {
	if e.Target.NoAssembly {
		return
	}
	vs := &vectors{e: e, functions: map[string]string{}, wrappers: map[string]string{}, lines: map[string]int{}}
	for _, g := range e.Groups {
		vs.group(g)
	}
	e.foldVectors()
	e.withoutAssembly()
	if e.Std {
		e.vectorReference(vs)
	}
}

// group emits the assembly of a group's operators, a file, and the list of each.
func (vs *vectors) group(g *unit.Group) {
	e := vs.e
	code := x86.NewFile(path.Join(e.Target.Dir, "cpu"), "cpu", g.File+"_loops", unit.Module+"/gen from "+e.Target.Source)
	f := e.goFile("cpu", g.File+"_vectors_amd64.go", "")
	f.HeaderComment("//go:build amd64") // the name says nothing where it ends in .sinter.go
	f.Anon(vmathPath)                   // the functions that the loops call
	some := false
	for _, op := range looped(g.Ops) {
		some = true
		var rowsOf []jen.Code
		for i := range op.Variants {
			for _, d := range unit.ComputeDTypes(op) {
				entry := vs.lower(code, f, op, i, d)
				vs.entries = append(vs.entries, entry)
				if row := entry.row(); row != nil {
					rowsOf = append(rowsOf, row)
				}
			}
		}
		e.list(f, op, "Vectors", "Loop", rowsOf)
	}
	if some {
		vs.write(code, g)
		f.Done()
	}
}

// list prints the list of an operator's assembly, which may be empty.
func (e *emitter) list(f *goFile, op *schema.Op, field, of string, rowsOf []jen.Code) {
	name := listName(op, field)
	e.lists[of] = append(e.lists[of], name)
	list := f.Var().Id(name)
	if rowsOf != nil {
		list.Op("=")
	}
	list.Index().Qual(gofile.VectorPath, of)
	if rowsOf != nil {
		list.Add(gofile.Rows(rowsOf...))
	}
	f.Line()
}

// looped are the operators among a group's that are loops over elements, and the parts
// of reductions that are.
func looped(ops []*schema.Op) (list []*schema.Op) {
	for _, op := range ops {
		switch {
		case !op.On("cpu"):
		case op.HasStates():
			list = append(list, op.Parts()...)
		case op.Kind == ir.Elementwise, op.Kind == ir.Joint:
			list = append(list, op)
		}
	}
	return list
}

// write adds the files of a group's assembly, which may be all in other groups'.
func (vs *vectors) write(code *x86.File, g *unit.Group) {
	if code.Empty() {
		return
	}
	files, err := code.Files()
	if err != nil {
		vs.e.Errs = append(vs.e.Errs, err)
	}
	for _, file := range files {
		vs.e.Add(file.Path, file.Data)
		if strings.HasSuffix(file.Path, ".s") {
			vs.lines[g.Name] = bytes.Count(file.Data, []byte("\n"))
		}
	}
}

// row prints an entry of a list, nothing where no instruction set has a loop.
func (v vectorEntry) row() jen.Code {
	items := []jen.Code{
		gofile.Field("Variant", jen.Lit(v.variant)), gofile.Field("DType", gofile.DTypeName(v.dtype)),
	}
	some := false
	for i, name := range v.loops {
		if name != "" {
			some = true
			items = append(items, gofile.Field(instructionSets[i].String(), jen.Id(name)))
		}
	}
	for _, kind := range otherKinds {
		var loops []jen.Code
		for i, name := range v.others[kind] {
			if name != "" {
				loops = append(loops, gofile.Field(instructionSets[i].String(), jen.Id(name)))
			}
		}
		if loops != nil {
			items = append(items, gofile.Field(kind, jen.Qual(gofile.VectorPath, "Loops").Values(loops...)))
		}
	}
	if !some {
		return nil
	}
	return jen.Values(items...)
}

// lower adds the assembly of one entry to a file, unless the same is there already.
func (vs *vectors) lower(code *x86.File, f *goFile, op *schema.Op, variant int, d ir.DType) vectorEntry {
	entry := vectorEntry{op: op, variant: variant, dtype: d, loops: make([]string, len(instructionSets)), others: map[string][]string{}}
	for _, kind := range otherKinds {
		entry.others[kind] = make([]string, len(instructionSets))
	}
	v := op.Variants[variant]
	g, err := v.Check(d)
	if err != nil {
		return entry // the portable loops reported it
	}
	base := variantName(op, v) + unit.DTypeConst[d]
	if drawn := drawingOf(op, g); drawn != nil {
		for i, isa := range instructionSets {
			name, err := vs.draw(code, f, op, base, drawn, isa)
			if entry.loops[i] = name; err != nil {
				entry.reason = err.Error()
			}
		}
		return entry
	}
	body := loops.Body{Check: v.Check, Graph: g, Inputs: laneInputs(op, g), Halves: storedHalves(op)}
	if op.Tags&ir.TagWide != 0 && v.Part() == "step" {
		body.Narrow = len(v.Fold.States) + len(v.Fold.First)
	}
	for i, isa := range instructionSets {
		set, err := body.Loops(isa)
		if err == nil {
			for _, kind := range otherKinds {
				if kind == "Past" && v.Part() != "" { // its results are read again soon
					continue
				}
				if kind == "Shared" && (v.Part() != "" || op.Kind != ir.Elementwise || vs.e.DerivedOps[op]) { // what operands have one element for all is not known
					continue
				}
				if name, err := vs.function(code, f, base, kind, set, body.Inputs, g); err == nil {
					entry.others[kind][i] = name
				}
			}
			entry.loops[i], err = vs.function(code, f, base, "", set, body.Inputs, g)
		}
		if err != nil {
			entry.reason = err.Error()
		}
	}
	return entry
}

// otherKinds are the fields of vector.Loop with loops that do what the usual ones do
// with results or operands that are elsewhere, or other.
var otherKinds = []string{"Past", "Float16", "BFloat16", "Float32", "Shared"}

// storedHalves are the 16-bit floats that an operator's operands and results may be stored as.
func storedHalves(op *schema.Op) []ir.DType {
	if op.Results[0].DType.IsFloat() {
		return nil
	}
	for _, o := range op.Operands() {
		if o.Fixed.IsFloat() {
			return nil
		}
	}
	var list []ir.DType
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
		if op.DTypes.Has(d) {
			list = append(list, d)
		}
	}
	return list
}

// function returns the name of the Go function that is the loop of some kind of a set,
// "" where there is none. Its assembly is made once for all loops that do the same.
func (vs *vectors) function(code *x86.File, f *goFile, base, kind string, set loops.Set, inputs []lanes.Input, g *expr.Graph) (string, error) {
	l := map[string]*loops.Loop{"": set.Main, "Past": set.Past, "Float16": set.Float16, "BFloat16": set.BFloat16, "Float32": set.Float32, "Shared": set.Shared}[kind]
	if l == nil {
		return "", nil
	}
	if (kind == "Float16" || kind == "BFloat16") && set.Float16 != nil && set.BFloat16 != nil && set.Float16.Key() == set.BFloat16.Key() {
		kind = "Half" // one for both
	}
	key := l.Key()
	if vs.functions[key] == "" {
		fn, err := l.Func(base + kind)
		if err != nil {
			return "", err
		}
		code.Add(fn)
		vs.functions[key] = base + kind + l.ISA.String()
	}
	return vs.wrapped(f, vs.functions[key], l, inputs, g), nil
}

// laneInputs says where the names of g are read.
func laneInputs(op *schema.Op, g *expr.Graph) []lanes.Input {
	var out []lanes.Input
	for _, in := range inputsOf(g) {
		l := lanes.Input{Name: in.name, Kind: in.kind, Index: bodies.OperandIndex(op, in.name)}
		if l.Index < 0 && (in.name != "index" || bodies.HasParam(op, "index")) {
			l.Scalar, l.Index = true, scalarSlot(op, in.name)
		}
		out = append(out, l)
	}
	return out
}

// wrapped returns the name of a Go function that is a loop: the assembly itself, or
// one that converts its arguments, and counts every element as each of them:
//
//	func <name>Loop(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
//		<name>(n, p, &[1]uint64{vector.Float32(s[0])}, index)
//	}
//
// Operands of one element for all become scalars, behind the others.
func (vs *vectors) wrapped(f *goFile, name string, l *loops.Loop, inputs []lanes.Input, g *expr.Graph) string {
	each, scalars := l.Each, l.Scalars()
	if scalars == 0 && each == 1 {
		return name
	}
	bits := make([]jen.Code, scalars)
	text := fmt.Sprint(name, " ", each, " ", l.Shared)
	for i := range bits {
		bits[i] = jen.Lit(0)
	}
	for _, in := range inputs {
		if in.Scalar {
			convert := scalarBits(g.KindDType(in.Kind))
			bits[in.Index] = jen.Qual(gofile.VectorPath, convert).Call(jen.Id("s").Index(jen.Lit(in.Index)))
			text += fmt.Sprint(" ", in.Index, convert)
		}
	}
	for i := range l.Shared {
		bits[scalars-l.Shared+i] = jen.Qual(gofile.VectorPath, "Element"+strconv.Itoa(g.T.Size())).Call(jen.Id("p").Index(jen.Lit(2 + i)))
	}
	if old, ok := vs.wrappers[text]; ok {
		return old
	}
	loop := name + "Loop"
	for n := 2; slices.Contains(vs.wrapperNames(), loop); n++ {
		loop = fmt.Sprint(name, "Loop", n)
	}
	vs.wrappers[text] = loop
	n, s := jen.Id("n"), jen.Id("s")
	if each > 1 {
		n = jen.Lit(each).Op("*").Id("n")
	}
	if scalars > 0 {
		s = jen.Op("&").Index(jen.Lit(scalars)).Uint64().Values(bits...)
	}
	f.Func().Id(loop).Params(jen.Id("n").Int(), jen.Id("p").Index().Qual("unsafe", "Pointer"), jen.Id("s").Index().Add(gofile.IRName("Scalar")), jen.Id("index").Int64()).Block(
		jen.Id(name).Call(n, jen.Id("p"), s, jen.Id("index")))
	f.Line()
	return loop
}

func (vs *vectors) wrapperNames() []string {
	var names []string
	for _, n := range vs.wrappers {
		names = append(names, n)
	}
	return names
}

// scalarBits is the function of package vector that gives a scalar's bits.
func scalarBits(d ir.DType) string {
	switch {
	case d == ir.Bool:
		return "Bool"
	case d == ir.Float32:
		return "Float32"
	case d == ir.Float64:
		return "Float64"
	case d == ir.Complex64:
		return "Complex64"
	}
	return "Int"
}

// withoutAssembly emits the lists for other architectures, all empty.
func (e *emitter) withoutAssembly() {
	f := e.goFile("cpu", "vector_other.go", "")
	f.HeaderComment("//go:build !amd64")
	for _, of := range slices.Sorted(maps.Keys(e.lists)) {
		f.Comment("// There is no assembly for this architecture.")
		var names []jen.Code
		for _, name := range e.lists[of] {
			names = append(names, jen.Id(name))
		}
		f.Var().List(names...).Index().Qual(gofile.VectorPath, of)
	}
	f.Done()
}
