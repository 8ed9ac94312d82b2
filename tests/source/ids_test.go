package source_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// statementID finds the ids of statements about devices, streams, memory and graphs.
var statementID = regexp.MustCompile(`\b[SPMA][0-9]{1,3}\b`)

// TestStatementIDs: comments say a reason, not the number of a statement, which only tests
// are looked up by.
func TestStatementIDs(t *testing.T) {
	trees(t, func(name string, file *ast.File) {
		if strings.HasPrefix(name, "tests/") {
			return
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if id := statementID.FindString(c.Text); id != "" && !names(file, id) {
					t.Errorf("%s: %s in %q", name, id, c.Text)
				}
			}
		}
	})
}

// names reports whether a file has an identifier of that name, which a comment may be about.
func names(file *ast.File, name string) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
