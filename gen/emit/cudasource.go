package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// maxKernels is how many kernels a CUDA source defines before the next begins:
// the time to compile one grows faster than their number.
const maxKernels = 100

// cudaPart is one CUDA source: some of a group's operators.
type cudaPart struct {
	module string // file name without the extension
	ops    []*schema.Op
	text   string // functors and kernels
}

// cudaParts divides the device code of a group, in the order of its operators.
func (e *emitter) cudaParts(g *group) []*cudaPart {
	var parts []*cudaPart
	kernels := maxKernels
	for _, op := range g.ops {
		var b strings.Builder
		switch op.Kind {
		case ir.Elementwise:
			e.cudaElementwise(&b, op)
		case ir.Joint:
			e.cudaJoint(&b, op)
		case ir.Reduction, ir.Scan:
			e.cudaFold(&b, op)
		default:
			continue
		}
		n := strings.Count(b.String(), "\nSINTER_")
		if kernels+n > maxKernels {
			parts = append(parts, &cudaPart{module: partName(g.file, len(parts))})
			kernels = 0
		}
		last := parts[len(parts)-1]
		last.ops, last.text = append(last.ops, op), last.text+b.String()
		kernels += n
	}
	return parts
}

// kernelSources emits the CUDA sources: a functor for each body, and the kernels
// it makes from the loop templates.
func (e *emitter) kernelSources() {
	for _, g := range e.groups {
		for _, part := range e.cudaParts(g) {
			src := "// " + e.target.Header() + "\n\n" + cudaIncludes(part.ops) + "\nnamespace sinter {\n" + part.text + "\n}  // namespace sinter\n"
			e.add(path.Join(e.kernelDir, part.module+".cu"), []byte(src))
		}
	}
}

// cudaIncludes are the loop templates that the operators' kernels are made of.
func cudaIncludes(ops []*schema.Op) string {
	has := func(kind ir.BodyKind) bool {
		return slices.ContainsFunc(ops, func(op *schema.Op) bool { return op.Kind == kind })
	}
	out := ""
	if has(ir.Elementwise) {
		out += "#include \"elementwise.cuh\"\n"
	}
	if has(ir.Joint) {
		out += "#include \"joint.cuh\"\n"
	}
	if has(ir.Reduction) {
		out += "#include \"reduce.cuh\"\n"
	}
	if has(ir.Scan) {
		out += "#include \"scan.cuh\"\n"
	}
	return out
}

// cudaTypes are the types that functors are printed with: T is the compute type
// and a template parameter, R its real type.
var cudaTypes = expr.CUDATypes{T: "T", Real: "R"}

// functorName is the struct of one body.
func functorName(op *schema.Op, v schema.Variant, suffix string) string {
	return op.GoName + schema.GoName(v.Name) + suffix + "Fn"
}

// kernelName is the name of the kernels of one body for one storage dtype.
func kernelName(op *schema.Op, v schema.Variant, d ir.DType) string {
	if v.Name != "" {
		return op.Name + "_" + v.Name + "_" + d.String()
	}
	return op.Name + "_" + d.String()
}

