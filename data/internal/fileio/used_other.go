//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fileio

import (
	"os"
	"time"
)

func markUsed(*os.File) bool { return true }

// removeAbandoned removes the temporary file at path if it was not written to for a day.
func removeAbandoned(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = os.Remove(path)
	}
}

// moveTo closes f and renames it: there are systems that rename no open file.
func moveTo(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
