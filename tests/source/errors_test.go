package source_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestSentinels: the errors that programs decide on are constants, which nobody can
// assign to, and no two have one text, which would make them one error (ir.Error).
// Bindings of libraries, which no program imports, may have variables.
func TestSentinels(t *testing.T) {
	by, found := map[string]string{}, 0
	trees(t, func(rel string, file *ast.File) {
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR && g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, id := range v.Names {
					if rest, ok := strings.CutPrefix(id.Name, "Err"); !ok || rest == "" || !ast.IsExported(rest) || i >= len(v.Values) {
						continue
					}
					if g.Tok == token.VAR {
						if !below(rel, "backend/cuda", "codegen", "kernels") {
							t.Errorf("%s: %s is a variable; make it a constant of type ir.Error", rel, id.Name)
						}
						continue
					}
					text, ok := v.Values[i].(*ast.BasicLit)
					if !ok {
						continue // another name of one
					}
					s, err := strconv.Unquote(text.Value)
					if err != nil {
						t.Errorf("%s: %s: %v", rel, id.Name, err)
					}
					if other := by[s]; other != "" {
						t.Errorf("%s: %s has the text of %s, %q, and so is the same error", rel, id.Name, other, s)
					}
					by[s], found = rel+": "+id.Name, found+1
				}
			}
		}
	})
	if found == 0 {
		t.Error("no errors found")
	}
}

// below reports whether a file lies in or below one of the directories.
func below(name string, dirs ...string) bool {
	for _, d := range dirs {
		if strings.HasPrefix(name, d+"/") {
			return true
		}
	}
	return false
}
