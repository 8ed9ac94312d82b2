// Package fused prints the device code of regions: a functor over the loops that the
// standard operators have. It knows nothing of devices, and compiles nothing.
package fused

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
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

// Kernels returns the names and the source of a region's device code: a file for each loop,
// of which a program needs one or two.
func Kernels(r *fusion.Region) (*code.Kernels, error) {
	g, err := r.Graph()
	if err == nil {
		err = steady(g)
	}
	if err != nil {
		return nil, err
	}
	files := &source{lease: code.NewLease(), files: map[string]string{}, ptx: map[string]func() (string, error){}}
	for i := range loops {
		if l := &loops[i]; l.several == (len(g.Roots) > 1) {
			files.files[module+l.suffix+".cu"] = print(r, g, l)
			files.ptx[module+l.suffix+".ptx"] = func() (string, error) { return printPTX(r, g, l) }
		}
	}
	return &code.Kernels{Module: module, Symbol: module, Source: files}, nil
}

// A loop is one of the kernels of compact.cuh or several.cuh.
type loop struct {
	suffix   string
	several  bool // results
	over     string
	function string
}

const (
	strided = "_strided"
	rowwise = "_rows"
)

var loops = []loop{
	{"", false, "long long count", "contiguous(count, p, f)"},
	{strided, false, "Space<%d> s", "strided(s, p, f)"},
	{rowwise, false, "Space<%d> s", "rows(s, p, f)"},
	{"", true, "long long count", "contiguous(count, p, f)"},
	{strided, true, "Space<%d> s", "strided(s, p, f)"},
}

// Loop returns the suffix of the kernel that a call will launch, as far as its layouts tell
// that before its memory is known.
func Loop(c *ir.Call) string {
	if c.Flat {
		return ""
	}
	views := slices.Concat(c.Out, c.In)
	last, widest := len(c.Space)-1, 1
	for i := range views {
		widest = max(widest, views[i].DType.Size())
	}
	vector := min(vectorBytes/widest, 8)
	if last < 0 || len(c.Out) > 1 || vector < 2 || c.Space[last]%vector != 0 {
		return strided
	}
	for i := range views {
		for a, step := range views[i].Strides {
			if a == last && step != 0 && step != 1 || a < last && step%vector != 0 {
				return strided
			}
		}
	}
	return rowwise
}

// print prints the source: the functor, and one kernel.
func print(r *fusion.Region, g *expr.Graph, l *loop) string {
	header, class := "compact", "Compact<%s>"
	k := r.Kernel
	compute := k.Compute.String()
	if k.Compute == ir.Bool {
		compute = "bool"
	}
	types := []string{"RegionFn<" + compute + ">"}
	if l.several {
		header, class = "several", "Several<%s>"
		types = append(types, fmt.Sprint(len(k.Out)))
	}
	for _, p := range slices.Concat(k.Out, k.In) {
		types = append(types, p.DType.String())
	}
	n := len(k.Out) + len(k.In)
	over := l.over
	if strings.Contains(over, "%d") {
		over = fmt.Sprintf(over, n)
	}
	var b strings.Builder
	b.WriteString("namespace sinter {\n\n" + rounding(g))
	functor(&b, "RegionFn", g)
	fmt.Fprintf(&b, "\nextern \"C\" __global__ void __launch_bounds__(elementwise_threads) %s_%s%s(%s, Operands<%d> p, %s f) {\n  %s::%s;\n}\n",
		module, k.DType, l.suffix, over, n, types[0], fmt.Sprintf(class, strings.Join(types, ", ")), l.function)
	b.WriteString("\n}  // namespace sinter\n")
	return including(b.String(), header)
}

// including returns text behind the directives for headers and for the functions that it
// calls.
func including(text string, headers ...string) string {
	var includes string
	for _, h := range headers {
		includes += "#include \"" + h + ".cuh\"\n"
	}
	return includes + cpp.Includes(text) + "\n" + text
}

// unsteady are functions whose results are not the same in all versions of the compiler that
// are in use: kernels compiled ahead and at run time would differ.
var unsteady = []string{"acosh", "asinh", "atan2"}

// steady returns an error where a graph has a function that is unsteady.
func steady(g *expr.Graph) error {
	for _, v := range g.Values {
		if v.Op == expr.OpCall && slices.Contains(unsteady, v.Name) {
			return fmt.Errorf("%s is not the same to the bit in all versions of the compiler", v.Name)
		}
	}
	return nil
}

// rounding is the functions that round what graphs have rounded.
func rounding(graphs ...*expr.Graph) (text string) {
	for _, d := range []string{"float16", "bfloat16"} {
		rounds := func(g *expr.Graph) bool {
			return slices.ContainsFunc(g.Values, func(v *expr.Value) bool { return v.Op == expr.OpCall && v.Name == "rounded_"+d })
		}
		if slices.ContainsFunc(graphs, rounds) {
			text += fmt.Sprintf("SINTER_FN float rounded_%[1]s(float x) { return to_float(to_%[1]s(x)); }\n\n", d)
		}
	}
	return text
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

// A source is a file system of the files of a region, by name. It is dropped with the last
// program that has the region. PTX is printed when it is opened: few need it.
type source struct {
	lease *code.Lease
	files map[string]string
	ptx   map[string]func() (string, error)
}

// only is a source of one file.
func only(text string) *source {
	return &source{lease: code.NewLease(), files: map[string]string{module + ".cu": text}}
}

// Lease returns what tells the source from others.
func (s *source) Lease() *code.Lease { return s.lease }

// Open opens a file.
func (s *source) Open(file string) (fs.File, error) {
	text, ok := s.files[file]
	if print := s.ptx[file]; print != nil {
		var err error
		if text, err = print(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: file, Err: err}
		}
		ok = true
	}
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
	}
	return &open{strings.NewReader(text), file}, nil
}

// Stat reports whether there is a file, and prints nothing.
func (s *source) Stat(file string) (fs.FileInfo, error) {
	text, ok := s.files[file]
	if !ok && s.ptx[file] == nil {
		return nil, &fs.PathError{Op: "stat", Path: file, Err: fs.ErrNotExist}
	}
	return &open{strings.NewReader(text), file}, nil
}

// An open is an opened file, and says what it is.
type open struct {
	*strings.Reader
	name string
}

func (f *open) Stat() (fs.FileInfo, error) { return f, nil }
func (f *open) Close() error               { return nil }
func (f *open) Name() string               { return f.name }
func (f *open) Mode() fs.FileMode          { return 0o444 }
func (f *open) ModTime() time.Time         { return time.Time{} }
func (f *open) IsDir() bool                { return false }
func (f *open) Sys() any                   { return nil }

var _ io.Reader = (*open)(nil)
