package cuda

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// maxKernels is how many lines that make kernels a CUDA source has at most: the time to
// compile one grows faster than their number.
const maxKernels = 128

// cudaPart is one CUDA source: some of a group's operators.
type cudaPart struct {
	module  string // file name without the extension
	ops     []*schema.Op
	text    string // functors and kernels
	kernels int    // lines that make some
}

// cudaParts divides the device code of a group. Which file an operator's is in follows
// from its name alone and where the schema cuts the group, so that no other operator
// moves it, nor makes what was compiled of it stale.
func (e *emitter) cudaParts(g *unit.Group) []*cudaPart {
	parts := map[int]*cudaPart{}
	for _, op := range g.Ops {
		var b strings.Builder
		switch {
		case !unit.HasCUDA(op):
			continue
		case op.Kind == ir.Elementwise:
			e.cudaElementwise(&b, op)
		case op.Kind == ir.Joint:
			e.cudaJoint(&b, op)
		case op.HasStates():
			e.cudaStates(&b, op)
		default:
			e.cudaFold(&b, op)
		}
		at := partOf(g, op)
		if parts[at] == nil {
			parts[at] = &cudaPart{module: unit.PartName(g.File, at)}
		}
		p := parts[at]
		p.ops, p.text, p.kernels = append(p.ops, op), p.text+b.String(), p.kernels+strings.Count(b.String(), "\nSINTER_")
	}
	var list []*cudaPart
	for _, at := range slices.Sorted(maps.Keys(parts)) {
		p := parts[at]
		if p.kernels > maxKernels && len(p.ops) > 1 {
			middle := p.ops[len(p.ops)/2]
			e.Fail(middle, "%s.cu has %d kernels of the group %s, %d at most: cut it, with %s in the group's list cuda", p.module, p.kernels, g.Name, maxKernels, middle.Name)
		}
		list = append(list, p)
	}
	return list
}

// partOf returns which of the group's sources has the operator's device code.
func partOf(g *unit.Group, op *schema.Op) int {
	return sort.Search(len(g.Cuts), func(i int) bool { return g.Cuts[i] > op.Name })
}

// module returns the name of the source that has the operator's device code.
func module(u *unit.Unit, op *schema.Op) string {
	at := slices.IndexFunc(u.Groups, func(g *unit.Group) bool { return g.Name == op.Group })
	return unit.PartName(u.Groups[at].File, partOf(u.Groups[at], op))
}

// kernelSources emits the CUDA sources: a functor for each body, and the kernels
// it makes from the loop templates.
func (e *emitter) kernelSources() {
	for _, g := range e.Groups {
		for _, part := range e.cudaParts(g) {
			src := "// " + e.Target.Header() + "\n\n" + cudaIncludes(part.ops, part.text) + "\nnamespace sinter {\n" + part.text + "\n}  // namespace sinter\n"
			e.Add(path.Join(e.KernelDir, part.module+".cu"), []byte(src))
		}
	}
}

// headers are the loop templates that kernels are made of.
var headers = []string{"elementwise", "several", "joint", "reduce", "fold", "scan"}

// header is the loop template that op's kernels are made of.
func header(op *schema.Op) string {
	switch {
	case op.Kind == ir.Elementwise && len(op.Results) > 1:
		return "several"
	case op.Kind == ir.Elementwise:
		return "elementwise"
	case op.Kind == ir.Joint:
		return "joint"
	case op.HasStates() && !foldsOne(op):
		return "fold"
	case op.Kind == ir.Reduction:
		return "reduce"
	}
	return "scan"
}

// cudaIncludes prints the loop templates that the operators' kernels are made of, and what
// their text needs beside them.
func cudaIncludes(ops []*schema.Op, text string) (out string) {
	for _, h := range headers {
		if slices.ContainsFunc(ops, func(op *schema.Op) bool { return header(op) == h }) {
			out += "#include \"" + h + ".cuh\"\n"
		}
	}
	return out + cpp.Includes(text)
}

