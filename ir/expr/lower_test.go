package expr

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/num"
)

// sources returns every operator and function of the language applied to
// operands and to literals.
func sources() []string {
	var out []string
	for fn, f := range functions {
		for _, args := range [][]string{{"x", "y", "p"}, {"x", "1", "0.5"}, {"x + y", "y*p", "x - y"}, {"2", "x", "1"}, {"x > y", "x", "y"}, {"n", "index", "2"}} {
			var nodes []*Node
			for _, a := range args[:f.arity] {
				e, err := Parse(a, xy)
				if err != nil {
					panic(err)
				}
				nodes = append(nodes, e.Root)
			}
			out = append(out, call(fn, nodes...).String())
		}
	}
	return append(out, "where(x == y, Inf, -Inf)", "x*NaN", "-0.0*x", "x - -y", "-x - -1", "x != x && !(y == y)", "(1 + index)*7%5",
		"index<<2>>n", "where(n > 2, index, n)", "cast(index)*x + cast(n)", "MaxValue", "cast(MinValue)", "x + Eps", "Lowest", "2/3*x", "n%(5 - 2)", "1")
}

// TestGoCompiles type-checks what every function prints, with every kind of
// argument and for every compute dtype. What prints alike for a category's dtypes
// is checked as one function with a type parameter, as it is emitted.
func TestGoCompiles(t *testing.T) {
	var file strings.Builder
	file.WriteString("package p\nimport \"github.com/sinter-go/sinter/ir/num\"\n")
	n, origin := 0, map[string]string{}
	add := func(src, constraint string, types GoTypes, g *Graph) {
		fn := fmt.Sprintf("f%d", n)
		n++
		origin[fn] = src + " for " + g.T.String()
		code := g.Go(types)
		fmt.Fprintf(&file, "func %s%s(x, y, dy, p %s, n, index int64) %s {\n", fn, constraint, types.T, (&golang{g, types}).typeOf(g.Roots[0].Kind))
		for _, let := range code.Lets {
			fmt.Fprintf(&file, "\t%s := %s\n", let.Name, let.Expr)
		}
		fmt.Fprintf(&file, "\treturn %s\n}\n", code.Results[0])
	}
	for _, src := range sources() {
		e := mustParse(t, src)
		graphs := map[ir.DType]*Graph{}
		for _, d := range ir.ClassAll.List() {
			if g, err := e.Check(d); err == nil { // else not a part of the language for d
				graphs[d] = g
				add(src, "", GoTypes{d.String(), d.Real().String()}, g)
			}
		}
		generic := GoTypes{"T", "T"}
		for _, family := range []struct {
			constraint string
			dtypes     []ir.DType
		}{{"[T num.Float]", []ir.DType{ir.Float32, ir.Float64}}, {"[T num.Int]", ir.ClassInt.List()}, {"[T int8 | int64]", []ir.DType{ir.Int8, ir.Int64}}} {
			alike := true
			for _, d := range family.dtypes {
				a, b := graphs[family.dtypes[0]], graphs[d]
				alike = alike && a != nil && b != nil && cmp.Equal(a.Go(generic), b.Go(generic))
			}
			if alike {
				add(src, family.constraint, generic, graphs[family.dtypes[0]])
			}
		}
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "p.go", file.String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(file.String(), "\n")
	if gobuild.Default.GOROOT == "" { // a test that is built with -trimpath does not know it
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		gobuild.Default.GOROOT = strings.TrimSpace(string(out))
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil), Error: func(err error) {
		e := err.(types.Error)
		at := fset.Position(e.Pos).Line
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Pos() <= e.Pos && e.Pos <= f.End() {
				t.Errorf("%s prints %s: %s", origin[f.Name.Name], strings.TrimSpace(lines[at-1]), e.Msg)
			}
		}
	}}
	if _, err := conf.Check("p", fset, []*ast.File{parsed}, nil); err != nil && !t.Failed() {
		t.Error(err)
	}
	if n < 300 {
		t.Errorf("only %d functions were checked", n)
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		src   string
		dtype ir.DType
		want  string // in Go
	}{
		{"2/3*x", ir.Float32, "0.6666666666666666*x"},
		{"4/2*x", ir.Float64, "2*x"},
		{"x*(Pi/180)", ir.Float64, "x*0.017453292519943295"},
		{"7/2*x", ir.Int32, "3*x"},
		{"x + (100 + 27)", ir.Int8, "x + 127"},
		{"index%(7/2)", ir.Int64, "num.ITruncRem(index, 3)"},
		{"index/(4/2)", ir.Float32, "num.IDiv(index, 2)"},
		{"where(2 > 1, x, -x)", ir.Float32, "num.Where(true, x, -x)"},
		{"x + -9223372036854775808", ir.Int64, "x + -9223372036854775808"},
		{"2/3*x", ir.Complex64, "0.6666666666666666*x"},
	} {
		g, err := mustParse(t, c.src).Check(c.dtype)
		if err != nil {
			t.Errorf("%s for %s: %v", c.src, c.dtype, err)
			continue
		}
		if d := cmp.Diff(c.want, g.Go(GoTypes{"T", "R"}).Results[0]); d != "" {
			t.Errorf("%s for %s (-want +got):\n%s", c.src, c.dtype, d)
		}
	}
}

