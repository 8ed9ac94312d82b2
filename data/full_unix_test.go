//go:build linux || darwin

package data_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/tests/self"
)

// most is how many bytes fit in a file of TestFullDisk.
const most = 1 << 16

// TestFullDisk: a save that cannot write its file to the end, as on a disk that is full, says
// so once and leaves the old file, and nothing else. The limit of file sizes is one of the
// whole process, so a child process has it.
func TestFullDisk(t *testing.T) {
	const variable = "SINTER_TEST_FULL"
	if dir := os.Getenv(variable); dir != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			t.Skip(err)
		}
		full(t, dir, map[string]tensor.Tensor{"x": tensor.Rand([]int{most})})
		return
	}
	out, err := self.Command(t, []string{variable + "=" + t.TempDir()}, "-test.run=^TestFullDisk$", "-test.v").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
}

func full(t *testing.T, dir string, state map[string]tensor.Tensor) {
	for _, c := range []struct {
		name string
		save func(path string) error
	}{
		{"tensors", func(path string) error { return data.SaveTensors(path, state) }},
		{"array", func(path string) error { return data.SaveArray(path, state["x"]) }},
		{"arrays", func(path string) error { return data.SaveArrays(path, state) }},
		{"compressed", func(path string) error { return data.SaveArrays(path, state, data.Compressed()) }},
		{"checkpoint", func(path string) error { return checkpoint.Save(path, checkpoint.State{Model: nn.NewLinear(most, 1)}) }},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		err := c.save(path)
		if err == nil || strings.Count(err.Error(), syscall.EFBIG.Error()) != 1 || strings.Count(err.Error(), dir) > 1 {
			t.Errorf("%s: error %v, want one that says once that there is no room, and the file at most once", c.name, err)
		}
		if got, err := os.ReadFile(path); string(got) != "old" {
			t.Errorf("%s: the old file is %.20q, error %v", c.name, got, err)
		}
		if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(hidden) > 0 {
			t.Errorf("%s leaves %q", c.name, hidden)
		}
	}
}
