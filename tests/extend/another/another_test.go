// Package another_test has modules with operators of their own.
package another_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/tests/extend"
)

var keep = flag.String("keep", "", "a directory that is left the module's CUDA sources, for a compiler")

// TestOperatorsOfAnotherModule builds a module with a schema of its own on this
// one, which stays as it is.
func TestOperatorsOfAnotherModule(t *testing.T) {
	extend.Compiles(t)
	before := extend.Hashes(t, extend.Root)
	tree, err := filepath.Abs(extend.Root)
	extend.Must(t, err)
	mod := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(tree, "go.sum"))
	extend.Must(t, err)
	files := map[string]string{
		"go.mod": "module example.com/special\n\ngo 1.26.0\n\nrequire " + extend.Module + " v0.0.0\n\nreplace " + extend.Module + " => " + tree +
			"\n\ntool " + extend.Module + "/gen\n",
		"go.sum":   string(sums),
		"doc.go":   "// Package special has operators of its own.\npackage special\n\n//go:generate go tool gen -schema ops.yaml -out .\n",
		"ops.yaml": "schema: 1\npackage: special\ngroups:\n" + extend.NewOperator + secondOperator + namedOperators,
	}
	for name, text := range files {
		extend.Must(t, os.WriteFile(filepath.Join(mod, name), []byte(text), 0o666))
	}
	// There is no network here: -e goes on without what tests of dependencies import.
	extend.Run(t, mod, "-mod=mod", "mod", "tidy", "-e")
	extend.Run(t, mod, "-mod=mod", "generate", "./...")
	if *keep != "" {
		extend.Must(t, os.CopyFS(*keep, os.DirFS(filepath.Join(mod, "kernels"))))
	}
	extend.Run(t, mod, "-mod=mod", "mod", "tidy", "-e")
	extend.Run(t, mod, "-mod=mod", "vet", "./...")
	out := extend.Run(t, mod, "-mod=mod", "test", "-v", "./opcases")
	for _, op := range []string{"softplus_sharp", "polar_point", "weighed", "tempered_softmax", "first_above", "last_and_count", "weighted_squares", "cumulative_larger", "snake", "scaled_gap",
		"named_sum", "named_found", "named_largest", "named_moments", "named_parts"} {
		if !strings.Contains(out, "--- PASS: TestOperators/"+op) {
			t.Errorf("the tests of %s did not run:\n%s", op, out)
		}
	}
	at := filepath.Join(mod, "cmd", "tryit")
	extend.Must(t, os.MkdirAll(at, 0o777))
	extend.Must(t, os.WriteFile(filepath.Join(at, "main.go"), extend.Program("special", "example.com/special/special", "example.com/special/ops"), 0o666))
	extend.WantRun(t, extend.Run(t, mod, "-mod=mod", "run", "./cmd/tryit"))
	extend.Must(t, os.WriteFile(filepath.Join(at, "main.go"), []byte(usesOptions), 0o666))
	extend.Run(t, mod, "-mod=mod", "run", "./cmd/tryit")
	withoutAssembly(t, mod)
	if diff := cmp.Diff(before, extend.Hashes(t, extend.Root)); diff != "" {
		t.Errorf("the standard module was changed (-before +after):\n%s", diff)
	}
}

