// Package ptx prints scalar expressions as PTX, for regions of programs where no compiler of
// CUDA C++ is. The functions of expressions are those of kernels/num.cuh, compiled ahead,
// so that results are those of compiled C++ to the bit; the package puts their code together.
// It knows neither operators nor devices.
package ptx

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// computed are the dtypes that regions compute in.
const computed = ir.ClassBool | ir.ClassInt | 1<<ir.Float32 | 1<<ir.Float64

// functionName names the function of the library that computes a call.
func functionName(g *expr.Graph, v *expr.Value) string {
	name := v.Name + "_" + g.KindDType(v.Kind).String()
	for _, a := range v.Args {
		name += "_" + g.KindDType(a.Kind).String()
	}
	return name
}

// A class is how values are handed to functions of the library and held in registers.
type class struct{ c, register string }

// classOf returns the class of a compute dtype: bools and small integers are words.
func classOf(d ir.DType) class {
	switch d {
	case ir.Int64:
		return class{"long long", "b64"}
	case ir.Float32:
		return class{"float", "f32"}
	case ir.Float64:
		return class{"double", "f64"}
	}
	return class{"int", "b32"}
}

// Source returns the source of the library: each function of the expression language for
// the types of its arguments, and the conversions of what is stored in 16 bits.
func Source(header string) []byte {
	var b strings.Builder
	b.WriteString("\nnamespace sinter {\n\n")
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
		fmt.Fprintf(&b, "SINTER_FN float rounded_%[1]s(float x) { return to_float(to_%[1]s(x)); }\n", d)
		fmt.Fprintf(&b, "extern \"C\" __device__ float %s(int x) { return to_float(%s{static_cast<unsigned short>(x)}); }\n", load(d), d)
		fmt.Fprintf(&b, "extern \"C\" __device__ int %s(float x) { return to_%s(x).bits; }\n", store(d), d)
	}
	seen := map[string]bool{}
	for _, t := range computed.List() {
		fmt.Fprintf(&b, "\n// %s.\n\n", t)
		for _, g := range expr.Instances(t) {
			if name := functionName(g, g.Roots[0]); !seen[name] {
				seen[name] = true
				function(&b, g, name)
			}
		}
	}
	b.WriteString("\n}  // namespace sinter\n")
	const about = "\n\n// The functions of the expression language, for PTX that is put together of them.\n\n#include \"num.cuh\"\n"
	return []byte(header + about + cpp.Includes(b.String()) + b.String())
}

// load and store name the functions that convert what is stored in 16 bits.
func load(d ir.DType) string  { return "load_" + d.String() }
func store(d ir.DType) string { return "store_" + d.String() }

// function prints one function of the library.
func function(b *strings.Builder, g *expr.Graph, name string) {
	typ := func(d ir.DType) string {
		if d == ir.Bool {
			return "bool"
		}
		return d.String()
	}
	var params, lets []string
	for _, o := range g.Env.Operands {
		d := g.T
		if o.Fixed != ir.Invalid {
			d = o.Fixed
		}
		param := o.Name
		if c := classOf(d).c; c == "int" && d != ir.Int32 {
			param = "the_" + o.Name
			lets = append(lets, fmt.Sprintf("const %s %s = %s(%s); ", typ(d), o.Name, typ(d), param))
		}
		params = append(params, classOf(d).c+" "+param)
	}
	if expr.Draws(g.Roots[0].Name) {
		params = append(params, "long long index")
	}
	types := cpp.Types{T: typ(g.T), Real: typ(g.T)}
	fmt.Fprintf(b, "extern \"C\" __device__ %s %s(%s) { %sreturn %s; }\n",
		classOf(g.Result()).c, name, strings.Join(params, ", "), strings.Join(lets, ""), types.Print(g).Results[0])
}
