// Package fileio holds what the readers and writers of file formats share:
// reading a declared number of bytes without trusting the declaration, and
// replacing a file in one step. It knows nothing of tensors or formats.
package fileio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// firstChunk is how many bytes ReadN allocates before any has arrived.
const firstChunk = 1 << 20

// ReadN reads exactly n bytes from r. Its buffer at most doubles each time it is
// full, so a declared n costs memory only as far as data arrives. An early end
// is io.ErrUnexpectedEOF, wrapped with what was read and wanted.
func ReadN(r io.Reader, n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("cannot read %d bytes", n)
	}
	buf := make([]byte, min(n, firstChunk))
	for got := 0; ; {
		k, err := io.ReadFull(r, buf[got:])
		got += k
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: read %d of %d bytes", io.ErrUnexpectedEOF, got, n)
		}
		if err != nil {
			return nil, fmt.Errorf("after %d of %d bytes: %w", got, n, err)
		}
		if got == n {
			return buf, nil
		}
		grown := make([]byte, got+min(got, n-got))
		copy(grown, buf)
		buf = grown
	}
}

// WriteFile replaces the file at path by what write writes, in one step: a
// reader, or a crash at any moment, sees the old content or all of the new.
// The bytes go to a temporary file beside it, are synced and then renamed. A
// file that existed keeps its permissions; a symbolic link keeps pointing to
// its target, which is replaced. On error the old file is untouched and the
// temporary one removed; one that a killed process left is removed by the next call
// for the same path.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	old, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !old.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	dir, base := filepath.Split(path)
	removeLeftovers(dir, base)
	f, err := createTemp(dir, base)
	if err != nil {
		return cause(err)
	}
	temp := f.Name()
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(temp)
		}
	}()
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return cause(err)
		}
	}
	if err := buffered(unnamed{f}, write); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return cause(err)
	}
	if err := moveTo(f, path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// unnamed is a writer whose errors do not tell the name of its file, a temporary one.
type unnamed struct{ io.Writer }

func (u unnamed) Write(p []byte) (int, error) {
	n, err := u.Writer.Write(p)
	return n, cause(err)
}

// cause returns err without the operation and the path that package os names in it: callers
// know the path that they asked for, and not the one of the temporary file.
func cause(err error) error {
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		return named.Err
	}
	return err
}

// buffered calls write with a buffer before f. A buffer repeats the error of f: it is
// asked to flush only where write has none.
func buffered(f io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// tempPath returns the name of a temporary file of base in dir.
func tempPath(dir, base string) string {
	return filepath.Join(dir, fmt.Sprintf(".%s.%016x.tmp", base, rand.Uint64()))
}

// syncDir makes a rename in dir durable where the system can. It reports no
// error: without it a crash may bring the old file back, never a torn one.
func syncDir(dir string) {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	_ = d.Sync()
}
