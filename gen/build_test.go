package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// TestGoldenBuilds compiles what the archives of testdata wish for, so that a
// wanted file can never be nonsense. The modules replace this one by the tree.
func TestGoldenBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles several modules")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	base := baseSpec(t)
	for _, name := range []string{"compose", "drawn", "elementwise", "fold"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			_, files := sections(data)
			spec, err := schema.Parse("ops.yaml", files[0].data, base)
			if err != nil {
				t.Fatal(err)
			}
			emitted, err := emit.Files(spec, userTarget)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			p := project{root: dir, files: emitted}
			changes, err := p.compare()
			if err == nil {
				err = p.apply(changes)
			}
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "kernels", "flipped.cu"), "// written by hand\n")
			write(t, filepath.Join(dir, "go.sum"), string(sums))
			write(t, filepath.Join(dir, "go.mod"), strings.Join([]string{
				"module example.com/user", "go 1.26.0", "require " + unit.Module + " v0.0.0",
				"replace " + unit.Module + " => " + root, ""}, "\n\n"))
			goCommand(t, dir, "vet", "-mod=mod", "./...")
			if name == "elementwise" || name == "drawn" {
				write(t, filepath.Join(dir, "cpu", "vectors_test.go"), vectorsTest)
				goCommand(t, dir, "test", "-mod=mod", "./cpu")
			}
		})
	}
}

// goCommand runs the go command in a module that has all it needs.
func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", args[0], err, out)
	}
}

// vectorsTest runs the assembly loops of another module, which call functions of
// this one, beside the portable ones.
const vectorsTest = `package cpu_test

import (
	"math"
	"testing"
	"unsafe"

	"example.com/user/ops"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

func TestVectors(t *testing.T) {
	const n = 37
	some := false
	run := func(loop vector.Func, op *ir.Op, d ir.DType) (out []float64) {
		var memory [5][n]float64 // the result first
		for k := range memory {
			for i := range n {
				v := float64(i-n/2)/4 + float64(k)
				if d == ir.Float32 {
					(*[n]float32)(unsafe.Pointer(&memory[k]))[i] = float32(v)
				} else {
					memory[k][i] = v
				}
			}
		}
		p := make([]unsafe.Pointer, len(memory))
		for k := range p {
			p[k] = unsafe.Pointer(&memory[k])
		}
		var scalars []ir.Scalar // those that the operator has, and no more
		for k, a := range op.Attrs {
			switch a.Kind {
			case ir.AttrInt:
				scalars = append(scalars, ir.IntScalar(int64(7+k)))
			case ir.AttrFloat:
				scalars = append(scalars, ir.FloatScalar(0.5))
			}
		}
		loop(n, p, scalars, 5)
		for i := range n {
			if d == ir.Float32 {
				out = append(out, float64((*[n]float32)(p[0])[i]))
			} else {
				out = append(out, memory[0][i])
			}
		}
		return out
	}
	for _, op := range ops.Descriptors() {
		code, ok := op.CodeFor(vector.Kind).(*vector.Code)
		if !ok || op.Kind != ir.Elementwise {
			continue
		}
		for _, l := range code.Vectors {
			some = true
			portable := code.Loops[l.Variant][l.DType]
			want := run(portable, op, l.DType)
			for level := simd.AVX2; level <= simd.Available(); level++ {
				for k, got := range run(l.At(level, portable), op, l.DType) {
					if !(math.Abs(got-want[k]) <= 1e-5*(1+math.Abs(want[k]))) {
						t.Errorf("%s of %s at %s: element %d is %v, want %v", op.Name, l.DType, level, k, got, want[k])
					}
				}
			}
		}
	}
	if simd.Available() >= simd.AVX2 && !some {
		t.Error("there are no loops")
	}
}
`