// cudaTypes are the types that functors are printed with: T is the compute type
// and a template parameter, R its real type.
var cudaTypes = cpp.Types{T: "T", Real: "R"}

// functorName is the struct of one body. It has the words of the schema's name, each with
// a capital, so that how Go writes one changes no binary.
func functorName(op *schema.Op, v schema.Variant, suffix string) string {
	name := op.GoName
	if name == schema.GoName(op.Name) {
		name = schema.Capitals(op.Name)
	}
	return name + schema.GoName(v.Name) + suffix + "Fn"
}

// kernelName is the name of the kernels of one body for one storage dtype.
func kernelName(op *schema.Op, v schema.Variant, d ir.DType) string {
	if v.Name != "" {
		return op.Name + "_" + v.Name + "_" + d.String()
	}
	return op.Name + "_" + d.String()
}

// dtypeGroup is the compute dtypes that one functor serves.
type dtypeGroup struct {
	category ir.Category // CategoryNone for several
	dtypes   []ir.DType
	suffix   string // of the functor's name; "" where the operator has one
}

// cudaGroups groups compute dtypes by the text of what is printed for them.
func cudaGroups(dtypes []ir.DType, text func(d ir.DType) string) []*dtypeGroup {
	var out []*dtypeGroup
	texts := map[*dtypeGroup]string{}
	for _, d := range dtypes {
		t := text(d)
		i := slices.IndexFunc(out, func(f *dtypeGroup) bool { return texts[f] == t })
		if i >= 0 {
			out[i].dtypes = append(out[i].dtypes, d)
			if out[i].category != d.Category() {
				out[i].category = ir.CategoryNone
			}
			continue
		}
		f := &dtypeGroup{category: d.Category(), dtypes: []ir.DType{d}}
		texts[f] = t
		out = append(out, f)
	}
	for _, f := range out {
		if len(out) > 1 {
			f.suffix = cudaSuffix(f, out)
		}
	}
	return out
}

// cudaSuffix names a group by its category, or by its first dtype.
func cudaSuffix(f *dtypeGroup, all []*dtypeGroup) string {
	same := 0
	for _, g := range all {
		if slices.ContainsFunc(g.dtypes, func(d ir.DType) bool { return d.Category() == f.category }) {
			same++
		}
	}
	if same == 1 && f.category != ir.CategoryNone {
		return bodies.CategoryNames[f.category]
	}
	return unit.DTypeConst[f.dtypes[0]]
}

// storageDTypes returns the dtypes that op's operands are stored as.
func storageDTypes(op *schema.Op) []ir.DType {
	if op.Promote == ir.PromoteFixed {
		return []ir.DType{op.Fixed}
	}
	return op.DTypes.List()
}

// storedResult is the storage dtype of op's i-th result for operands stored as d.
func storedResult(op *schema.Op, i int, d ir.DType) ir.DType {
	result := ir.Result{DType: op.Results[i].DType, Acc: op.Results[i].Acc}
	return result.Of(op.Promote.Result(d))
}

// cudaElementwise prints:
//
//	// <name>: <expression>
//	template <class T> struct <Name>Fn {
//	  typedef typename real_of<T>::type R;
//	  T alpha;
//	  SINTER_FN T operator()(long long index, T x) const {
//	    return <expression>;
//	  }
//	};
//	SINTER_ELEMENTWISE(<name>_float32, <Name>Fn<float32>, float32, float32)
//
// The functor of an operator with several results gives a Pack of them:
//
//	SINTER_SEVERAL(<name>_float32, <Name>Fn<float32>, 2, float32, int64, float32)
func (e *emitter) cudaElementwise(b *strings.Builder, op *schema.Op) {
	e.cudaBodies(b, op, func(v schema.Variant, d ir.DType, functor string) string {
		var types []string
		for i := range op.Results {
			types = append(types, storedResult(op, i, d).String())
		}
		for _, p := range op.Operands() {
			if p.Fixed != ir.Invalid {
				types = append(types, p.Fixed.String())
			} else {
				types = append(types, d.String())
			}
		}
		if n := len(op.Results); n > 1 {
			return fmt.Sprintf("SINTER_SEVERAL(%s, %s, %d, %s)\n", kernelName(op, v, d), functor, n, strings.Join(types, ", "))
		}
		return fmt.Sprintf("SINTER_ELEMENTWISE(%s, %s, %s)\n", kernelName(op, v, d), functor, strings.Join(types, ", "))
	})
}

