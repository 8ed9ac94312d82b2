//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fileio

import (
	"os"
	"time"
)

func markUsed(*os.File) {}

// abandoned reports whether the temporary file at path was not written to for a day.
func abandoned(path string) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}
