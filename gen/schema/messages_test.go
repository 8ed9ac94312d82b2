package schema

import (
	"strings"
	"testing"
)

// small returns a schema of one operator with the given lines after its doc.
func small(body string) string {
	return "schema: 1\npackage: p\ngroups:\n- group: g\n  doc: G.\n  ops:\n" +
		"  - op: f(x Tensor, y Tensor) -> Tensor\n    doc: returns something.\n    dtypes: float\n" +
		"    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n" +
		"  - op: maximum(x Tensor) -> Tensor\n    doc: returns x.\n    compose: x\n" +
		"  - op: g(x Tensor, y Tensor) -> Tensor\n    doc: returns x.\n    compose: |\n      if rank(y) == 0 {\n        return x\n      }\n      return y\n"
}

const tested = "\ntest: {domain: [-1, 1], cases: [[1, 1, 1], [1, 1, 1]]}"

// TestHelp holds that a mistake which newcomers make says what to write.
func TestHelp(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"expr: x**2 + y" + tested, "write pow(x, y), or x*x"},
		{"compose: x**2", "write pow(x, y), or x*x"},
		{"expr: snh(x) + y" + tested, `unknown function "snh"; did you mean "sinh"?`},
		{"expr: x + pi*y" + tested, `did you mean "Pi"?`},
		{"compose: maximun(x)", `did you mean "maximum"?`},
		{"exprr: x + y" + tested, `did you mean "expr"?`},
		{"expr: x + y\ntest: {domain: max(a, b)}", "quote the text that has it"},
		{"expr: x*(y > 0)" + tested, "cast(...) makes 1 or 0 of a bool"},
		{"expr: x + y\ntest: {gradient: no, domain: [-1, 1], cases: [[1, 1, 1], [1, 1, 1]]}", "gradient: want none"},
	} {
		_, err := Parse("f.yaml", []byte(small(c.body)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %q", c.body, err, c.want)
		}
	}
}

// TestConstants holds that compositions know the constants of expressions.
func TestConstants(t *testing.T) {
	body := "compose: |\n  if rank(x) == 0 && float(rank(y)) < -Inf {\n    return y\n  }\n  return g(x, Pi)"
	if _, err := Parse("f.yaml", []byte(small(body)), nil); err != nil {
		t.Error(err)
	}
}

// TestGradientOnPurpose holds that an entry can say that its gradient is no derivative.
func TestGradientOnPurpose(t *testing.T) {
	spec, err := Parse("f.yaml", []byte(small("expr: round(x) + y\ngrad: {x: dy, y: dy}\n"+
		"test: {gradient: none, domain: [-1, 1], cases: [[1, 1, 2], [1, 2, 3]]}")), nil)
	if err != nil || !spec.Lookup("f").Test.NoGradient {
		t.Errorf("error %v", err)
	}
}

// TestShortMessages holds that no message prints a file's worth of text.
func TestShortMessages(t *testing.T) {
	for _, body := range []string{"expr: " + strings.Repeat("x", 2_000_000), "expr: x + y\nkey" + strings.Repeat("x", 500_000) + ": 1"} {
		_, err := Parse("f.yaml", []byte(small(body)), nil)
		if err == nil || len(err.Error()) > 20_000 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
}
