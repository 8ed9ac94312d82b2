package source_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (notSource(d.Name()) || d.Name() == "generated" || d.Name() == "tests"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err == nil && distinguishes(file) {
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Compact(listed), found); diff != "" {
		t.Errorf("files that tell dtypes apart (-named in CONTRIBUTING.md +found):\n%s", diff)
	}
}

// distinguishes reports whether a file has a switch or a table with more than mostDTypes
// dtypes.
func distinguishes(file *ast.File) (found bool) {
	many := func(list []ast.Expr) bool {
		seen := map[string]bool{}
		for _, x := range list {
			if name := dtypeName(file, x); name != "" {
				seen[name] = true
			}
		}
		return len(seen) > mostDTypes
	}
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
		found = found || many(list)
		return !found
	})
	return found
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
