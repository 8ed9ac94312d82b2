// Package fused prints the device code of regions: a functor over the loops that the
// standard operators have. It knows nothing of devices, and compiles nothing.
package fused

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/codegen/cpp"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"github.com/sinter-go/sinter/ir/fusion"
)

// module is the name of every region's source, so that sources that are the same have one
// entry in the directory of compiled kernels.
const module = "region"

// Kernels returns the names and the source of a region's device code.
func Kernels(r *fusion.Region) (*code.Kernels, error) {
	g, err := r.Graph()
	if err != nil {
		return nil, err
	}
	return &code.Kernels{Module: module, Symbol: module, Source: &source{text: print(r, g)}}, nil
}

// print prints the source: the functor, and the line that makes kernels of it.
func print(r *fusion.Region, g *expr.Graph) string {
	several := len(g.Roots) > 1
	header := "elementwise"
	if several {
		header = "several"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include \"%s.cuh\"\n\nnamespace sinter {\n\n", header)
	functor(&b, "RegionFn", g)
	line(&b, r, several)
	b.WriteString("\n}  // namespace sinter\n")
	return b.String()
}

// paramType is the type of a functor's field.
func paramType(k expr.ParamKind) string { return [...]string{"T", "T", "long long", "bool"}[k] }

// functor prints a struct that computes a graph, of one element of each operand.
func functor(b *strings.Builder, name string, g *expr.Graph) {
	types := cpp.Types{T: "T", Real: "T"}
	dtype := func(k expr.Kind) string { return types.Of(k) }
	several := len(g.Roots) > 1
	result := dtype(g.Roots[0].Kind)
	fmt.Fprintf(b, "template <class T> struct %s {\n", name)
	if several {
		result = "Results"
		var list []string
		for _, root := range g.Roots {
			list = append(list, dtype(root.Kind))
		}
		fmt.Fprintf(b, "  typedef Pack<%s> Results;\n", strings.Join(list, ", "))
	}
	for _, p := range g.Env.Params {
		fmt.Fprintf(b, "  %s %s;\n", paramType(p.Kind), p.Name)
	}
	params := []string{"long long index"}
	for _, o := range g.Env.Operands {
		k := expr.TKind
		switch {
		case o.Fixed == ir.Bool, g.T == ir.Bool:
			k = expr.BoolKind
		case o.Fixed == ir.Int64:
			k = expr.IntKind
		}
		params = append(params, dtype(k)+" "+o.Name)
	}
	fmt.Fprintf(b, "  SINTER_FN %s operator()(%s) const {\n", result, strings.Join(params, ", "))
	code := types.Print(g)
	for _, l := range code.Lets {
		fmt.Fprintf(b, "    const %s %s = %s;\n", dtype(l.Kind), l.Name, l.Expr)
	}
	if several {
		b.WriteString("    Results r;\n")
		for i, text := range code.Results {
			fmt.Fprintf(b, "    get<%d>(r) = %s;\n", i, text)
		}
		b.WriteString("    return r;\n")
	} else {
		fmt.Fprintf(b, "    return %s;\n", code.Results[0])
	}
	b.WriteString("  }\n};\n")
}

// line prints the line that makes kernels.
func line(b *strings.Builder, r *fusion.Region, several bool) {
	k := r.Kernel
	var types []string
	for _, p := range k.Out {
		types = append(types, p.DType.String())
	}
	for _, p := range k.In {
		types = append(types, p.DType.String())
	}
	macro, count := "SINTER_ELEMENTWISE", ""
	if several {
		macro, count = "SINTER_SEVERAL", fmt.Sprintf("%d, ", len(k.Out))
	}
	compute := k.Compute.String()
	if k.Compute == ir.Bool {
		compute = "bool"
	}
	fmt.Fprintf(b, "%s(%s_%s, RegionFn<%s>, %s%s)\n", macro, module, k.DType, compute, count, strings.Join(types, ", "))
}

// A source is a file system with one file, the source of a region. Pointers to sources
// tell them apart.
type source struct{ text string }

const name = module + ".cu"

// Open opens the file.
func (s *source) Open(file string) (fs.File, error) {
	if file != name {
		return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
	}
	return &open{strings.NewReader(s.text)}, nil
}

// An open is the opened file, and says what it is.
type open struct{ *strings.Reader }

func (f *open) Stat() (fs.FileInfo, error) { return f, nil }
func (f *open) Close() error               { return nil }
func (f *open) Name() string               { return name }
func (f *open) Mode() fs.FileMode          { return 0o444 }
func (f *open) ModTime() time.Time         { return time.Time{} }
func (f *open) IsDir() bool                { return false }
func (f *open) Sys() any                   { return nil }

var _ io.Reader = (*open)(nil)
