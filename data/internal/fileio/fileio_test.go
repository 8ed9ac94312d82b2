package fileio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
)

func TestReadN(t *testing.T) {
	data := make([]byte, 3*firstChunk+17)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, firstChunk - 1, firstChunk, firstChunk + 1, len(data)} {
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(data),
			"half":  iotest.HalfReader(bytes.NewReader(data)),
		} {
			got, err := ReadN(r, n)
			if err != nil || !bytes.Equal(got, data[:n]) {
				t.Errorf("%s: ReadN(%d) gave %d bytes, error %v", name, n, len(got), err)
			}
		}
	}
	if _, err := ReadN(bytes.NewReader(data), len(data)+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short input gave %v, want io.ErrUnexpectedEOF", err)
	}
	if _, err := ReadN(bytes.NewReader(data), -1); err == nil {
		t.Error("a negative count was accepted")
	}
	cause := errors.New("disk on fire")
	if _, err := ReadN(iotest.ErrReader(cause), 1); !errors.Is(err, cause) {
		t.Errorf("a failing reader gave %v, want %v", err, cause)
	}
}

// TestReadNMemory checks that a declared size without bound costs what arrives.
func TestReadNMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ReadN(bytes.NewReader(make([]byte, 100)), math.MaxInt); err == nil {
		t.Fatal("100 bytes were enough")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*firstChunk {
		t.Errorf("allocated %d bytes for an input of 100", used)
	}
}

func put(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("file holds %q, error %v; want %q", got, err, want)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, ".*")); len(entries) != 0 {
			t.Errorf("left behind: %v", entries)
		}
	}
	if err := WriteFile(path, put("one")); err != nil {
		t.Fatal(err)
	}
	check("one")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, put("two")); err != nil {
		t.Fatal(err)
	}
	check("two")
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode became %v", info.Mode())
	}
	cause := errors.New("no more tensors")
	err := WriteFile(path, func(w io.Writer) error { fmt.Fprint(w, "thr"); return cause })
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	check("two")
}

func TestWriteFileLinksAndPlaces(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := WriteFile(target, put("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := WriteFile(link, put("new")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if got, _ := os.ReadFile(target); string(got) != "new" {
		t.Errorf("target holds %q", got)
	}
	if err := WriteFile(dir, put("x")); err == nil {
		t.Error("a directory was overwritten")
	}
	if err := WriteFile(filepath.Join(dir, "missing", "f"), put("x")); err == nil {
		t.Error("a file in a missing directory was written")
	}
}
