package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// sharedBytes is how much shared memory a block has without asking.
const sharedBytes = 48 << 10

// foldsOne reports whether the loops of one operand and one result, which fold several
// neighbours a thread, serve a reduction with states.
func foldsOne(op *schema.Op) bool {
	if len(op.Operands()) > 1 || len(op.Results) > 1 || op.Variants[0].Fold.First != nil {
		return false
	}
	return !slices.ContainsFunc(storageDTypes(op), func(d ir.DType) bool {
		width, bytes := 8, 0
		if d.Size() > 1 {
			width = 16 / d.Size()
		}
		for _, s := range op.Variants[0].Fold.States {
			bytes += max(8, s.Held(op.ComputeIn(d)).Size()) // aligned
		}
		return 256*width*bytes > sharedBytes
	})
}

// cudaStates prints a reduction with states:
//
//	template <class T> struct <Name>Fn {
//	  struct Acc { T low; T high; };
//	  typedef Pack<T, T> Results;
//	  struct First {};
//	  SINTER_FN Acc init() const { ... }
//	  SINTER_FN First first(T x) const { ... }
//	  SINTER_FN Acc map(First first, T x) const { ... }
//	  SINTER_FN Acc combine(Acc a, Acc b) const { ... }
//	  SINTER_FN Results finish(Acc a, First first, long long count) const { ... }
//	};
//	SINTER_FOLD(<name>_float32, <Name>Fn<float32>, 2, float32, float32, float32)
func (e *emitter) cudaStates(b *strings.Builder, op *schema.Op) {
	for _, v := range op.Variants {
		graphs := map[ir.DType]expr.FoldGraph{}
		for _, d := range unit.ComputeDTypes(op) {
			g, err := v.Fold.Check(d)
			if err != nil {
				return // reported by the CPU's emitter
			}
			graphs[d] = g
		}
		groups := cudaGroups(unit.ComputeDTypes(op), func(d ir.DType) string {
			g := graphs[d]
			first := ""
			if g.First != nil {
				first = cudaText(g.First)
			}
			return fmt.Sprint(first, cudaText(g.Init), cudaText(g.Map), cudaText(g.Combine), cudaText(g.Finish))
		})
		functors := map[ir.DType]string{}
		for _, fam := range groups {
			name := functorName(op, v, fam.suffix)
			fmt.Fprintf(b, "\n// %s: %s\n", strings.TrimSuffix(name, "Fn"), unit.ResultNames(op))
			statesFunctor(b, op, name, v.Fold, graphs[fam.dtypes[0]])
			for _, d := range fam.dtypes {
				functors[d] = name
			}
		}
		for _, d := range storageDTypes(op) {
			b.WriteString(statesLine(op, v, d, fmt.Sprintf("%s<%s>", functors[op.ComputeIn(d)], op.ComputeIn(d))))
		}
	}
}

// statesLine is the line that makes the kernels of a body for operands stored as d.
func statesLine(op *schema.Op, v schema.Variant, d ir.DType, functor string) string {
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
	list := strings.Join(types, ", ")
	if foldsOne(op) {
		return fmt.Sprintf("SINTER_REDUCE(%s, %s, %s)\n", kernelName(op, v, d), functor, list)
	}
	return fmt.Sprintf("SINTER_FOLD(%s, %s, %d, %s)\n", kernelName(op, v, d), functor, len(op.Results), list)
}

// statesFunctor prints the struct of a reduction with states.
func statesFunctor(b *strings.Builder, op *schema.Op, name string, f *expr.Fold, g expr.FoldGraph) {
	cudaFields(b, op, name)
	var fields []string
	for i, s := range f.States {
		fields = append(fields, fmt.Sprintf("%s %s;", cudaTypes.Of(g.Map.Roots[i].Kind), cpp.Name(s.Name)))
	}
	if f.States[0].Name == "" {
		fmt.Fprintf(b, "  typedef %s Acc;\n", cudaTypes.Of(g.Map.Roots[0].Kind))
	} else {
		fmt.Fprintf(b, "  struct Acc { %s };\n", strings.Join(fields, " "))
	}
	resultsType(b, g.Finish)
	var params []string
	for _, p := range op.Operands() {
		params = append(params, operandType(p, g.Map)+" "+cpp.Name(p.Name))
	}
	list, first := strings.Join(params, ", "), ""
	if !foldsOne(op) {
		first = "First first, "
		firstMember(b, op, f, g.First, list)
	}
	var names []string
	for _, s := range f.States {
		names = append(names, cpp.Name(s.Name))
	}
	structMember(b, op, names, g.Init, "Acc", "init", "")
	structMember(b, op, names, g.Map, "Acc", "map", first+list)
	structMember(b, op, names, g.Combine, "Acc", "combine", "Acc a, Acc b")
	cudaMember(b, op, g.Finish, cudaTypes, "finish", "Acc a, "+first+"long long count")
	b.WriteString("};\n")
}

// firstMember prints the struct of what is made of first elements, and the member function
// that makes it; g is nil where there is nothing.
func firstMember(b *strings.Builder, op *schema.Op, f *expr.Fold, g *expr.Graph, params string) {
	if g == nil {
		fmt.Fprintf(b, "  struct First {};\n  SINTER_FN First first(%s) const { return First(); }\n", params)
		return
	}
	var names []string
	b.WriteString("  struct First {")
	for i, name := range f.Names {
		names = append(names, cpp.Name(strings.TrimPrefix(name, ir.First{}.Full())))
		fmt.Fprintf(b, " %s %s;", cudaTypes.Of(g.Roots[i].Kind), names[i])
	}
	b.WriteString(" };\n")
	structMember(b, op, names, g, "First", "first", params)
}

// structMember prints a member function that gives a struct of the values of g by names of C++, or
// where the one name is empty the value.
func structMember(b *strings.Builder, op *schema.Op, names []string, g *expr.Graph, typ, member, params string) {
	code := cudaTypes.Print(g)
	fmt.Fprintf(b, "  SINTER_FN %s %s(%s) const {\n", typ, member, params)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", cudaTypes.Of(l.Kind), l.Name, l.Expr)
	}
	if names[0] == "" {
		fmt.Fprintf(b, "    return %s;\n  }\n", code.Results[0])
		return
	}
	result := local("r", op)
	fmt.Fprintf(b, "    %s %s;\n", typ, result)
	for i, name := range names {
		fmt.Fprintf(b, "    %s.%s = %s;\n", result, name, code.Results[i])
	}
	fmt.Fprintf(b, "    return %s;\n  }\n", result)
}
