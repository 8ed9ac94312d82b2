package dist_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
)

// TestCapturesTogether has one rank give a compiled step the same operand each time, and another one operands
// elsewhere in memory: where its graph has an operand is what a rank alone knows, so none captures again for that.
func TestCapturesTogether(t *testing.T) {
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			copying(t, 512)
			must(t, errors.Join(withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
				on := tensor.On(g.Device())
				step := compile.Step(func(x ...T) (T, error) {
					y := x[0].MulScalar(2)
					err := g.AllReduce(y, dist.Sum).Wait(t.Context())
					return y.Sum(), err
				})
				defer step.Close()
				x := tensor.Ones([]int{1000}, on)
				var kept []T
				for i := range 8 {
					if g.Rank() == 1 {
						kept = append(kept, x)
						x = tensor.Ones([]int{1000}, on)
					}
					y, err := step.Call(x)
					if err != nil {
						return fmt.Errorf("call %d: %w", i, err)
					}
					if got, err := y.Item(); err != nil || got != 4000 {
						return fmt.Errorf("call %d: %v, %w", i, got, err)
					}
				}
				for _, x := range kept {
					x.Release()
				}
				return nil
			}, opts...)...))
		})
	}
}
