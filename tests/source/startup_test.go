package source_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNothingAtStart sees that the compiler of vector loops does nothing when a program
// starts, which may link it and never use it: no variable of its packages is
// a map or what a call returns, except what sync.OnceValue makes later.
func TestNothingAtStart(t *testing.T) {
	trees(t, func(name string, file *ast.File) {
		if !strings.HasPrefix(name, "codegen/") {
			return
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", places.Position(f.Pos()))
			}
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				ast.Inspect(g, func(n ast.Node) bool { return !atStart(t, n) })
			}
		}
	})
}

// mayInit are the files that may have an init function: one installs the backends, the
// others read the environment.
var mayInit = []string{"generated/tensor/handle.go", "runtime/core/blocking.go", "runtime/precision/precision.go"}

// TestInits: nothing else is done by init functions, such as filling a table. It is policy
// as TestImports is: change the code, not this test.
func TestInits(t *testing.T) {
	var found []string
	trees(t, func(name string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found = append(found, name)
			}
		}
	})
	if diff := cmp.Diff(mayInit, found); diff != "" {
		t.Errorf("files with an init function (-may +have):\n%s", diff)
	}
}

// atStart reports what an initialiser does before main: n is a part of it. It returns
// true where what is below n runs later, or was reported.
func atStart(t *testing.T, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return true
	case *ast.CompositeLit:
		if _, ok := n.Type.(*ast.MapType); ok {
			t.Errorf("%s: a map is filled when a program starts: make it a switch, an array, or sync.OnceValue", places.Position(n.Pos()))
			return true
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok {
			if p, ok := f.X.(*ast.Ident); ok && (p.Name == "sync" && strings.HasPrefix(f.Sel.Name, "OnceValue") || p.Name == "errors" && f.Sel.Name == "New") {
				return false
			}
		}
		t.Errorf("%s: a call when a program starts: make it sync.OnceValue", places.Position(n.Pos()))
		return true
	}
	return false
}
