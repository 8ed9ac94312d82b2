// Package extend_test adds operators: to a copy of the repository, and in a module of
// its own. Both compile a good part of everything again.
package extend_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "github.com/sinter-go/sinter"
	root   = "../.."
)

// newOperator is what a person writes to add operators: nothing else. The gradient of
// the first is derived from its expression, and those of the second, which has two
// results, and of the third, which folds two operands by two states to two results. The
// last writes over lists of tensors.
const newOperator = `
- group: added
  doc: An operator that nobody had.
  ops:

  - op: softplus_sharp(x Tensor, *, sharpness float = 1) -> Tensor
    doc: returns log(1 + exp(sharpness*x))/sharpness, without overflow on the way.
    dtypes: float
    require: [sharpness > 0]
    expr: max(x, 0) + log1p(exp(-abs(sharpness*x)))/sharpness
    test:
      domain: [-6, 6]
      ulp: 8
      avoid: [0]
      cases: [[0, 0.6931471805599453], {args: {sharpness: 2}, case: [1, 1.0634640055214861]}, [800, 800], [-800, 0]]

  - op: polar_point(r Tensor, phi Tensor) -> (px Tensor, py Tensor)
    doc: returns the point at distance r in direction phi.
    dtypes: float
    expr: {px: r*cos(phi), py: r*sin(phi)}
    test: {domain: [0.25, 1.25], ulp: 8, cases: [[2, 0, 2, 0], [1, 0.5235987755982988, 0.8660254037844387, 0.49999999999999994]]}

  - op: weighed(x Tensor, w Tensor, *, dim []int = nil, keepdim bool = false) -> (total Tensor, weight Tensor)
    doc: returns the sums of w*x and of w over dim.
    dtypes: float
    reduce:
      init: {total: 0, weight: 0}
      map: {total: w*x, weight: w}
      combine: {total: a.total + b.total, weight: a.weight + b.weight}
      finish: {total: a.total, weight: a.weight}
    test: {domain: [-2, 2], ulp: 8, samples: [{shapes: [[3, 4], [3, 4]]}, {shapes: [[2, 3, 4], [4]], args: {dim: [1], keepdim: true}}, {shapes: [[40, 300], [300]], args: {dim: [1]}}]}

  - op: running_moments(means Tensor..., spreads Tensor..., xs Tensor..., share float)
    doc: moves means towards xs, and spreads towards the squares of their distances.
    dtypes: float
    expr:
      let: {d: xs - means}
      means: means + share*d
      spreads: spreads + share*(d*d - spreads)
    grad: none
    tags: [hidden]
`

