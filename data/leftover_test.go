package data_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestLeftovers holds that a save removes the temporary files that killed ones left for the
// same path, and no others.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.safetensors")
	stay := []string{"b.safetensors", ".b.safetensors.0123456789abcdef.tmp", ".a.safetensors.tmp", ".a.safetensors.0123456789abcdez.tmp"}
	for _, name := range append(stay, ".a.safetensors.0123456789abcdef.tmp") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := data.SaveTensors(path, map[string]tensor.Tensor{"x": tensor.Ones([]int{2})}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".a.safetensors.0123456789abcdef.tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed save left is still there (%v)", err)
	}
	for _, name := range stay {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPyTorchFiles holds that every loader says what a file of torch.save is.
func TestPyTorchFiles(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "model.pt")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("model/data.pkl")
	if err == nil {
		_, err = io.WriteString(w, "\x80\x02}q\x00.")
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "old.pt")
	if err := os.WriteFile(bare, []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{archive, bare} {
		_, _, tensors := data.LoadTensors(path, device.CPU)
		_, array := data.LoadArray(path, device.CPU)
		_, arrays := data.LoadArrays(path, device.CPU)
		for name, err := range map[string]error{"LoadTensors": tensors, "LoadArray": array, "LoadArrays": arrays} {
			if err == nil || !strings.Contains(err.Error(), "torch.save") || !strings.Contains(err.Error(), "save_file") {
				t.Errorf("%s of %s: %v", name, filepath.Base(path), err)
			}
		}
	}
}
