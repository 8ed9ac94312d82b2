package onnx

import (
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestNodesOnSim is TestNodes on a simulated accelerator, which has the values that the
// host computes shapes with in another memory.
func TestNodesOnSim(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	runNodes(t, device.Sim(0))
}