// usesOperator is a program of somebody who has read the documentation of the
// new operator. It compares with what the definition gives, and its derivative,
// the logistic function.
const usesOperator = `package main

import (
	"fmt"
	"math"
	"os"

	"FUNCTIONS"
	"OPERATORS"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

func main() {
	x := tensor.From([]float64{-3, -0.5, 0.25, 7}).RequireGrad()
	y := PACKAGE.SoftplusSharp(x, PACKAGE.Sharpness(2))
	if err := y.Sum().Backward(); err != nil {
		fail(err)
	}
	g, _ := x.Grad()
	for i, v := range data(x) {
		want, slope := math.Log1p(math.Exp(2*v))/2, 1/(1+math.Exp(-2*v))
		if math.Abs(data(y)[i]-want) > 1e-12 || math.Abs(data(g)[i]-slope) > 1e-12 {
			fail(fmt.Errorf("at %v: %v and %v, want %v and %v", v, data(y)[i], data(g)[i], want, slope))
		}
	}
	if err := PACKAGE.SoftplusSharp(tensor.From([]int64{1})).Err(); err == nil {
		fail(fmt.Errorf("an int64 operand was accepted"))
	} else {
		fmt.Println(err)
	}
	severalResults()
	compiled()
	trainStep()
	moments(device.CPU)
	device.Install(sim.New(sim.Config{Devices: 1}))
	moments(device.Sim(0))
}

// severalResults uses the operators with two results: one gradient comes from both, and
// one that nothing reaches counts as zeros.
func severalResults() {
	r, phi := tensor.From([]float64{1, 2, 3}).RequireGrad(), tensor.From([]float64{0.5, 1, 1.5}).RequireGrad()
	x, y := PACKAGE.PolarPoint(r, phi)
	total, weight := PACKAGE.Weighed(x, y) // the sums of x*y and of y
	if err := total.Add(weight).Backward(); err != nil {
		fail(err)
	}
	dr, _ := r.Grad()
	dphi, _ := phi.Grad()
	for i := range 3 {
		sin, cos := math.Sincos(data(phi)[i])
		length := data(r)[i]
		if math.Abs(data(dr)[i]-(2*length*sin*cos+sin)) > 1e-12 || math.Abs(data(dphi)[i]-(length*length*(cos*cos-sin*sin)+length*cos)) > 1e-12 {
			fail(fmt.Errorf("gradients %v and %v", data(dr), data(dphi)))
		}
	}
	z := tensor.From([]float64{1, 2}).RequireGrad()
	_, y = PACKAGE.PolarPoint(z, tensor.From([]float64{0.5, 1}))
	if err := y.Sum().Backward(); err != nil {
		fail(err)
	}
	dz, _ := z.Grad()
	if math.Abs(data(dz)[0]-math.Sin(0.5)) > 1e-12 {
		fail(fmt.Errorf("gradient %v, want the sine of 0.5", data(dz)))
	}
}

// compiled has the operators fuse with standard ones, those of rows among them, and gives
// what they give one by one.
func compiled() {
	for _, f := range []func(x ...tensor.Tensor) (tensor.Tensor, error){
		func(x ...tensor.Tensor) (tensor.Tensor, error) {
			px, py := PACKAGE.PolarPoint(PACKAGE.SoftplusSharp(x[0].AddScalar(1), PACKAGE.Sharpness(2)), x[1])
			y := px.Mul(py).Sub(x[1])
			return y, y.Err()
		},
		func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := PACKAGE.SoftplusSharp(x[0].Mul(x[1]), PACKAGE.Sharpness(3))
			y = PACKAGE.SoftplusSharp(y.Div(y.Sum(tensor.Dim(-1), tensor.KeepDim())))
			return y, y.Err()
		},
	} {
		fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
		x := []tensor.Tensor{tensor.Rand([]int{40, 64}, tensor.OfType(tensor.Float64)), tensor.Rand([]int{40, 64}, tensor.OfType(tensor.Float64))}
		a, err := fused.Call(x...)
		if err != nil {
			fail(err)
		}
		b, err := apart.Call(x...)
		if err != nil {
			fail(err)
		}
		for i, v := range data(b) {
			if data(a)[i] != v {
				fail(fmt.Errorf("fused %v, one by one %v", data(a)[i], v))
			}
		}
		if s := fused.Stats(); s.Steps != 1 || apart.Stats().Steps != 5 {
			fail(fmt.Errorf("%d steps fused, %d one by one\n%s", s.Steps, apart.Stats().Steps, fused.Explain()))
		}
	}
}

// moments changes two lists of tensors by a third on a device.
func moments(d device.Device) {
	list := func(v ...float64) []*core.Tensor {
		return []*core.Tensor{tensor.From(v).To(d).Handle(), tensor.From(v[:1]).To(d).Handle()}
	}
	means, spreads := list(1, 2, 3), list(0, 4, 8)
	if err := ops.RunningMoments(means, spreads, list(3, 2, 7), 0.5); err != nil {
		fail(err)
	}
	got := fmt.Sprint(data(tensor.Wrap(means[0])), data(tensor.Wrap(means[1])), data(tensor.Wrap(spreads[0])), data(tensor.Wrap(spreads[1])))
	if want := "[2 2 5] [2] [2 2 12] [2]"; got != want {
		fail(fmt.Errorf("moments on %v: %s, want %s", d, got, want))
	}
}

// trainStep lowers a loss of the operator by one step of gradient descent.
func trainStep() {
	w := tensor.Full([]int{3}, 2.0).RequireGrad()
	loss := func() tensor.Tensor { return PACKAGE.SoftplusSharp(w.SubScalar(1)).Mean() }
	before := loss()
	if err := before.Backward(); err != nil {
		fail(err)
	}
	g, _ := w.Grad()
	if err := tensor.NoGrad(func() error { return w.AddScaledInPlace(g, -0.5) }); err != nil {
		fail(err)
	}
	a, err := before.Item()
	if err != nil {
		fail(err)
	}
	b, err := loss().Item()
	if err != nil || b >= a {
		fail(fmt.Errorf("the loss went from %v to %v, %v", a, b, err))
	}
}

func data(x tensor.Tensor) []float64 {
	d, err := tensor.Data[float64](x)
	if err != nil {
		fail(err)
	}
	return d
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
`

