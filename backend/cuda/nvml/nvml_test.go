package nvml

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// TestProcessMemory asks a library made for the test.
func TestProcessMemory(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler for the fake library")
	}
	name := filepath.Join(t.TempDir(), "libfake.so")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", name, "testdata/fakenvml.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := open(name)
	if errors.Is(err, dl.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]int64{100: 5e9, 102: 15e9} {
		if got, err := l.ProcessMemory("GPU-1234", pid); got != want || err != nil {
			t.Errorf("process %d takes %d bytes, %v; want %d", pid, got, err, want)
		}
	}
	if _, err := l.ProcessMemory("GPU-1234", 5); !errors.Is(err, ErrUnknown) {
		t.Errorf("of no process: %v", err)
	}
	if _, err := l.ProcessMemory("GPU-0", 100); err == nil || !strings.Contains(err.Error(), "nvmlDeviceGetHandleByUUID: NVML error 6") {
		t.Errorf("of no device: %v", err)
	}
	if _, err := open("libsinter-none.so.0"); err == nil {
		t.Error("a library that is not there was opened")
	}
}
