package source_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// mostDTypes is how many dtypes a switch or a table may name that a new one need not join:
// those of a width, or of 16-bit floats.
const mostDTypes = 3

// TestDTypes finds every switch over dtypes and every table by them in what is written by
// hand, and holds the files to those that CONTRIBUTING.md names for a new dtype.
func TestDTypes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n### A dtype\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section about a dtype")
	}
	section, _, _ = strings.Cut(section, "\n### ")
	var listed []string
	for _, m := range regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	var found []string
	tables(t, func(name, _ string, _ dtypeTable) { found = append(found, name) })
	slices.Sort(found)
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Compact(listed), slices.Compact(found)); diff != "" {
		t.Errorf("files that tell dtypes apart (-named in CONTRIBUTING.md +found):\n%s", diff)
	}
}

// apart has the dtypes that a file tells from others of their class without naming them, for
// a default, a width or what a library lacks.
var apart = map[string][]string{
	"backend/cpu/cputest/cputest.go":    {"complex128"},
	"backend/cpu/fold/vector_amd64.go":  {"uint8", "int8", "int16", "int32"}, // no vector sums of them
	"backend/cpu/keys/keys_amd64.go":    {"uint8", "int8", "int16"},          // no vector code for them
	"backend/cpu/made/made.go":          {"complex128"},
	"backend/cpu/opaque/matmul.go":      {"float16"}, // widened before
	"backend/cuda/cublaslt/prepared.go": {"complex64"},
	"backend/cuda/launch/number.go":     {"float64", "complex128"},
	"backend/cuda/nccl/library.go":      {"int16"}, // NCCL has none
	"backend/ref/element/element.go":    {"complex128", "int64"},
	"ir/expr/interp.go":                 {"int64"},
	"runtime/core/host.go":              {"complex128"},
}

// TestDTypeClasses: a switch or a table that names a dtype of a class, as the integers or
// the floats for storage, names all of them, or leaves out what apart says. So a new dtype
// fails in each of them.
func TestDTypeClasses(t *testing.T) {
	left := map[string][]string{}
	tables(t, func(name, where string, table dtypeTable) {
		for _, d := range missing(table.names) {
			left[name] = append(left[name], d)
			if !slices.Contains(apart[name], d) {
				t.Errorf("%s: names %v, and not %s", where, slices.Sorted(maps.Keys(table.names)), d)
			}
		}
	})
	for name, list := range apart {
		for _, d := range list {
			if !slices.Contains(left[name], d) {
				t.Errorf("%s does not leave out %s any more", name, d)
			}
		}
	}
}

// known are the tables of files that were looked at.
var known = map[*ast.File][]dtypeTable{}

// tables calls f with every table of what is written by hand, its file and its place.
func tables(t *testing.T, f func(name, where string, table dtypeTable)) {
	t.Helper()
	trees(t, func(name string, file *ast.File) {
		if emitted(name) || strings.HasPrefix(name, "tests/") {
			return
		}
		of, ok := known[file]
		if !ok {
			of = dtypeTables(file)
			known[file] = of
		}
		for _, table := range of {
			f(name, places.Position(table.pos).String(), table)
		}
	})
}

// missing returns the dtypes that names lacks, where it has others of the category that are
// computed in themselves, or in another dtype, alike.
func missing(names map[string]bool) (out []string) {
	class := func(d ir.DType) [2]int {
		if d.Compute() == d {
			return [2]int{int(d.Category()), 0}
		}
		return [2]int{int(d.Category()), 1}
	}
	has := map[[2]int]bool{}
	for i := range ir.NumDTypes {
		if d := ir.DType(i); names[d.String()] {
			has[class(d)] = true
		}
	}
	for i := range ir.NumDTypes {
		if d := ir.DType(i); !names[d.String()] && has[class(d)] {
			out = append(out, d.String())
		}
	}
	return out
}

// A dtypeTable is a switch or a literal with more than mostDTypes dtypes.
type dtypeTable struct {
	pos   token.Pos
	names map[string]bool
}

// dtypeTables returns those of a file.
func dtypeTables(file *ast.File) (out []dtypeTable) {
	ast.Inspect(file, func(n ast.Node) bool {
		var list []ast.Expr
		switch n := n.(type) {
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				list = append(list, clause.(*ast.CaseClause).List...)
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					list = append(list, kv.Key)
				}
			}
		}
		table := dtypeTable{names: map[string]bool{}}
		for _, x := range list {
			if name := dtypeName(file, x); name != "" {
				table.pos, table.names[strings.ToLower(name)] = n.Pos(), true
			}
		}
		if len(table.names) > mostDTypes {
			out = append(out, table)
		}
		return true
	})
	return out
}

// dtypeName returns the name of the dtype that an expression is, or "".
func dtypeName(file *ast.File, x ast.Expr) string {
	name := ""
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if from, ok := x.X.(*ast.Ident); ok && from.Name == "ir" {
			name = x.Sel.Name
		}
	case *ast.Ident:
		if file.Name.Name == "ir" {
			name = x.Name
		}
	}
	if _, err := ir.ParseDType(strings.ToLower(name)); err != nil {
		return ""
	}
	return name
}
