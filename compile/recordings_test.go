package compile_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// TestRecordingsApart: recordings use each other's memory, side by side and one after another,
// those that fail among them. Programs that were made before stay as they are.
func TestRecordingsApart(t *testing.T) {
	chain := func(n int) func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := x[0]
			for range n {
				y = y.MatMul(x[0]).Tanh().Add(x[0])
			}
			return y, y.Err()
		}
	}
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			x := tensor.Randn([]int{5, 5})
			var kept []*compile.Compiled[tensor.Tensor]
			for n := 1; n < 12; n++ {
				var opts []compile.Option
				if (n+g)%5 == 0 {
					opts = append(opts, compile.Unfused())
				}
				kept = append(kept, compile.Func(chain(n), opts...))
				if err := kept[n-1].Prepare(x); err != nil {
					t.Error(err)
				}
				fails := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
					_, _ = chain(n)(x...)
					return tensor.Tensor{}, errors.New("on purpose")
				})
				if fails.Prepare(x) == nil {
					t.Error("a function that fails was recorded")
				}
			}
			for i, c := range kept {
				got, err := c.Call(x)
				want, failed := chain(i + 1)(x)
				g, unread := tensor.Data[float32](got)
				w, unseen := tensor.Data[float32](want)
				if err = errors.Join(err, failed, unread, unseen); err != nil {
					t.Error(err)
					continue
				}
				if d := cmp.Diff(w, g); d != "" {
					t.Errorf("%d steps: %s", i+1, d)
				}
				c.Close()
			}
		})
	}
	wait.Wait()
}
