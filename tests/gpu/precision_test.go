package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/examples/tf32/experiment"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestTF32 holds the reference document's example to S20 to S23: with -long at its
// size of 10240.
func TestTF32(t *testing.T) {
	need(t)
	if p, err := cuda.GetDeviceProperties(gpu); err != nil || p.Major < 8 {
		t.Skipf("needs compute capability 8.0, has %d.%d (%v)", p.Major, p.Minor, err)
	}
	n := 2048
	if *long {
		n = 10240
	}
	random.Seed(1)
	r, err := experiment.Run(gpu, n)
	must(t, err)
	t.Logf("%+v", r)
	if want := math.Sqrt(2 * float64(n) / math.Pi); math.Abs(r.Mean-want) > 0.01*want {
		t.Errorf("the mean is %v, want %v within 1 %%", r.Mean, want)
	}
	if r.TF32.Relative < 5e-4 || r.TF32.Relative > 1e-2 {
		t.Errorf("with TF32 the error is %v of the mean, want 5e-4 to 1e-2", r.TF32.Relative)
	}
	if r.Full.Relative > 2e-4 {
		t.Errorf("without TF32 the error is %v of the mean, want at most 2e-4", r.Full.Relative)
	}
	if r.TF32.Max < 10*r.Full.Max {
		t.Errorf("the errors are %v and %v, want a factor of 10 or more", r.TF32.Max, r.Full.Max)
	}
	if n == 10240 && r.TF32.Took > r.Full.Took {
		t.Errorf("TF32 takes %s, full float32 %s", r.TF32.Took, r.Full.Took)
	}
}

// TestPrecisionFlags: each flag is for its own operators (S18, S19), from the next
// launch on. Ones and 1 + 2^-12, which TF32 cannot hold, tell the modes apart.
func TestPrecisionFlags(t *testing.T) {
	need(t)
	if p, err := cuda.GetDeviceProperties(gpu); err != nil || p.Major < 8 {
		t.Skipf("needs compute capability 8.0, has %d.%d (%v)", p.Major, p.Minor, err)
	}
	exactly(t)
	const n, fine = 64, 1 + 0x1p-12
	on := tensor.On(gpu)
	a, b := tensor.Full([]int{n, n}, fine, on), tensor.Ones([]int{n, n}, on)
	images, filters := tensor.Full([]int{8, n, 16, 16}, fine, on), tensor.Ones([]int{n, n, 3, 3}, on)
	for _, c := range []struct {
		name          string
		run           func() T
		matmul, terms float64 // matmul: the flag of products decides
	}{
		{"matmul", func() T { return a.MatMul(b) }, 1, n},
		{"linear", func() T { return a.Linear(b) }, 1, n},
		{"einsum", func() T { return tensor.Einsum("ij,jk->ik", []T{a, b}) }, 1, n},
		{"conv2d", func() T { return images.Conv2d(filters) }, 0, n * 9},
	} {
		for _, flags := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			cuda.SetMatmulAllowTF32(flags[0])
			cuda.SetConvAllowTF32(flags[1])
			got, err := c.run().Max().Item()
			must(t, err)
			allowed := flags[0] && c.matmul == 1 || flags[1] && c.matmul == 0
			if full := math.Abs(got-c.terms*fine) < c.terms*0x1p-16; !allowed && !full {
				t.Errorf("%s with flags %v is %v, want %v in full float32", c.name, flags, got, c.terms*fine)
			}
			if c.name == "matmul" && allowed && got != c.terms {
				t.Errorf("matmul with TF32 allowed is %v, want %v from operands cut to 10 bits", got, c.terms)
			}
		}
	}
}