// cudaJoint prints:
//
//	template <class T> struct <Name>Fn {
//	  typedef typename real_of<T>::type R;
//	  R rate;
//	  SINTER_FN void operator()(T (&x)[3]) const {
//	    const T params = x[0], momenta = x[1], grads = x[2];
//	    x[0] = <expression>;
//	    x[1] = <expression>;
//	  }
//	};
//	SINTER_JOINT(<name>_float32, <Name>Fn<float32>, float32, float32, 2, 3)
//	SINTER_JOINT(<name>_float32_float16, <Name>Fn<float32>, float32, float16, 2, 3)
//
// The last line is there for operators with the tag narrow.
func (e *emitter) cudaJoint(b *strings.Builder, op *schema.Op) {
	e.cudaBodies(b, op, func(v schema.Variant, d ir.DType, functor string) string {
		var lines strings.Builder
		line := func(name string, read ir.DType) {
			fmt.Fprintf(&lines, "SINTER_JOINT(%s, %s, %s, %s, %d, %d)\n", name, functor, d, read, len(op.Results), len(op.Operands()))
		}
		line(kernelName(op, v, d), d)
		if op.Tags&ir.TagNarrow != 0 && d == ir.Float32 {
			for _, read := range ir.Narrow() {
				line(kernelName(op, v, d)+"_"+read.String(), read)
			}
		}
		return lines.String()
	})
}

// cudaBodies prints the functors of an element-wise or joint operator, and for each
// storage dtype the line that makes kernels of one.
func (e *emitter) cudaBodies(b *strings.Builder, op *schema.Op, line func(v schema.Variant, d ir.DType, functor string) string) {
	for _, v := range op.Variants {
		graphs := map[ir.DType]*expr.Graph{}
		for _, d := range unit.ComputeDTypes(op) {
			g, err := v.Check(d)
			if err != nil {
				return // reported by the CPU's emitter
			}
			graphs[d] = g
		}
		groups := cudaGroups(unit.ComputeDTypes(op), func(d ir.DType) string { return cudaText(graphs[d]) })
		functors := map[ir.DType]string{}
		for _, fam := range groups {
			name := functorName(op, v, fam.suffix)
			text := v.String()
			if op.Kind == ir.Elementwise && len(op.Results) > 1 { // they have too much in common to be printed apart
				text = unit.ResultNames(op)
			}
			fmt.Fprintf(b, "\n// %s: %s\n", strings.TrimSuffix(name, "Fn"), text)
			if g := graphs[fam.dtypes[0]]; op.Kind == ir.Joint {
				jointFunctor(b, op, name, g)
			} else {
				cudaFunctor(b, op, name, g, "operator()", "long long index", op.Operands())
			}
			b.WriteString("};\n")
			for _, d := range fam.dtypes {
				functors[d] = name
			}
		}
		for _, d := range storageDTypes(op) {
			b.WriteString(line(v, d, functors[op.ComputeIn(d)]+"<"+op.ComputeIn(d).String()+">"))
		}
	}
}

// jointFunctor prints a functor that changes the first elements of an array.
func jointFunctor(b *strings.Builder, op *schema.Op, name string, g *expr.Graph) {
	cudaFields(b, op, name)
	operands := op.Operands()
	values, array := make([]string, len(operands)), local("x", op)
	for _, p := range operands {
		i := bodies.OperandIndex(op, p.Name)
		values[i] = fmt.Sprintf("%s = %s[%d]", cpp.Name(p.Name), array, i)
	}
	fmt.Fprintf(b, "  SINTER_FN void operator()(T (&%s)[%d]) const {\n    const T %s;\n", array, len(operands), strings.Join(values, ", "))
	code := cudaTypes.Print(g)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", cudaTypes.Of(l.Kind), l.Name, l.Expr)
	}
	for i, result := range code.Results {
		fmt.Fprintf(b, "    %s[%d] = %s;\n", array, i, result)
	}
	b.WriteString("  }\n")
}

