package ir

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTagNames: every constant of type Tag is among the names, with its bit; words are there once.
func TestTagNames(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tag.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want, got, words []string
	ast.Inspect(file, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if ok && d.Tok == token.CONST {
			for _, s := range d.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					want = append(want, name.Name)
				}
			}
		}
		return true
	})
	for n := range TagNames() {
		if bit := Tag(1) << len(got); n.Tag != bit {
			t.Errorf("%s is %#x, want %#x", n.Go, n.Tag, bit)
		}
		if got = append(got, n.Go); n.Word != "" {
			words = append(words, n.Word)
		}
		if n.Word != strings.ToLower(n.Word) {
			t.Errorf("the word of %s is %q, want small letters", n.Go, n.Word)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names of the tags (-constants +names):\n%s", diff)
	}
	slices.Sort(words)
	if once := slices.Compact(slices.Clone(words)); len(once) != len(words) {
		t.Errorf("words stand twice: %v", words)
	}
}
