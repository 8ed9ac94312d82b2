// Package ptxtest assembles what tests print.
package ptxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Assemble has ptxas assemble a text for two architectures, where ptxas is in PATH: the
// wheel nvidia-cuda-nvcc-cu12 has it.
func Assemble(t *testing.T, text []byte) {
	t.Helper()
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		t.Log("not assembled:", err)
		return
	}
	file := filepath.Join(t.TempDir(), "kernel.ptx")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"sm_80", "sm_90"} {
		if out, err := exec.Command(ptxas, "-arch="+arch, "-o", file+".cubin", file).CombinedOutput(); err != nil {
			t.Errorf("ptxas: %v: %s\n%s", err, out, text[:min(len(text), 1<<14)])
		}
	}
}
