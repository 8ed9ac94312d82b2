// Package shm makes host memory that processes of one machine share. It belongs to no file
// that stays: what a process made is gone with the last process that has it open, however
// that ends. The package knows nothing of devices and tensors.
package shm

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// A Segment is memory that this process made or opened.
type Segment struct {
	Data unsafe.Pointer // the first byte, at the start of a page
	Name string         // what another process opens it by, while this one has it open
	file *os.File
	view []byte
}

// Create makes a segment of zeros, of bytes > 0.
func Create(bytes int64) (*Segment, error) {
	f, err := anonymous()
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if err := f.Truncate(bytes); err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return mapped(f, name(f), bytes)
}

// Open opens a segment of another process, which has it open, by its name.
func Open(name string, bytes int64) (*Segment, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() < bytes {
		f.Close()
		return nil, fmt.Errorf("shared memory: %s has not %d bytes: %w", name, bytes, err)
	}
	return mapped(f, name, bytes)
}

func mapped(f *os.File, name string, bytes int64) (*Segment, error) {
	view, err := mapFile(f, bytes)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory: %d bytes: %w", bytes, err)
	}
	return &Segment{Data: unsafe.Pointer(unsafe.SliceData(view)), Name: name, file: f, view: view}, nil
}

// Close gives up what this process has of the segment, whose memory it does not use any more.
func (s *Segment) Close() error {
	err := unmap(s.view)
	if closed := s.file.Close(); err == nil {
		err = closed
	}
	return err
}

// A File is a few bytes that a process shows to others, with a lock that ends with the process.
type File struct {
	Name string
	file *os.File
}

// Publish makes a file of the given content.
func Publish(content []byte) (*File, error) {
	f, err := anonymous()
	if err != nil {
		return nil, fmt.Errorf("shared file: %w", err)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("shared file: %w", err)
	}
	return &File{name(f), f}, nil
}

// Find opens a file that another process has open, and returns its content.
func Find(name string) (*File, []byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || info.Size() > maxContent {
		f.Close()
		return nil, nil, fmt.Errorf("shared file %s: not of this package: %w", name, err)
	}
	content := make([]byte, info.Size())
	if _, err := f.ReadAt(content, 0); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("shared file %s: %w", name, err)
	}
	return &File{name, f}, content, nil
}

// maxContent is the most that is read of a file.
const maxContent = 1 << 20

// Close gives the file up, and its lock.
func (f *File) Close() error { return f.file.Close() }

// Lock takes the file's lock, for this process alone or together with others that share it,
// and reports whether it could: it does not wait. It ends with Unlock, Close or the process.
func (f *File) Lock(alone bool) (bool, error) { return lock(f.file, alone) }

// Unlock gives the lock back.
func (f *File) Unlock() error { return unlock(f.file) }

// Process returns which process made what a name names; 0 where it is not one of this package.
func Process(name string) int {
	rest, ok := strings.CutPrefix(name, "/proc/")
	pid, fd, found := strings.Cut(rest, "/fd/")
	n, err := strconv.Atoi(pid)
	if _, bad := strconv.Atoi(fd); !ok || !found || err != nil || bad != nil || n < 1 {
		return 0
	}
	return n
}
