package compile_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/self"
)

// sumsFor is set where a process is to print the hashes of results, for TestWithout.
const sumsFor = "SINTER_TEST_SUMS"

// TestWithout: where code cannot be made while a program runs, or cannot be kept, with other
// numbers of threads and where the collector runs often, random programs give what they give
// otherwise, to the bit.
func TestWithout(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in many processes")
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	closed := filepath.Join(t.TempDir(), "closed")
	must(t, os.Mkdir(closed, 0o500))
	sums := func(env ...string) string {
		c := self.Command(t, append(env, sumsFor+"=1"), "-test.run=^TestSums$", "-test.v", "-test.short", fmt.Sprint("-seed=", *firstSeed))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", env, err, out)
		}
		var list []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "sum of ") {
				list = append(list, line)
			}
		}
		return strings.Join(list, "")
	}
	want := sums("SINTER_KERNEL_CACHE_PATH=" + t.TempDir())
	if !strings.HasPrefix(want, "sum of cpu: ") {
		t.Fatalf("no hashes: %q", want)
	}
	for _, env := range [][]string{
		{"SINTER_JIT=0"}, {"SINTER_JIT=0", "SINTER_CPU=portable"}, {"SINTER_NVRTC=none"}, {"SINTER_USE_KERNEL_CACHE=0"},
		{"SINTER_KERNEL_CACHE_PATH=" + filepath.Join(file, "kernels")}, {"SINTER_KERNEL_CACHE_PATH=" + closed},
		{"GOMAXPROCS=1"}, {"GOMAXPROCS=2"}, {"GOMAXPROCS=5"}, {"GOGC=1"},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			got := sums(env...)
			if len(env) > 1 { // other loops of single operators may round otherwise
				if !strings.HasPrefix(got, "sum of cpu: ") {
					t.Errorf("no hashes: %q", got)
				}
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSums prints for each device a hash of what random programs give, fused and not.
func TestSums(t *testing.T) {
	if os.Getenv(sumsFor) == "" {
		t.Skip("TestWithout has a process of its own do this")
	}
	for _, dev := range devices() {
		if dev.Kind == device.KindSim {
			continue
		}
		must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
			random.Seed(11)
			sum := sha256.New()
			add := func(f func(x ...tensor.Tensor) ([]tensor.Tensor, error), x ...tensor.Tensor) {
				fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
				defer fused.Close()
				defer apart.Close()
				for _, c := range []*compile.Compiled[[]tensor.Tensor]{fused, apart} {
					list, err := c.Call(x...)
					must(t, err)
					for _, y := range list {
						b, err := y.Bytes()
						must(t, err)
						sum.Write(b)
					}
				}
			}
			for seed := range 24 {
				shape := [][]int{{7, 33}, {64, 130}, {40, 1024}}[seed%3]
				add(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
					return elements(rand.New(rand.NewPCG(*firstSeed+uint64(seed), 6)), x...)
				}, tensor.Randn(shape), tensor.Randn(shape[1:]), tensor.Randn([]int{shape[0], 1}))
			}
			for _, c := range rowwise {
				add(c.f, tensor.Randn([]int{48, 200}), tensor.Randn([]int{200}), tensor.Randn([]int{200}))
			}
			fmt.Printf("sum of %s: %x\n", dev.Kind, sum.Sum(nil))
			return nil
		}))
	}
}
