// Package gpu_test holds what is tested on a GPU: every operator against the
// reference, programs against the CPU, streams, memory, faults, precision. Its
// tests skip where there is no GPU and say why; gpu.sh runs them on a machine that
// has one and no Go.
package gpu_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

var (
	long        = flag.Bool("long", false, "full sizes where they take time")
	soak        = flag.Duration("soak", 3*time.Second, "how long the test of many streams runs")
	differences = flag.Bool("differences", true, "compare gradients with central differences; off for runs under compute-sanitizer")
	simulated   = flag.Bool("sim", false, "a simulated device stands for the GPU: tests the tests")
	shard       = part{0, 1}
)

func init() {
	flag.Var(&shard, "shard", "i/n: of every n operators, programs and large shapes, test the one after the first i")
}

// T is the tensor type.
type T = tensor.Tensor

// gpu is the device under test.
var gpu = device.CUDA(0)

func TestMain(m *testing.M) {
	flag.Parse()
	if *simulated {
		device.Install(sim.New(sim.Config{Kind: device.KindCUDA, Devices: 1, Async: true}))
	}
	code := m.Run()
	if n := launch.Late(); n > 0 {
		fmt.Println("launch code asked", n, "times for memory behind work that it had enqueued")
		code = 1
	}
	os.Exit(code)
}

// need skips the test where there is no GPU.
func need(t testing.TB) {
	t.Helper()
	if err := cuda.Unavailable(); err != nil {
		t.Skipf("no GPU: %v", err)
	}
}

// exactly runs the test with TF32 off, and sets it back.
func exactly(t testing.TB) {
	t.Helper()
	was, err := cuda.MatmulAllowTF32()
	must(t, err)
	conv, err := cuda.ConvAllowTF32()
	must(t, err)
	cuda.AllowTF32(false)
	t.Cleanup(func() {
		cuda.SetMatmulAllowTF32(was)
		cuda.SetConvAllowTF32(conv)
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// values returns the elements of x as float64.
func values(x T) ([]float64, error) {
	return tensor.Data[float64](x.Detach().ToType(tensor.Float64))
}

// settle returns what is held once no more than want is.
func settle(t testing.TB, want int64) int64 {
	t.Helper()
	return patience.Settle(t, func() int64 { return memory.Allocated(gpu) }, want)
}

// balanced runs f and fails the test if memory of the GPU is held that was not
// before.
func balanced(t *testing.T, f func()) {
	t.Helper()
	must(t, tensor.Zeros([]int{1}, tensor.On(gpu)).Err())
	must(t, cuda.ClearWorkspaces())
	patience.Collect(t)
	before := memory.Allocated(gpu)
	f()
	must(t, cuda.Synchronize(context.Background(), gpu))
	must(t, cuda.ClearWorkspaces())
	if after := settle(t, before); after > before {
		t.Errorf("%d bytes are held, %d before", after, before)
	}
}

// far returns the index of the first element in which a and b differ by more than
// a share of the larger of 1 and their size, or -1. NaN equals NaN.
func far(a, b []float64, share float64) int {
	for i, x := range a {
		y := b[i]
		if math.IsNaN(x) && math.IsNaN(y) || x == y {
			continue
		}
		if !(math.Abs(x-y) <= share*max(1, math.Abs(x), math.Abs(y))) {
			return i
		}
	}
	return -1
}
