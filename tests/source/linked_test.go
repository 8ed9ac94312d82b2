package source_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinked: what programs import holds no reference and no simulated devices.
func TestLinked(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	cmd := exec.Command("go", "list", "-deps", "./generated/tensor", "./nn", "./optim/...", "./data/...", "./examples/digits")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, p := range packages {
		for _, apart := range []string{"/backend/ref", "/backend/sim", "/generated/ref"} {
			if p == module+apart || strings.HasPrefix(p, module+apart+"/") {
				t.Errorf("programs hold %s", p)
			}
		}
	}
	if len(packages) < 50 {
		t.Errorf("go list named %d packages", len(packages))
	}
}
