// Package extend has what its tests share: the operators that they add, a program that uses
// these, and runs of the go command. Repository adds them to a copy of the repository, another
// to a module of its own. Both compile a good part of everything again, so they are packages
// apart.
package extend

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Module is the path of the repository's module, and Root its directory, seen from a test.
const (
	Module = "github.com/sinter-go/sinter"
	Root   = "../../.."
)

// NewOperator is what a person writes to add operators: nothing else. Some have names that mean something in
// what is emitted: r, x, t0 and double. The gradient of
// the first is derived from its expression, and those of the second, which has two
// results, and of the third, which folds two operands by two states to two results. The
// last writes over lists of tensors.
const NewOperator = `
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

  - op: weighed(x Tensor, double Tensor, *, dim []int = nil, keepdim bool = false) -> (total Tensor, weight Tensor)
    doc: returns the sums of double*x and of double over dim.
    dtypes: float
    reduce:
      init: {total: 0, weight: 0}
      map: {total: double*x, weight: double}
      combine: {total: a.total + b.total, weight: a.weight + b.weight}
      finish: {total: a.total, weight: a.weight}
    test: {domain: [-2, 2], ulp: 8, samples: [{shapes: [[3, 4], [3, 4]]}, {shapes: [[2, 3, 4], [4]], args: {dim: [1], keepdim: true}}, {shapes: [[40, 300], [300]], args: {dim: [1]}}]}

  - op: running_moments(means Tensor..., spreads Tensor..., x Tensor..., t0 float)
    doc: moves means by a share of t0 towards x, and spreads towards the squares of their distances.
    dtypes: float
    expr:
      let: {d: x - means}
      means: means + t0*d
      spreads: spreads + t0*(d*d - spreads)
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

// Program returns the program that uses the new operators: the first of the package of
// that name, the other, which has no public function, of the package at functions.
func Program(name, path, functions string) []byte {
	text := strings.NewReplacer("OPERATORS", path, "PACKAGE", name, "FUNCTIONS", functions).Replace(usesOperator)
	if path == Module+"/generated/tensor" { // imported once
		text = strings.Replace(text, "\t\""+path+"\"\n", "", 1)
	}
	return []byte(text)
}

// WantRun checks what the program prints: an error of a wrong call.
func WantRun(t *testing.T, out string) {
	t.Helper()
	if !strings.Contains(out, "main.go:") || !strings.Contains(out, "softplus_sharp: ") || !strings.Contains(out, "int64") {
		t.Errorf("the error of a wrong call names neither its line, nor operator and dtype: %s", out)
	}
}

// Run runs the go command in dir with one more flag than GOFLAGS has, so that what
// is compiled already serves, without network, and returns what it prints.
func Run(t *testing.T, dir, flag string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -buildvcs=false " + flag)
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	t.Logf("%v of processor time: go %s", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), strings.Join(args, " "))
	return string(out)
}

// Append writes more at the end of a file.
func Append(t *testing.T, name, more string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	Must(t, err)
	_, err = f.WriteString(more)
	Must(t, err)
	Must(t, f.Close())
}

// Compiles skips a test in short mode that compiles a good part of the module again.
func Compiles(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles the module again")
	}
}

// Hashes returns the hash of every file below dir.
func Hashes(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	Must(t, Walk(dir, func(name string, text []byte) error {
		sums[name] = sha256.Sum256(text)
		return nil
	}))
	if len(sums) == 0 {
		t.Fatalf("no file in %s", dir)
	}
	return sums
}

// Walk calls f with every file below dir that is not hidden.
func Walk(dir string, f func(name string, text []byte) error) error {
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

// Must fails the test when err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
