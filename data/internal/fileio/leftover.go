package fileio

import (
	"os"
	"path/filepath"
	"regexp"
)

// tempName matches what comes between a file's name and ".tmp" in those of its temporary
// files.
var tempName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// createTemp makes a temporary file beside base in dir, and marks it as in use until it is
// closed. os.CreateTemp would make it private, whatever the umask says.
func createTemp(dir, base string) (*os.File, error) {
	for {
		f, err := os.OpenFile(tempPath(dir, base), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, err
		}
		if markUsed(f) && isAt(f, f.Name()) {
			return f, nil
		}
		f.Close() // another process took it for left over before it was marked
	}
}

// removeLeftovers removes the temporary files of base that processes which were killed left
// in dir. What cannot be removed stays.
func removeLeftovers(dir, base string) {
	where := dir
	if where == "" {
		where = "."
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return
	}
	prefix, suffix := "."+base+".", ".tmp"
	for _, e := range entries {
		name := e.Name()
		if len(name) != len(prefix)+16+len(suffix) || name[:len(prefix)] != prefix || name[len(name)-len(suffix):] != suffix ||
			!tempName.MatchString(name[len(prefix):len(prefix)+16]) || !e.Type().IsRegular() {
			continue
		}
		removeAbandoned(filepath.Join(where, name))
	}
}

// isAt reports whether f is the file at path.
func isAt(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
