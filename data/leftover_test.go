package data_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
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