// withoutAssembly generates the module again without assembly: the tests of its operators
// pass with vector code made at run time and with portable loops, and both give the same
// where nothing but arithmetic is done.
func withoutAssembly(t *testing.T, mod string) {
	t.Helper()
	doc := filepath.Join(mod, "doc.go")
	text, err := os.ReadFile(doc)
	extend.Must(t, err)
	extend.Must(t, os.WriteFile(doc, bytes.Replace(text, []byte("-out ."), []byte("-out . -assembly=false"), 1), 0o666))
	extend.Append(t, filepath.Join(mod, "ops.yaml"), plainOperator)
	extend.Run(t, mod, "-mod=mod", "generate", ".") // of this package alone: files of others go away
	for name := range extend.Hashes(t, mod) {
		if strings.HasSuffix(name, ".s") {
			t.Errorf("there is assembly: %s", name)
		}
	}
	extend.Must(t, os.WriteFile(filepath.Join(mod, "cmd", "tryit", "main.go"), []byte(sumsOperator), 0o666))
	extend.Run(t, mod, "-mod=mod", "mod", "tidy", "-e")
	var sums []string
	for _, jit := range []string{"1", "0"} {
		t.Setenv("SINTER_JIT", jit)
		if out := extend.Run(t, mod, "-mod=mod", "test", "-v", "./opcases"); !strings.Contains(out, "--- PASS: TestOperators/softplus_sharp") {
			t.Errorf("SINTER_JIT=%s: the operator's tests did not run:\n%s", jit, out)
		}
		sum, took, _ := strings.Cut(extend.Run(t, mod, "-mod=mod", "run", "./cmd/tryit"), "\n")
		t.Logf("SINTER_JIT=%s: %s", jit, strings.TrimSpace(took))
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] || len(sums[0]) != 64 {
		t.Errorf("made and portable loops give results with the hashes %q", sums)
	}
}

// plainOperator is arithmetic alone, long and short.
const plainOperator = `
  - op: rational(x Tensor, y Tensor, *, c float = 0.5) -> Tensor
    doc: returns (x*c + 1)*x + y/(x*x + 1).
    dtypes: float
    expr: (x*c + 1)*x + y/(x*x + 1)
    test: {domain: [0.25, 4], ulp: 8, cases: [[0, 1, 1], [1, 1, 2]]}

  - op: scaled_less(x Tensor, y Tensor, *, c float = 0.5) -> Tensor
    doc: returns x*c - y.
    dtypes: float
    expr: x*c - y
    test: {domain: [0.25, 4], ulp: 4, cases: [[2, 1, 0], [3, 1, 0.5]]}
`

// sumsOperator prints the hash of plainOperator's results, then how long they take.
const sumsOperator = `package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"
	"unsafe"

	"example.com/special/special"
	"github.com/sinter-go/sinter/generated/tensor"
)

func main() {
	x := tensor.Arange(0, 1<<20, 1, tensor.OfType(tensor.Float32)).MulScalar(0.001).SubScalar(500)
	y := x.MulScalar(-0.3).AddScalar(2)
	special.Rational(x, y)
	start := time.Now()
	for range 20 {
		special.Rational(x, y)
	}
	took := time.Since(start) / 20
	d, err := tensor.Data[float32](special.Rational(x, y, special.C(0.7)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, more := range []tensor.Tensor{
		special.WeightedSquares(x), special.WeightedSquares(x.Reshape(1<<10, 1<<10), tensor.Dim(0)), special.FirstAbove(y), special.CumulativeLarger(y, 0),
		special.ScaledLess(x.ToType(tensor.Float16), y.ToType(tensor.Float16)).ToType(tensor.Float32),
	} {
		list, err := tensor.Data[float32](more)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		d = append(d, list...)
	}
	fmt.Printf("%x\n", sha256.Sum256(unsafe.Slice((*byte)(unsafe.Pointer(&d[0])), 4*len(d))))
	fmt.Println(took, "for 1 Mi elements")
}
`

