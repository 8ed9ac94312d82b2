//go:build unix

package module

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted reports a file that somebody else may have put into a directory: one of
// another owner, or that others can write to, where the directory is another's or
// others can write to it. Root is trusted.
func trusted(dir, file fs.FileInfo) error {
	own := uint32(os.Getuid())
	if safe(dir, own) {
		return nil
	}
	if !safe(file, own) {
		return fmt.Errorf("the file is another user's, or others can write to it, and so is the directory: it is not used")
	}
	return nil
}

// safe reports whether none but the user and root can write to a file.
func safe(info fs.FileInfo, own uint32) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == own || s.Uid == 0) && info.Mode().Perm()&0o022 == 0
}
