//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileio

import (
	"errors"
	"os"
	"syscall"
)

// markUsed locks f, which its process's end undoes. False says that another process has the
// lock, and removes the file. On a file system without locks all is well: none is removed.
func markUsed(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK)
}

// removeAbandoned removes the temporary file at path if no process writes it. It holds the
// lock until the file is gone, so that who made it and marks it only now sees either.
func removeAbandoned(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = os.Remove(path)
	}
}

// moveTo renames f, which is synced, and then closes it: while it goes by its old name it is
// locked.
func moveTo(f *os.File, path string) error {
	err := os.Rename(f.Name(), path)
	_ = f.Close() // all of it is on disk
	return err
}