// namedOperators have operands, arguments and states called like locals of what is emitted, like the
// package that loops call, and like words of C++.
var namedOperators = strings.NewReplacer("OPTIONS", strings.Join(locals, " float = 1, ")+" float = 1", "PRODUCT", strings.Join(locals, "*")).Replace(`
  - op: named_sum(y Tensor, *, OPTIONS, dim []int = nil, keepdim bool = false) -> Tensor
    doc: returns the sum of y along dim, times numbers.
    dtypes: float
    reduce: {init: 0, map: y*PRODUCT, combine: a + b}
    grad: none
    test: {samples: [{shapes: [[300]]}, {shapes: [[40, 7, 3]], args: {dim: [0], fold: 2}}]}

  - op: named_found(y Tensor, *, OPTIONS, dim []int = nil, keepdim bool = false) -> Tensor
    doc: returns the first element of y along dim that is not 0, times numbers.
    dtypes: float
    reduce: {init: 0, map: y*PRODUCT, combine: "where(a == 0, b, a)", finish: a*PRODUCT, order: kept}
    grad: none
    test: {samples: [{shapes: [[300]]}, {shapes: [[40, 7, 3]], args: {dim: [0], x: 2}}]}

  - op: named_largest(y Tensor, dim int, *, OPTIONS) -> Tensor
    doc: returns the largest element of y up to each along dim, times numbers.
    dtypes: float
    scan: {init: -Inf, map: y*PRODUCT, combine: "max(a, b)", finish: a*PRODUCT}
    grad: none
    test: {samples: [{shapes: [[300]], args: {dim: 0}}, {shapes: [[40, 7, 3]], args: {dim: 0, total: 2}}]}

  - op: named_moments(n Tensor, union Tensor, *, dim []int = nil, keepdim bool = false) -> (total Tensor, weight Tensor)
    doc: returns two sums and a largest element of n and union along dim.
    dtypes: float
    reduce:
      first: {double: n, p: union}
      init: {n: 0, class: 0, p: -Inf}
      map: {n: n*union*first.double + first.p, class: n, p: union}
      combine: {n: a.n + b.n, class: a.class + b.class, p: "max(a.p, b.p)"}
      finish: {total: a.n + a.p + first.double, weight: a.class}
    grad: none
    test: {domain: [0, 1], ulp: 64, samples: [{shapes: [[30], [30]]}, {shapes: [[4, 3], [3]], args: {dim: [0]}}]}

  - op: named_parts(t_0 Tensor, first Tensor, *, op Scalar = 2) -> Tensor
    doc: returns exp(t_0)*first + exp(t_0)*op.
    dtypes: float
    expr: exp(t_0)*first + exp(t_0)*op
    test: {domain: [0.25, 1], ulp: 8, cases: [[0, 2, 4], [0, 3, 5]]}
`)

// locals are names of arguments.
var locals = strings.Fields(`
	n p s i q v acc x xs sum total identity results other lanes m full j part before whole fold x0 x3 a0 a7 r t t0`)