// TestRoundTrip holds that printing keeps the tree.
func TestRoundTrip(t *testing.T) {
	for _, src := range append(sources(), "-(-x)", "x - (y - p)", "x/(y/p)", "(x - y) - p", "-(x + y)", "-x*y", "!(x > y) && (x < y || p > 0)",
		"^(n & 3) &^ n", "n<<(n + 1)", "(n & 1) == 0", "1e300*1e300*x", "1e-320 + x", "0x10 + x", "-5 - -3.5", "fma(x, -y, +0.5)") {
		e, err := Parse(src, xy)
		if err != nil {
			if !strings.Contains(src, "+0.5") { // Go's unary plus is left out
				t.Errorf("%s: %v", src, err)
			}
			continue
		}
		if again := mustParse(t, e.String()); !again.Root.equal(e.Root) {
			t.Errorf("%s prints as %s, which is another expression", src, e)
		}
	}
}

// TestIntegers holds the interpreter's integer arithmetic against package num's,
// which is written apart from it, over pairs of int8 and uint8.
func TestIntegers(t *testing.T) {
	compareWithNum(t, ir.Int8, func(fn string, x, y int64) (int64, bool) {
		r, ok := numInt(fn, int8(x), int8(y))
		return int64(r), ok
	}, -128)
	compareWithNum(t, ir.Uint8, func(fn string, x, y int64) (int64, bool) {
		r, ok := numInt(fn, uint8(x), uint8(y))
		return int64(r), ok
	}, 0)
}

func numInt[T num.Int](fn string, x, y T) (T, bool) {
	switch fn {
	case "div", "truncdiv":
		return num.IDiv(x, y), true
	case "rem", "fmod":
		return num.ITruncRem(x, y), true
	case "floordiv":
		return num.IFloorDiv(x, y), true
	case "remainder":
		return num.IRemainder(x, y), true
	case "pow":
		return num.IPow(x, y), true
	case "abs":
		return num.IAbs(x), true
	case "sign":
		return num.ISign(x), true
	case "shl":
		return num.IShl(x, y), true
	case "shr":
		return num.IShr(x, y), true
	}
	return 0, false
}

func compareWithNum(t *testing.T, d ir.DType, with func(fn string, x, y int64) (int64, bool), low int64) {
	t.Helper()
	for fn := range functions {
		if _, ok := with(fn, 1, 1); !ok {
			continue
		}
		for x := low; x < low+256; x++ {
			for y := low; y < low+256; y += 3 {
				got, ok := integerOp(fn, x, y, 8)
				want, _ := with(fn, x, y)
				if got = Wrap(got, d); !ok || got != want {
					t.Fatalf("%s(%d, %d) for %s = %d, package num has %d", fn, x, y, d, got, want)
				}
			}
		}
	}
}
