package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// TestMain gives the tests a simulated accelerator, which captures graphs as a GPU
// does.
// The well-known example: data is put where the captured work reads it, and found
// where it writes.
func Example_graphs() {
	x := tensor.Zeros([]int{5}, tensor.On(device.Sim()))
	var y tensor.Tensor
	g := graph.New(device.Sim())
	err := g.Capture(func() error {
		y = x.MulScalar(2)
		return y.Err()
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, v := range []float64{3, 4} {
		if err := x.CopyFrom(tensor.FullLike(x, v)); err != nil {
			fmt.Println(err)
		}
		if err := g.Replay(); err != nil {
			fmt.Println(err)
		}
		fmt.Println(tensor.Data[float32](y))
	}
	// Output:
	// [6 6 6 6 6] <nil>
	// [8 8 8 8 8] <nil>
}

// A step that is replayed trains as one that is given anew, dropout and Adam's
// numbers included.
func Example_compare() {
	r, err := compare(device.Sim(), 6)
	fmt.Println("nodes:", r.nodes > 10, "difference:", r.difference, "same loss:", r.losses[0] == r.losses[1], err)
	// Output:
	// nodes: true difference: 0 same loss: true <nil>
}

func TestGraphs(t *testing.T) {
	var out strings.Builder
	if err := runGraphs(&out, "sim:0", 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 steps on sim:0", "given anew", "replayed", "largest difference of a parameter 0\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	for _, c := range []struct {
		device string
		steps  int
	}{{"sim:0", 1}, {"sim:9", 3}, {"nothing", 3}, {"cpu", 3}} {
		if err := runGraphs(io.Discard, c.device, c.steps); err == nil {
			t.Errorf("%s, %d steps: no error", c.device, c.steps)
		}
	}
}
