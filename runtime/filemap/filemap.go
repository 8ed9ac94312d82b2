// Package filemap gives the contents of files as memory that is read from them where the
// platform can do that, and only as far as it is used. It knows nothing of formats.
package filemap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"unsafe"
)

// A File is the contents of a file. They are never written, and stay as long as the File is
// reachable. Another program that makes the file shorter meanwhile takes them away: using
// them ends this one.
type File struct {
	data   []byte
	mapped bool
}

// Open returns the contents of a regular file, which may be closed afterwards.
func Open(f *os.File) (*File, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", f.Name())
	case info.Size() > math.MaxInt:
		return nil, fmt.Errorf("%s: %d bytes, too many for this platform", f.Name(), info.Size())
	case info.Size() == 0:
		return &File{}, nil
	}
	data, err := mapFile(f, int(info.Size()))
	if err == nil {
		m := &File{data, true}
		runtime.AddCleanup(m, func(data []byte) { _ = unmap(data) }, data)
		return m, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if data, err = io.ReadAll(f); err != nil {
		return nil, err
	}
	return &File{data: data}, nil
}

// Bytes returns the contents, which are the File's: they must not be written.
func (f *File) Bytes() []byte { return f.data }

// Forget lets the system have the memory that the contents take up until they are used again.
func (f *File) Forget() { f.ForgetPart(f.data) }

// ForgetPart is Forget of a part of the contents, but for pages that have more than it.
func (f *File) ForgetPart(part []byte) {
	if !f.mapped || len(part) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	base, first := unsafe.Pointer(unsafe.SliceData(f.data)), unsafe.Pointer(unsafe.SliceData(part))
	from := uintptr(first) - uintptr(base) // the contents begin with a page
	to := from + uintptr(len(part))
	if to < uintptr(len(f.data)) {
		to -= to % page
	}
	if from = (from + page - 1) / page * page; from < to {
		forget(f.data[from:to])
	}
	runtime.KeepAlive(f) // what is unmapped may be somebody else's memory, which would be lost
}