// cudaGroups groups compute dtypes by the text of what is printed for them.
func cudaGroups(dtypes []ir.DType, text func(d ir.DType) string) []*family {
	var out []*family
	texts := map[*family]string{}
	for _, d := range dtypes {
		t := text(d)
		i := slices.IndexFunc(out, func(f *family) bool { return texts[f] == t })
		if i >= 0 {
			out[i].dtypes = append(out[i].dtypes, d)
			if out[i].category != d.Category() {
				out[i].category = ir.CategoryNone
			}
			continue
		}
		f := &family{category: d.Category(), dtypes: []ir.DType{d}, generic: true}
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
func cudaSuffix(f *family, all []*family) string {
	same := 0
	for _, g := range all {
		if slices.ContainsFunc(g.dtypes, func(d ir.DType) bool { return d.Category() == f.category }) {
			same++
		}
	}
	if same == 1 && f.category != ir.CategoryNone {
		return categoryNames[f.category]
	}
	return dtypeConst[f.dtypes[0]]
}

// storageDTypes returns the dtypes that op's operands are stored as.
func storageDTypes(op *schema.Op) []ir.DType {
	if op.Promote == ir.PromoteFixed {
		return []ir.DType{op.Fixed}
	}
	return op.DTypes.List()
}

// storedResult is the storage dtype of op's result for operands stored as d.
func storedResult(op *schema.Op, d ir.DType) ir.DType {
	result := ir.Result{DType: op.Results[0].DType, Acc: op.Results[0].Acc}
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
func (e *emitter) cudaElementwise(b *strings.Builder, op *schema.Op) {
	e.cudaBodies(b, op, func(v schema.Variant, d ir.DType, functor string) string {
		types := []string{storedResult(op, d).String()}
		for _, p := range op.Operands() {
			if p.Fixed != ir.Invalid {
				types = append(types, p.Fixed.String())
			} else {
				types = append(types, d.String())
			}
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
//	SINTER_JOINT(<name>_float32, <Name>Fn<float32>, float32, 2, 3)
func (e *emitter) cudaJoint(b *strings.Builder, op *schema.Op) {
	e.cudaBodies(b, op, func(v schema.Variant, d ir.DType, functor string) string {
		return fmt.Sprintf("SINTER_JOINT(%s, %s, %s, %d, %d)\n", kernelName(op, v, d), functor, d, len(op.Results), len(op.Operands()))
	})
}

// cudaBodies prints the functors of an element-wise or joint operator, and for each
// storage dtype the line that makes kernels of one.
func (e *emitter) cudaBodies(b *strings.Builder, op *schema.Op, line func(v schema.Variant, d ir.DType, functor string) string) {
	for _, v := range op.Variants {
		graphs := map[ir.DType]*expr.Graph{}
		for _, d := range computeDTypes(op) {
			g, err := v.Check(d)
			if err != nil {
				return // reported by the CPU's emitter
			}
			graphs[d] = g
		}
		groups := cudaGroups(computeDTypes(op), func(d ir.DType) string { return cudaText(graphs[d]) })
		functors := map[ir.DType]string{}
		for _, fam := range groups {
			name := functorName(op, v, fam.suffix)
			fmt.Fprintf(b, "\n// %s: %s\n", strings.TrimSuffix(name, "Fn"), v)
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
			b.WriteString(line(v, d, functors[d.Compute()]+"<"+d.Compute().String()+">"))
		}
	}
}

// jointFunctor prints a functor that changes the first elements of an array.
func jointFunctor(b *strings.Builder, op *schema.Op, name string, g *expr.Graph) {
	cudaFields(b, op, name)
	operands := op.Operands()
	values := make([]string, len(operands))
	for _, p := range operands {
		i := operandIndex(op, p.Name)
		values[i] = fmt.Sprintf("%s = x[%d]", p.Name, i)
	}
	fmt.Fprintf(b, "  SINTER_FN void operator()(T (&x)[%d]) const {\n    const T %s;\n", len(operands), strings.Join(values, ", "))
	code := g.CUDA(cudaTypes)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", cudaTypes.CUDAType(l.Kind), l.Name, l.Expr)
	}
	for i, result := range code.Results {
		fmt.Fprintf(b, "    x[%d] = %s;\n", i, result)
	}
	b.WriteString("  }\n")
}

// cudaFields prints the head of a functor: its name and the scalar arguments in their
// order. The struct is left open.
func cudaFields(b *strings.Builder, op *schema.Op, name string) {
	fmt.Fprintf(b, "template <class T> struct %s {\n  typedef typename real_of<T>::type R;\n", name)
	for _, p := range op.Attrs() {
		if t := fieldType(p); t != "" {
			fmt.Fprintf(b, "  %s %s;\n", t, p.Name)
		}
	}
}

func cudaText(g *expr.Graph) string {
	c := g.CUDA(cudaTypes)
	return fmt.Sprint(c.Lets, c.Results, g.Root.Kind)
}

// cudaFunctor prints the head of a functor and one member function. The struct is left
// open.
func cudaFunctor(b *strings.Builder, op *schema.Op, name string, g *expr.Graph, member, first string, operands []*schema.Param) {
	cudaFields(b, op, name)
	params := []string{first}
	for _, p := range operands {
		t := "T"
		switch p.Fixed.Category() {
		case ir.CategoryBool:
			t = "bool"
		case ir.CategoryInt:
			t = "long long"
		case ir.CategoryFloat:
			if g.T.IsComplex() {
				t = "R"
			}
		}
		params = append(params, t+" "+p.Name)
	}
	cudaMember(b, g, cudaTypes, member, strings.Join(params, ", "))
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

// cudaMember prints a member function that computes g.
func cudaMember(b *strings.Builder, g *expr.Graph, types expr.CUDATypes, name, params string) {
	code := g.CUDA(types)
	result := types.CUDAType(g.Root.Kind)
	if len(code.Lets) == 0 {
		fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const { return %s; }\n", result, name, params, code.Result)
		return
	}
	fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const {\n", result, name, params)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", types.CUDAType(l.Kind), l.Name, l.Expr)
	}
	fmt.Fprintf(b, "    return %s;\n  }\n", code.Result)
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
		parts := map[ir.DType]*fold{}
		for _, d := range computeDTypes(op) {
			p, err := checkFold(v, d)
			if err != nil {
				return // reported by the CPU's emitter
			}
			parts[d] = p
		}
		groups := cudaGroups(computeDTypes(op), func(d ir.DType) string { return parts[d].cudaText(d) })
		functors := map[ir.DType]string{}
		for _, fam := range groups {
			name := functorName(op, v, fam.suffix)
			fmt.Fprintf(b, "\n// %s: init %s, map %s, combine %s, finish %s\n", strings.TrimSuffix(name, "Fn"), v.Init, v.Map, v.Combine, v.Finish)
			d := fam.dtypes[0]
			parts[d].functor(b, op, name, d)
			for _, d := range fam.dtypes {
				functors[d] = name
			}
		}
		for _, d := range storageDTypes(op) {
			fmt.Fprintf(b, "%s(%s, %s<%s>, %s, %s)\n", macro, kernelName(op, v, d), functors[d.Compute()], d.Compute(), storedResult(op, d), d)
		}
	}
}

// accCUDA are the types that the parts over accumulators are printed with.
var accCUDA = expr.CUDATypes{T: "Acc", Real: "AccR"}

// accType is the C++ type of the accumulator for operands of compute dtype d.
func (p *fold) accType(d ir.DType) string {
	switch p.acc {
	case d:
		return "T"
	case d.Real():
		return "R"
	}
	return p.acc.String()
}

func (p *fold) cudaText(d ir.DType) string {
	return fmt.Sprint(p.accType(d), cudaText(p.mapped), p.init.CUDA(accCUDA), p.comb.CUDA(accCUDA), p.finish.CUDA(accCUDA), p.finish.Root.Kind)
}

func (p *fold) functor(b *strings.Builder, op *schema.Op, name string, d ir.DType) {
	fmt.Fprintf(b, "template <class T> struct %s {\n  typedef typename real_of<T>::type R;\n", name)
	fmt.Fprintf(b, "  typedef %s Acc;\n  typedef typename real_of<Acc>::type AccR;\n", p.accType(d))
	for _, q := range op.Attrs() {
		if t := fieldType(q); t != "" {
			fmt.Fprintf(b, "  %s %s;\n", t, q.Name)
		}
	}
	init := p.init.CUDA(accCUDA)
	fmt.Fprintf(b, "  SINTER_FN Acc init() const { return %s; }\n", init.Result)
	cudaMember(b, p.mapped, cudaTypes, "map", "T "+op.Params[0].Name)
	cudaMember(b, p.comb, accCUDA, "combine", "Acc a, Acc b")
	cudaMember(b, p.finish, accCUDA, "finish", "Acc a, long long count")
	b.WriteString("};\n")
}
