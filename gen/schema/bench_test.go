package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const benchSchema = `schema: 1
package: tensor
groups:
- group: folds
  doc: Folds.
  ops:
  - op: neg(x Tensor) -> Tensor
    doc: returns -x.
    dtypes: float
    expr: -x
    test: {domain: [-4, 4], cases: [[1, -1], [0, 0]]}
  - op: sum(x Tensor, *, dim []int = nil, keepdim bool = false) -> Tensor
    doc: returns the sum of x.
    dtypes: float
    reduce: {init: "0", combine: a + b}
    test: {samples: [{shapes: [[2, 3]]}]}
  - op: total(x Tensor, *, dim []int = nil) -> Tensor
    doc: returns the sum of x.
    compose: sum(x, dim)
    bench: BENCH
`

// TestBench: rows follow from an operator's kind, and an entry may give others.
func TestBench(t *testing.T) {
	sizes := func(names ...string) (list []Extent) {
		for _, n := range names {
			list = append(list, Extent{1, n})
		}
		return list
	}
	axis := func(i int) map[string]Literal { return map[string]Literal{"dim": {Extents: []Extent{{Factor: i}}}} }
	square := [][]Extent{sizes("m", "m")}
	folds := func(call string) []Bench {
		return []Bench{
			{Shapes: square, Args: map[string]Literal{}, PyTorch: call},
			{Name: "rows", Shapes: square, Args: axis(1), PyTorch: call},
			{Name: "columns", Shapes: square, Args: axis(0), PyTorch: call},
		}
	}
	for text, want := range map[string][]Bench{
		"{shapes: [[m, m]], torch: a.total(dim)}": folds("a.total(dim)"),
		`{none: "nobody knows"}`:                  {{None: "nobody knows"}},
		`[{name: all, shapes: [[4*b, 3]], values: {x: index(2*n)}}, {name: ordered, shapes: [[n]], values: {x: sorted}, torch: none, only: forward}]`: {
			{Name: "all", Shapes: [][]Extent{{{4, "b"}, {Factor: 3}}}, Args: map[string]Literal{}, PyTorch: "total(x, dim=dim)",
				Values: map[string]Fill{"x": {Below: Extent{2, "n"}}}},
			{Name: "ordered", Shapes: [][]Extent{sizes("n")}, Args: map[string]Literal{}, Only: "forward", Values: map[string]Fill{"x": {Sorted: true}}},
		},
	} {
		spec, err := Parse("ops.yaml", []byte(strings.Replace(benchSchema, "BENCH", text, 1)), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for name, want := range map[string][]Bench{
			"neg": {{Shapes: [][]Extent{sizes("n")}, Args: map[string]Literal{}, PyTorch: "neg(x)"}}, "sum": folds("sum(x, dim=dim)"), "total": want,
		} {
			if diff := cmp.Diff(want, spec.Lookup(name).Bench, compareScalars); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", text, name, diff)
			}
		}
	}
}

func TestBenchMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{none: because, torch: x}`:      "it stands alone",
		`{shapes: [[q]]}`:                "one of the sizes n, m, k, b",
		`{shapes: [[2*4]]}`:              "one of the sizes",
		`{shapes: [[n], [n]]}`:           "want the shapes of operands x",
		`{args: {keepdim: true}}`:        `"keepdim" is no argument of total`,
		`{values: {y: perm}}`:            `"y" is no operand`,
		`{values: {x: random}}`:          "want index(n), perm, sorted or domain(lo, hi)",
		`{only: twice}`:                  "only is forward or gradients",
		`{dtype: float12}`:               "want a dtype that the operator computes in",
		`{without: [y]}`:                 `"y" is no operand and no result`,
		`[{name: a}, {name: a}]`:         "two rows are called",
		`{size: large}`:                  "unknown key",
		"{torch: x}\n    tags: [hidden]": "a hidden operator has no row",
	} {
		_, err := Parse("ops.yaml", []byte(strings.Replace(benchSchema, "BENCH", text, 1)), nil)
		var list Errors
		if !errors.As(err, &list) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "op total") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestBenchLacks: of what cannot be derived the row says what to give.
func TestBenchLacks(t *testing.T) {
	text := strings.Replace(benchSchema, "    bench: BENCH\n", "", 1)
	spec, err := Parse("ops.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	op := spec.Lookup("total")
	if len(op.Bench) != 1 || op.Bench[0].Lacks(op) != "shapes" {
		t.Errorf("rows %+v", op.Bench)
	}
	if op = spec.Lookup("neg"); op.Bench[0].Lacks(op) != "" {
		t.Errorf("rows %+v lack %s", op.Bench, op.Bench[0].Lacks(op))
	}
}
