package ops

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestTagSet: what is printed for each bit, alone and beside others, has that bit, also one without a name.
func TestTagSet(t *testing.T) {
	if got := tagSet(0); got != nil {
		t.Errorf("no tags: got %#v", got)
	}
	for i := range 32 {
		for _, tags := range []ir.Tag{1 << i, 1<<i | ir.TagPointwise, 1<<i | 1<<31, 1<<32 - 1} {
			text := fmt.Sprintf("%#v", tagSet(tags))
			e, err := parser.ParseExpr(text)
			if err != nil {
				t.Fatalf("%#x: %v in %s", uint32(tags), err, text)
			}
			if got := value(t, e); got != tags {
				t.Errorf("%#x is printed as %s, which is %#x", uint32(tags), text, uint32(got))
			}
		}
	}
}

// value evaluates constants of package ir and numbers, joined by |.
func value(t *testing.T, e ast.Expr) ir.Tag {
	t.Helper()
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.OR {
			return value(t, e.X) | value(t, e.Y)
		}
	case *ast.BasicLit:
		n, err := strconv.ParseUint(e.Value, 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		return ir.Tag(n)
	case *ast.SelectorExpr:
		for n := range ir.TagNames() {
			if n.Go == e.Sel.Name {
				return n.Tag
			}
		}
	}
	t.Fatalf("a tag cannot be %#v", e)
	return 0
}
