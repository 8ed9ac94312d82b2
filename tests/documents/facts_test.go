package documents_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/said"
)

// facts are what the documentation of an operator states.
var facts = []string{"Dtypes: ", "Shape: ", "Gradient: ", "Errors: "}

// another finds which function a form is said to be: "AddInPlace is Add with ...".
var another = regexp.MustCompile(`^\w+ is (?:tensor\.)?([A-Z]\w*) (?:with|where) `)

// TestFacts: every exported function and method of an operator states the dtypes that it
// takes, the shape of its result, its gradient and what it refuses, or begins with the one
// that does. What every operator makes of mistakes the package says once.
func TestFacts(t *testing.T) {
	says, err := said.Operators(root, "generated/tensor")
	if err != nil {
		t.Fatal(err)
	}
	out, err := said.Operators(root, "generated/tensor/out")
	if err != nil {
		t.Fatal(err)
	}
	complete := func(text string) bool {
		return !slices.ContainsFunc(facts, func(fact string) bool { return !strings.Contains(text, fact) })
	}
	functions := map[string]bool{} // that state all
	for name, text := range says {
		functions[name] = complete(text)
	}
	for name, text := range out {
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