// TestAddOperator adds an operator to a copy of the repository by editing
// ops.yaml and nothing else, and uses it. What has changed in the copy is compiled in
// place of the repository's own, so that the rest is not compiled again.
func TestAddOperator(t *testing.T) {
	tree := copyTree(t)
	before := hashes(t, tree)
	edit(t, filepath.Join(tree, "ops.yaml"), newOperator)
	goRun(t, tree, "-trimpath", "generate", "./...")

	var byHand []string
	instead := overlay{Replace: map[string]string{}}
	for name, sum := range hashes(t, tree) {
		if sum == before[name] {
			continue
		}
		instead.put(t, name, filepath.Join(tree, name))
		text, err := os.ReadFile(filepath.Join(tree, name))
		must(t, err)
		if !bytes.Contains(text[:min(len(text), 300)], []byte("Code generated by "+module+"/gen from ops.yaml. DO NOT EDIT.")) {
			byHand = append(byHand, name)
		}
	}
	if diff := cmp.Diff([]string{"ops.yaml"}, byHand); diff != "" {
		t.Errorf("files that differ and were not generated (-want +got):\n%s", diff)
	}

	must(t, os.WriteFile(filepath.Join(tree, "tryit.go"), program("tensor", module+"/generated/tensor", module+"/generated/ops"), 0o666))
	instead.put(t, "cmd/tryit/main.go", filepath.Join(tree, "tryit.go"))
	file := filepath.Join(t.TempDir(), "overlay.json")
	list, err := json.Marshal(instead)
	must(t, err)
	must(t, os.WriteFile(file, list, 0o666))
	flag := "-overlay=" + file
	goRun(t, root, flag, "build", "./generated/...", "./nn")
	out := goRun(t, root, flag, "test", "-v", "./generated/opcases", "-run", "TestOperators/(softplus_sharp|polar_point|weighed)$")
	for _, name := range []string{"softplus_sharp", "polar_point", "weighed"} {
		if !strings.Contains(out, "--- PASS: TestOperators/"+name) {
			t.Errorf("the tests of %s did not run:\n%s", name, out)
		}
	}
	wantRun(t, goRun(t, root, flag, "run", "./cmd/tryit"))

	docs, err := os.ReadFile(filepath.Join(tree, "docs", "operators.md"))
	must(t, err)
	if !bytes.Contains(docs, []byte("SoftplusSharp")) {
		t.Error("the operator reference does not mention the new operator")
	}
}

// An overlay is what -overlay of the go command reads: which files stand in for which.
type overlay struct{ Replace map[string]string }

// put has a file stand in for the repository's of that name.
func (o overlay) put(t *testing.T, name, file string) {
	t.Helper()
	at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(name)))
	must(t, err)
	o.Replace[at] = file
}

