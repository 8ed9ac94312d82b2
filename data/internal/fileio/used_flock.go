//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileio

import (
	"os"
	"syscall"
)

// markUsed locks f, which its process's end undoes. On a file system without locks it
// counts as used by nobody knows whom.
func markUsed(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// abandoned reports whether no process writes the temporary file at path.
func abandoned(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
