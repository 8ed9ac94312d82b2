package composite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLooks: no composition asks a tensor for its shape or the like but through look,
// which ends the composition where the tensor is an error.
func TestLooks(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{"Shape", "Strides", "Layout", "DType", "Device", "Rank", "NumElements", "StorageElements"}
	fset, looks := token.NewFileSet(), 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) > 0 {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(asked, s.Sel.Name) {
				return true
			}
			if of, ok := s.X.(*ast.CallExpr); ok {
				if id, ok := of.Fun.(*ast.Ident); ok && id.Name == "look" {
					looks++
					return true
				}
			}
			t.Errorf("%s: %s is asked without look", fset.Position(call.Pos()), s.Sel.Name)
			return true
		})
	}
	if looks == 0 {
		t.Error("nothing looks: the parser found nothing")
	}
}