// TestOperatorsOfAnotherModule builds a module with a schema of its own on this
// one, which stays as it is.
func TestOperatorsOfAnotherModule(t *testing.T) {
	compiles(t)
	before := hashes(t, root)
	tree, err := filepath.Abs(root)
	must(t, err)
	mod := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(tree, "go.sum"))
	must(t, err)
	files := map[string]string{
		"go.mod": "module example.com/special\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + tree +
			"\n\ntool " + module + "/gen\n",
		"go.sum":   string(sums),
		"doc.go":   "// Package special has operators of its own.\npackage special\n\n//go:generate go tool gen -schema ops.yaml -out .\n",
		"ops.yaml": "schema: 1\npackage: special\ngroups:\n" + newOperator + secondOperator,
	}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(mod, name), []byte(text), 0o666))
	}
	// There is no network here: -e goes on without what tests of dependencies import.
	goRun(t, mod, "-mod=mod", "mod", "tidy", "-e")
	goRun(t, mod, "-mod=mod", "generate", "./...")
	goRun(t, mod, "-mod=mod", "mod", "tidy", "-e")
	goRun(t, mod, "-mod=mod", "vet", "./...")
	out := goRun(t, mod, "-mod=mod", "test", "-v", "./opcases")
	for _, op := range []string{"softplus_sharp", "polar_point", "weighed", "tempered_softmax", "first_above", "last_and_count", "weighted_squares", "cumulative_larger", "snake", "scaled_gap"} {
		if !strings.Contains(out, "--- PASS: TestOperators/"+op) {
			t.Errorf("the tests of %s did not run:\n%s", op, out)
		}
	}
	at := filepath.Join(mod, "cmd", "tryit")
	must(t, os.MkdirAll(at, 0o777))
	must(t, os.WriteFile(filepath.Join(at, "main.go"), program("special", "example.com/special/special", "example.com/special/ops"), 0o666))
	wantRun(t, goRun(t, mod, "-mod=mod", "run", "./cmd/tryit"))
	must(t, os.WriteFile(filepath.Join(at, "main.go"), []byte(usesOptions), 0o666))
	goRun(t, mod, "-mod=mod", "run", "./cmd/tryit")
	withoutAssembly(t, mod)
	if diff := cmp.Diff(before, hashes(t, root)); diff != "" {
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
	must(t, err)
	must(t, os.WriteFile(doc, bytes.Replace(text, []byte("-out ."), []byte("-out . -assembly=false"), 1), 0o666))
	edit(t, filepath.Join(mod, "ops.yaml"), plainOperator)
	goRun(t, mod, "-mod=mod", "generate", ".") // of this package alone: files of others go away
	for name := range hashes(t, mod) {
		if strings.HasSuffix(name, ".s") {
			t.Errorf("there is assembly: %s", name)
		}
	}
	must(t, os.WriteFile(filepath.Join(mod, "cmd", "tryit", "main.go"), []byte(sumsOperator), 0o666))
	goRun(t, mod, "-mod=mod", "mod", "tidy", "-e")
	var sums []string
	for _, jit := range []string{"1", "0"} {
		t.Setenv("SINTER_JIT", jit)
		if out := goRun(t, mod, "-mod=mod", "test", "-v", "./opcases"); !strings.Contains(out, "--- PASS: TestOperators/softplus_sharp") {
			t.Errorf("SINTER_JIT=%s: the operator's tests did not run:\n%s", jit, out)
		}
		sum, took, _ := strings.Cut(goRun(t, mod, "-mod=mod", "run", "./cmd/tryit"), "\n")
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

// program returns the program that uses the new operators: the first of the package of
// that name, the other, which has no public function, of the package at functions.
func program(name, path, functions string) []byte {
	text := strings.NewReplacer("OPERATORS", path, "PACKAGE", name, "FUNCTIONS", functions).Replace(usesOperator)
	if path == module+"/generated/tensor" { // imported once
		text = strings.Replace(text, "\t\""+path+"\"\n", "", 1)
	}
	return []byte(text)
}

// wantRun checks what the program prints: an error of a wrong call.
func wantRun(t *testing.T, out string) {
	t.Helper()
	if !strings.Contains(out, "main.go:") || !strings.Contains(out, "softplus_sharp: ") || !strings.Contains(out, "int64") {
		t.Errorf("the error of a wrong call names neither its line, nor operator and dtype: %s", out)
	}
}

// goRun runs the go command in dir with one more flag than GOFLAGS has, so that what
// is compiled already serves, without network, and returns what it prints.
func goRun(t *testing.T, dir, flag string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -buildvcs=false " + flag)
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func edit(t *testing.T, name, more string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(more)
	must(t, err)
	must(t, f.Close())
}

// compiles skips a test in short mode that compiles a good part of the module again.
func compiles(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles the module again")
	}
}

// copyTree copies the repository, without its history, for one test.
func copyTree(t *testing.T) string {
	t.Helper()
	compiles(t)
	dir := t.TempDir()
	must(t, walkTree(root, func(name string, text []byte) error {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	}))
	return dir
}

// hashes returns the hash of every file below dir.
func hashes(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	must(t, walkTree(dir, func(name string, text []byte) error {
		sums[name] = sha256.Sum256(text)
		return nil
	}))
	if len(sums) == 0 {
		t.Fatalf("no file in %s", dir)
	}
	return sums
}

// walkTree calls f with every file below dir that is not hidden.
func walkTree(dir string, f func(name string, text []byte) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != dir {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return f(name, text)
	})
}

// must fails the test when err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
