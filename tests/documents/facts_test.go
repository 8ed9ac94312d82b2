package documents_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shaped finds what says of which shape a result is: a fact that the generator states, a
// shape in brackets, or words about axes.
var shaped = regexp.MustCompile(`(?i)\bshapes?\b|\bbroadcast|\[[a-z0-9/ ]+(,|\.\.\.|\])|\b(axis|axes|dims?|scalar|vector|matrix|matrices|extents?|halves|row-major)\b`)

// TestFacts: the documentation of every operator, which docs/operators.md lists, states the
// dtypes that it takes, its gradient and the shape of its result. What every operator
// makes of mistakes the package says once.
func TestFacts(t *testing.T) {
	says := map[string]string{}
	names, err := filepath.Glob(filepath.Join(root, "generated", "tensor", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				says[f.Name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
	}
	operators := regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z0-9]*)` \\|").FindAllStringSubmatch(read(t, "docs/operators.md"), -1)
	if len(operators) < 250 {
		t.Fatalf("docs/operators.md lists %d operators", len(operators))
	}
	for _, m := range operators {
		text, ok := says[m[1]]
		if !ok {
			t.Errorf("package tensor has no function %s", m[1])
			continue
		}
		for _, fact := range []string{"Dtypes: ", "Gradient: "} {
			if !strings.Contains(text, fact) {
				t.Errorf("%s does not state %q", m[1], fact)
			}
		}
		prose, _, _ := strings.Cut(text, "Options: ")
		if !shaped.MatchString(prose) {
			t.Errorf("%s says nothing of its result's shape: %s", m[1], prose)
		}
	}
	if text := documentation(t, "generated/tensor"); !strings.Contains(text, "# Errors") {
		t.Error("package tensor does not say what becomes of mistakes")
	}
}