// secondOperator is made of standard operators and the first one; then come folds, of
// which two show the order of elements.
const secondOperator = `
  - op: tempered_softmax(x Tensor, dim int, *, sharpness float = 1) -> Tensor
    doc: returns the softmax of softplus_sharp of x along dim.
    dtypes: float
    compose: softmax(softplus_sharp(x, sharpness), dim)
    test: {samples: [{shapes: [[3, 4]], args: {dim: 1, sharpness: 0.5}}]}

  - op: first_above(x Tensor, *, least float = 0.5, dim []int = nil, keepdim bool = false) -> Tensor
    doc: returns the first element along dim that is above least, or 0.
    dtypes: float
    reduce: {init: 0, map: "where(x > least, x, 0)", combine: "where(a == 0, b, a)", order: kept}
    grad: none
    test: {samples: [{shapes: [[300]]}, {shapes: [[40, 7, 3]], args: {dim: [0]}}, {shapes: [[3, 2000]], args: {dim: [1], least: 0.75}}]}

  - op: last_and_count(x Tensor, *, dim []int = nil, keepdim bool = false) -> (last Tensor, count_of Tensor)
    doc: returns the last positive element along dim, or 0, and how many there are.
    dtypes: float
    reduce:
      init: {last: 0, n: 0}
      map: {last: "max(x, 0)", n: "where(x > 0, 1, 0)"}
      combine: {last: "where(b.n == 0, a.last, b.last)", n: a.n + b.n}
      finish: {last: a.last, count_of: a.n}
      order: kept
    grad: none
    test: {samples: [{shapes: [[300]]}, {shapes: [[40, 7, 3]], args: {dim: [0]}}, {shapes: [[3, 2000]], args: {dim: [1]}}]}

  - op: weighted_squares(x Tensor, *, weight float = 2, dim []int = nil, keepdim bool = false) -> Tensor
    doc: returns weight times the sum of the squares of the elements of x along dim.
    dtypes: float
    reduce: {init: 0, map: "weight*x*x", combine: a + b}
    grad: none
    test: {samples: [{shapes: [[300]]}, {shapes: [[40, 7, 3]], args: {dim: [0]}}, {shapes: [[3, 2000]], args: {dim: [1], weight: 0.5}}]}

  - op: cumulative_larger(x Tensor, dim int) -> Tensor
    doc: returns the largest element of x up to each along dim.
    dtypes: float
    scan: {init: -Inf, combine: "max(a, b)"}
    grad: none
    test: {samples: [{shapes: [[300]], args: {dim: 0}}, {shapes: [[40, 7, 3]], args: {dim: 0}}]}

  - op: snake(x Tensor, *, alpha Scalar = 1, side enum(left, right) = left) -> Tensor
    doc: returns x and the square of the sine of alpha*x over alpha, added or subtracted.
    dtypes: float
    require: [alpha != 0, side == left || alpha > 0]
    expr: {left: x + sin(alpha*x)*sin(alpha*x)/alpha, right: x - sin(alpha*x)*sin(alpha*x)/alpha}
    test: {domain: [-2, 2], ulp: 16, cases: [[0, 0], [1, 1.7080734182735712]]}

  - op: scaled_gap(x Tensor, y Tensor, *, scale float = 2, reduction enum(none, mean, sum) = mean) -> Tensor
    doc: returns scale times the squared distances of x and y, reduced.
    dtypes: float
    compose: scale*mse_loss(x, y, reduction)
    test: {samples: [{shapes: [[2, 3], [2, 3]]}]}
`

// usesOptions gives operators of another module the standard options, and its own where
// there are none of that name and kind.
const usesOptions = `package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/special/special"
	"github.com/sinter-go/sinter/generated/tensor"
)

func main() {
	x := tensor.From([]float64{0.25, 0.75, 1, 0.5}, 2, 2)
	for _, c := range []struct {
		got  tensor.Tensor
		want string
	}{
		{special.FirstAbove(x, tensor.Dim(1)), "[0.7500 1.0000]"},
		{special.FirstAbove(x, tensor.Dim(1), tensor.KeepDim(), special.Least(0.2)), "[[0.2500] [1.0000]]"},
		{special.WeightedSquares(x, special.Weight(4)), "(7.5"},
		{special.ScaledGap(x, x.AddScalar(1), tensor.ReductionSum), "(8"},
		{special.ScaledGap(x, x.AddScalar(1), special.Scale(3), tensor.ReductionMean), "(3"},
		{special.Snake(x, tensor.Alpha(2)).Sub(special.Snake(x, tensor.Alpha(2), special.SideRight)).Narrow(1, 0, 1).GtScalar(0).All(), "(true"},
	} {
		text := strings.ReplaceAll(c.got.String(), ",", "")
		if err := c.got.Err(); err != nil || !strings.Contains(strings.Join(strings.Fields(text), " "), c.want) {
			fail(fmt.Errorf("%v, want %s; error %v", c.got, c.want, err))
		}
	}
	for _, c := range []struct {
		got  tensor.Tensor
		want string
	}{
		{special.WeightedSquares(x, tensor.Weight(x)), "option Weight is of type *core.Tensor, a value; want a float64"},
		{special.Snake(x, tensor.Dim(1)), "snake: no option Dim here; want Alpha or Side"},
		{x.Sum(special.SideRight), "sum: no option Side here"},
	} {
		if err := c.got.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			fail(fmt.Errorf("error %v, want %s", err, c.want))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
`
