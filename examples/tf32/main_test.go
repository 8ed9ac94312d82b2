package main

import (
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/examples/tf32/experiment"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestExperiment holds the numbers against theory: the mean within 6 standard
// errors, and float32 sums of n products within rounding. The CPU has no TF32.
func TestExperiment(t *testing.T) {
	const n = 96
	random.Seed(3)
	precision.SetMatmulTF32(true)
	r, err := experiment.Run(device.CPU, n)
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(2 * n / math.Pi); math.Abs(r.Mean-want) > want*0.04 {
		t.Errorf("the mean is %v, want about %v", r.Mean, want)
	}
	for name, s := range map[string]experiment.Side{"TF32": r.TF32, "full": r.Full} {
		if s.Max <= 0 || s.Max > 1e-4 || math.Abs(s.Relative-s.Max/r.Mean) > 1e-12 || s.Took <= 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if r.N != n || !precision.MatmulTF32() {
		t.Errorf("N is %d, and the flag afterwards %t", r.N, precision.MatmulTF32())
	}
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out, "cpu", 32, 1); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?s)^32 x 32 on cpu, mean .*TF32 +0\.0000.*full FP32 +0\.0000`).MatchString(out.String()) {
		t.Errorf("printed:\n%s", out.String())
	}
	for _, c := range []struct {
		device string
		n      int
		want   string
	}{{"tpu", 8, "tpu"}, {"cuda:99", 8, "cuda:99"}, {"cpu", -1, "-n is -1"}} {
		if err := run(io.Discard, c.device, c.n, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d: %v", c.device, c.n, err)
		}
	}
}
