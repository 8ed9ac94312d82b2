package data_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestPyTorchFiles loads a state dictionary of PyTorch by its path and from a reader, and
// puts it into a model of the same layers.
func TestPyTorchFiles(t *testing.T) {
	const path = "torchfile/testdata/state.pt"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	load := func(path string) (map[string]tensor.Tensor, map[string]string, error) {
		return data.LoadTensors(path, device.CPU)
	}
	read := func(string) (map[string]tensor.Tensor, map[string]string, error) {
		return data.ReadTensors(bytes.NewReader(raw), device.CPU)
	}
	for name, f := range map[string]func(string) (map[string]tensor.Tensor, map[string]string, error){"LoadTensors": load, "ReadTensors": read} {
		state, metadata, err := f(path)
		if err != nil || metadata != nil {
			t.Fatalf("%s: metadata %v, error %v", name, metadata, err)
		}
		model := nn.NewSequential(nn.NewConv2d(1, 2, 3), nn.NewBatchNorm(2), nn.NewLinear(3, 2))
		if err := nn.LoadStateDict(model, state); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for key, x := range nn.StateDict(model) {
			got, _ := x.Bytes()
			want, err := state[key].Bytes()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %s: error %v, in the model (-want +got):\n%s", name, key, err, diff)
			}
		}
	}
	_, metadata, err := data.LoadTensors("torchfile/testdata/checkpoint.pt", device.CPU)
	if err != nil || metadata["epoch"] != "3" {
		t.Errorf("epoch %q, error %v", metadata["epoch"], err)
	}
}

// TestPyTorchElsewhere holds that a loader of other files says what one of torch.save is, and
// that one of an old PyTorch is said to be that.
func TestPyTorchElsewhere(t *testing.T) {
	for _, path := range []string{"torchfile/testdata/state.pt", "torchfile/testdata/old.pt"} {
		_, array := data.LoadArray(path, device.CPU)
		_, arrays := data.LoadArrays(path, device.CPU)
		for name, err := range map[string]error{"LoadArray": array, "LoadArrays": arrays} {
			if err == nil || !strings.Contains(err.Error(), "torch.save") || !strings.Contains(err.Error(), "data.LoadTensors") {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
	if _, _, err := data.LoadTensors("torchfile/testdata/old.pt", device.CPU); err == nil || !strings.Contains(err.Error(), "before 1.6") {
		t.Errorf("an old file: %v", err)
	}
}

// TestShardedFiles loads tensors of two files by the index beside them.
func TestShardedFiles(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		x := map[string]tensor.Tensor{name: tensor.Full([]int{2}, float64(i+1))}
		if err := data.SaveTensors(filepath.Join(dir, name+".safetensors"), x); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, "model.safetensors.index.json")
	if err := os.WriteFile(index, []byte(`{"metadata": {"total_size": 16}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	got, metadata, err := data.LoadTensors(index, device.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"total_size": "16"}, metadata); diff != "" {
		t.Error(diff)
	}
	for i, name := range []string{"a", "b"} {
		if x, err := tensor.Data[float32](got[name]); err != nil || !cmp.Equal(x, []float32{float32(i + 1), float32(i + 1)}) {
			t.Errorf("%s is %v, error %v", name, x, err)
		}
	}
}
