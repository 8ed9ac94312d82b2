package onnx

import (
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
)

// TestNodesOnSim is TestNodes on a simulated accelerator, which has the values that the
// host computes shapes with in another memory.
func TestNodesOnSim(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	runNodes(t, device.Sim(0))
}

// TestNodesOnCUDA is TestNodes on a GPU, where there is one, and has what TestContrib does, too.
func TestNodesOnCUDA(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no GPU")
	}
	set := func(on bool) { precision.SetMatmulTF32(on); precision.SetConvTF32(on) }
	set(false)
	t.Cleanup(func() { set(true) })
	r := runNodes(t, device.CUDA(0))
	passed := 0
	for _, n := range r.passed {
		passed += n
	}
	t.Logf("%d cases pass", passed)
	for _, c := range packedCases(t, "testdata/contrib.tar.zst") {
		if err := c.run(device.CUDA(0)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