// cudaFields prints the head of a functor: its name and the scalar arguments in their
// order. The struct is left open.
func cudaFields(b *strings.Builder, op *schema.Op, name string) {
	fmt.Fprintf(b, "template <class T> struct %s {\n  typedef typename real_of<T>::type R;\n", name)
	for _, p := range op.Attrs() {
		if t := fieldType(p); t != "" {
			fmt.Fprintf(b, "  %s %s;\n", t, cpp.Name(p.Name))
		}
	}
}

func cudaText(g *expr.Graph) string {
	c := cudaTypes.Print(g)
	var kinds []expr.Kind
	for _, root := range g.Roots {
		kinds = append(kinds, root.Kind)
	}
	return fmt.Sprint(c.Lets, c.Results, kinds)
}

// cudaFunctor prints the head of a functor and one member function. The struct is left
// open.
func cudaFunctor(b *strings.Builder, op *schema.Op, name string, g *expr.Graph, member, first string, operands []*schema.Param) {
	cudaFields(b, op, name)
	resultsType(b, g)
	params := []string{first}
	for _, p := range operands {
		params = append(params, operandType(p, g)+" "+cpp.Name(p.Name))
	}
	cudaMember(b, op, g, cudaTypes, member, strings.Join(params, ", "))
}

// resultsType prints the type of several results of a functor.
func resultsType(b *strings.Builder, g *expr.Graph) {
	if len(g.Roots) < 2 {
		return
	}
	var list []string
	for _, root := range g.Roots {
		list = append(list, cudaTypes.Of(root.Kind))
	}
	fmt.Fprintf(b, "  typedef Pack<%s> Results;\n", strings.Join(list, ", "))
}

// operandType is the C++ type that a functor is given an operand as.
func operandType(p *schema.Param, g *expr.Graph) string {
	switch p.Fixed.Category() {
	case ir.CategoryBool:
		return "bool"
	case ir.CategoryInt:
		return "long long"
	case ir.CategoryFloat:
		if g.T.IsComplex() {
			return "R"
		}
	}
	return "T"
}

// fieldType is the C++ type of a scalar argument in a functor, or "".
func fieldType(p *schema.Param) string {
	switch p.Type {
	case schema.Scalar:
		return "T"
	case schema.Float:
		return "R"
	case schema.Int:
		return "long long"
	case schema.Bool:
		return "bool"
	}
	return ""
}

// cudaMember prints a member function that computes g: its value, or a Results of
// several.
func cudaMember(b *strings.Builder, op *schema.Op, g *expr.Graph, types cpp.Types, name, params string) {
	code, results := types.Print(g), local("r", op)
	if len(code.Results) > 1 {
		fmt.Fprintf(b, "  SINTER_FN Results %s(%s) const {\n    Results %s;\n", name, params, results)
	} else if result := types.Of(g.Roots[0].Kind); len(code.Lets) == 0 {
		fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const { return %s; }\n", result, name, params, code.Results[0])
		return
	} else {
		fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const {\n", result, name, params)
	}
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", types.Of(l.Kind), l.Name, l.Expr)
	}
	if len(code.Results) == 1 {
		fmt.Fprintf(b, "    return %s;\n  }\n", code.Results[0])
		return
	}
	for i, result := range code.Results {
		fmt.Fprintf(b, "    get<%d>(%s) = %s;\n", i, results, result)
	}
	fmt.Fprintf(b, "    return %s;\n  }\n", results)
}

