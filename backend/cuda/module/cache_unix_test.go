//go:build unix

package module

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCacheReadOnly: entries of a directory that cannot be written are used. The
// administrator may write everywhere, so a child process gives the right up.
func TestCacheReadOnly(t *testing.T) {
	const variable, nobody = "SINTER_TEST_READONLY", 65534
	if dir := os.Getenv(variable); dir != "" {
		if os.Geteuid() == 0 {
			if err := syscall.Setuid(nobody); err != nil {
				t.Skip(err)
			}
		}
		said := logged(t, func() {
			for range 2 {
				if !bytes.Equal(testCache(dir).Get("a.bin"), codeOf("a")) {
					t.Error("the entry is not found")
				}
			}
			c := testCache(dir)
			c.Put("b.bin", codeOf("b"))
			c.Put("c.bin", codeOf("c"))
		})
		if strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "permission denied") {
			t.Errorf("logged %q", said)
		}
		return
	}
	base := t.TempDir()
	dir := filepath.Join(base, "cache")
	testCache(dir).Put("a.bin", codeOf("a"))
	for path, mode := range map[string]os.FileMode{filepath.Dir(base): 0o755, base: 0o755, dir: 0o555, filepath.Join(dir, "a.bin"): 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = os.Chmod(dir, 0o755) }() // so that it can be removed
	cmd := exec.Command(os.Args[0], "-test.run=^TestCacheReadOnly$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}
