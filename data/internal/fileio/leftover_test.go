package fileio

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWritersApart holds that a save leaves the temporary file of one that is under way.
func TestWritersApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	err := WriteFile(path, func(w io.Writer) error {
		if err := WriteFile(path, func(w io.Writer) error { return nil }); err != nil {
			return err
		}
		_, err := io.WriteString(w, "outer")
		return err
	})
	got, _ := os.ReadFile(path)
	if err != nil || string(got) != "outer" {
		t.Errorf("%q, error %v", got, err)
	}
}

// TestFullDisk holds that the message of a write that fails says it once.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	err = buffered(full, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return err
	})
	if err == nil || strings.Count(err.Error(), "no space") != 1 {
		t.Errorf("error %v, want one that says once that there is no space", err)
	}
}
