//go:build unix

package module

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sinter-go/sinter/tests/self"
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
	out, err := self.Command(t, []string{variable + "=" + dir}, "-test.run=^TestCacheReadOnly$", "-test.v").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}

// TestCacheFull: where a file cannot be written to its end, as on a device that is full,
// nothing of it is left, and it is said once. The limit of file sizes is one of the whole
// process, so a child process has it.
func TestCacheFull(t *testing.T) {
	const variable, most = "SINTER_TEST_FULL", 700 // bytes: the magic, the sum and a part of the code
	if dir := os.Getenv(variable); dir != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			t.Skip(err)
		}
		c := testCache(dir)
		said := logged(t, func() {
			c.Put("b.bin", codeOf("b"))
			c.Put("c.bin", codeOf("c"))
		})
		if strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "file too large") {
			t.Errorf("logged %q", said)
		}
		if got := files(t, dir); len(got) != 1 || !bytes.Equal(c.Get("a.bin"), codeOf("a")) || c.Get("b.bin") != nil {
			t.Errorf("the directory has %q", got)
		}
		return
	}
	dir := t.TempDir()
	testCache(dir).Put("a.bin", codeOf("a"))
	out, err := self.Command(t, []string{variable + "=" + dir}, "-test.run=^TestCacheFull$", "-test.v").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}
