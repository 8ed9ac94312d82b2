package cuda_test

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// The examples need a GPU, so go test compiles them and does not run them.

func Example() {
	if !cuda.IsAvailable() {
		fmt.Println("no GPU")
		return
	}
	x := tensor.Randn([]int{1000, 1000}, tensor.On(cuda.Device()))
	y := x.MatMul(x)              // the call returns before the product is done
	value, err := y.Mean().Item() // waits
	fmt.Println(value, err, cuda.MaxMemoryAllocated())
}

// Work of two streams may run at once; what must come after other work waits for it.
func ExampleNewStream() {
	x := tensor.Randn([]int{1000, 1000}, tensor.On(cuda.Device()))
	side := cuda.NewStream()
	if err := side.WaitStream(cuda.CurrentStream()); err != nil { // which makes x
		fmt.Println(err)
		return
	}
	var y tensor.Tensor
	if err := side.Do(func() error { y = x.MatMul(x); return nil }); err != nil {
		fmt.Println(err)
		return
	}
	if err := x.RecordStream(side); err != nil { // x's memory is used there
		fmt.Println(err)
		return
	}
	fmt.Println(y.Shape(), cuda.CurrentStream().WaitStream(side))
}

// A graph records work and replays it in one call of the driver.
func ExampleNewGraph() {
	on := tensor.On(cuda.Device())
	model := nn.NewSequential(nn.NewLinear(784, 100, on), nn.ReLU(), nn.NewLinear(100, 10, on))
	images := tensor.Zeros([]int{64, 784}, on)
	var classes tensor.Tensor
	g := cuda.NewGraph()
	err := tensor.NoGrad(func() error {
		return g.Capture(func() error {
			classes = model.Forward(images).Argmax(tensor.Dim(1))
			return classes.Err()
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 100 {
		err := images.CopyFrom(tensor.Randn([]int{64, 784}, on)) // the next batch
		if err == nil {
			err = g.Replay() // classes are those of the batch
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(classes.Shape())
}

// What the allocator did, for PyTorch's memory visualiser.
func ExampleDumpMemorySnapshot() {
	if err := cuda.RecordMemoryHistory(); err != nil {
		fmt.Println(err)
		return
	}
	_ = tensor.Randn([]int{1 << 20}, tensor.On(cuda.Device())).Exp()
	if err := cuda.DumpMemorySnapshot("snapshot.pickle"); err != nil {
		fmt.Println(err)
	}
}