// local is the name of a local of op's functors, which none of its operands and arguments has.
func local(name string, op *schema.Op) string {
	var taken []string
	for _, p := range op.Params {
		taken = append(taken, p.Name)
	}
	return cpp.Free(name, taken)
}

// cudaFold prints a reduction or a scan:
//
//	template <class T> struct <Name>Fn {
//	  typedef T Acc;
//	  SINTER_FN Acc init() const { ... }
//	  SINTER_FN Acc map(T x) const { ... }
//	  SINTER_FN Acc combine(Acc a, Acc b) const { ... }
//	  SINTER_FN T finish(Acc a, long long count) const { ... }
//	};
//	SINTER_REDUCE(<name>_float32, <Name>Fn<float32>, float32, float32)
func (e *emitter) cudaFold(b *strings.Builder, op *schema.Op) {
	macro := "SINTER_REDUCE"
	if op.Kind == ir.Scan {
		macro = "SINTER_SCAN"
	}
	for _, v := range op.Variants {
		parts := map[ir.DType]*bodies.Fold{}
		for _, d := range unit.ComputeDTypes(op) {
			p, err := bodies.CheckFold(v, d)
			if err != nil {
				return // reported by the CPU's emitter
			}
			parts[d] = p
		}
		groups := cudaGroups(unit.ComputeDTypes(op), func(d ir.DType) string { return cudaFoldText(parts[d], d) })
		functors := map[ir.DType]string{}
		for _, fam := range groups {
			name := functorName(op, v, fam.suffix)
			fmt.Fprintf(b, "\n// %s: init %s, map %s, combine %s, finish %s\n", strings.TrimSuffix(name, "Fn"), v.Init, v.Map, v.Combine, v.Finish)
			d := fam.dtypes[0]
			foldFunctor(b, op, name, parts[d], d)
			for _, d := range fam.dtypes {
				functors[d] = name
			}
		}
		for _, d := range storageDTypes(op) {
			fmt.Fprintf(b, "%s(%s, %s<%s>, %s, %s)\n", macro, kernelName(op, v, d), functors[d.Compute()], d.Compute(), storedResult(op, 0, d), d)
		}
	}
}

// accCUDA are the types that the parts over accumulators are printed with.
var accCUDA = cpp.Types{T: "Acc", Real: "AccR"}

// accType is the C++ type of the accumulator for operands of compute dtype d.
func accType(p *bodies.Fold, d ir.DType) string {
	switch p.Acc {
	case d:
		return "T"
	case d.Real():
		return "R"
	}
	return p.Acc.String()
}

// cudaFoldText is what distinguishes the functors of one fold by dtype.
func cudaFoldText(p *bodies.Fold, d ir.DType) string {
	return fmt.Sprint(accType(p, d), cudaText(p.Mapped), accCUDA.Print(p.Init), accCUDA.Print(p.Comb), accCUDA.Print(p.Finish), p.Finish.Roots[0].Kind)
}

// foldFunctor prints the struct of a fold for compute dtype d.
func foldFunctor(b *strings.Builder, op *schema.Op, name string, p *bodies.Fold, d ir.DType) {
	fmt.Fprintf(b, "template <class T> struct %s {\n  typedef typename real_of<T>::type R;\n", name)
	fmt.Fprintf(b, "  typedef %s Acc;\n  typedef typename real_of<Acc>::type AccR;\n", accType(p, d))
	for _, q := range op.Attrs() {
		if t := fieldType(q); t != "" {
			fmt.Fprintf(b, "  %s %s;\n", t, cpp.Name(q.Name))
		}
	}
	init := accCUDA.Print(p.Init)
	fmt.Fprintf(b, "  SINTER_FN Acc init() const { return %s; }\n", init.Results[0])
	cudaMember(b, op, p.Mapped, cudaTypes, "map", "T "+cpp.Name(op.Params[0].Name))
	cudaMember(b, op, p.Comb, accCUDA, "combine", "Acc a, Acc b")
	cudaMember(b, op, p.Finish, accCUDA, "finish", "Acc a, long long count")
	b.WriteString("};\n")
}
