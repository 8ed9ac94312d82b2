package data_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func ExampleLoader() {
	x, y := tensor.Arange(0, 10, 1).Reshape(5, 2), tensor.Arange(0, 5, 1)
	set, err := data.Tensors(x, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &data.Loader{Dataset: set, BatchSize: 2, Prefetch: 1}
	for batch, err := range loader.Epoch(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch[0].Shape(), batch[1])
	}
	// Output:
	// [2 2] tensor([0, 1])
	// [2 2] tensor([2, 3])
	// [1 2] tensor([4])
}

func ExampleSaveTensors() {
	dir, err := os.MkdirTemp("", "tensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.safetensors")
	err = data.SaveTensors(path, map[string]tensor.Tensor{"a": tensor.From([]float32{1, 2})}, data.Metadata(map[string]string{"epoch": "3"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	tensors, metadata, err := data.LoadTensors(path, device.CPU)
	fmt.Println(tensors["a"], metadata["epoch"], err)
	// Output: tensor([1., 2.]) 3 <nil>
}
