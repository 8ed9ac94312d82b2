package documents_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// facts are what the documentation of an operator states.
var facts = []string{"Dtypes: ", "Shape: ", "Gradient: ", "Errors: "}

// another finds which function a form is said to be: "AddInPlace is Add with ...".
var another = regexp.MustCompile(`^\w+ is (?:tensor\.)?([A-Z]\w*) (?:with|where) `)

// TestFacts: every exported function and method of an operator states the dtypes that it
// takes, the shape of its result, its gradient and what it refuses, or begins with the one
// that does. What every operator makes of mistakes the package says once.
func TestFacts(t *testing.T) {
	groups := operatorGroups(t)
	says := operatorDocs(t, "generated/tensor", groups)
	complete := func(text string) bool {
		return !slices.ContainsFunc(facts, func(fact string) bool { return !strings.Contains(text, fact) })
	}
	functions := map[string]bool{} // that state all
	for name, text := range says {
		functions[name] = complete(text)
	}
	for name, text := range operatorDocs(t, "generated/tensor/out", groups) {
		says["out."+name] = text
	}
	for name, text := range says {
		m := another.FindStringSubmatch(text)
		if !complete(text) && (m == nil || !functions[m[1]]) {
			t.Errorf("%s lacks one of %q, and names no function that has all: %s", name, facts, text)
		}
	}
	operators := regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z0-9]*)` \\|").FindAllStringSubmatch(read(t, "docs/operators.md"), -1)
	if len(operators) < 250 || len(says) < 2*len(operators) {
		t.Fatalf("docs/operators.md lists %d operators, and there are %d functions and methods", len(operators), len(says))
	}
	for _, m := range operators {
		if !functions[m[1]] {
			t.Errorf("package tensor has no function %s that states %q", m[1], facts)
		}
	}
	if text := documentation(t, "generated/tensor"); !strings.Contains(text, "# Errors") {
		t.Error("package tensor does not say what becomes of mistakes")
	}
}

// operatorGroups returns the names of the files that groups of operators are in.
func operatorGroups(t *testing.T) map[string]bool {
	t.Helper()
	groups := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(read(t, "docs/operators.md"), -1) {
		groups[strings.ReplaceAll(m[1], " ", "_")] = true
	}
	return groups
}

// operatorDocs returns the documentation of what a package exports in the files of groups of
// operators, methods behind the type and a point.
func operatorDocs(t *testing.T, dir string, groups map[string]bool) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".go")
		if whole := regexp.MustCompile(`_[b-z]$`).ReplaceAllString(base, ""); !groups[base] && !groups[whole] {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			key := f.Name.Name
			if f.Recv != nil {
				key = "Tensor." + key
			}
			says[key] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	return says
}
