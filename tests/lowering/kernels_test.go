package lowering_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	graph "github.com/sinter-go/sinter/ir/body"
)

// TestKernels verifies every kernel of the standard operators: its ports are what the
// operator's rules say, and its body computes them.
func TestKernels(t *testing.T) {
	count := 0
	for _, op := range ops.Descriptors() {
		if op.Kind == ir.ViewBody || op.Kind == ir.Composition {
			continue
		}
		drawn := 0
		for _, a := range op.Attrs {
			if a.Kind == ir.AttrInt && (a.Name == "seed" || a.Name == "offset") {
				drawn++
			}
		}
		for variant := range max(1, len(op.Bodies)) {
			for _, dt := range op.DTypes.List() {
				k := op.Kernel(variant, dt)
				if err := graph.Verify(k); err != nil {
					t.Errorf("%v: %v", k, err)
				}
				if (k.Seed >= 0) != (drawn == 2) || (k.Offset >= 0) != (drawn == 2) {
					t.Errorf("%v: seed at %d, offset at %d", k, k.Seed, k.Offset)
				}
				count++
			}
		}
	}
	if count < 1000 {
		t.Errorf("only %d kernels", count)
	}
}
