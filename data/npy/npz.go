package npy

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/sinter-go/sinter/data/internal/fileio"
)

// extension ends the name of each array in an archive.
const extension = ".npy"

// A Compression is how an archive keeps its arrays.
type Compression uint16

// The compressions: that of numpy.savez and that of numpy.savez_compressed.
const (
	Store   = Compression(zip.Store)
	Deflate = Compression(zip.Deflate)
)

// A Named is an array and its name in an archive, without ".npy".
type Named struct {
	Name string
	Array
}

// An Archive gives the arrays of an .npz file one by one. Its methods may be
// called by several goroutines at once.
type Archive struct {
	closer io.Closer // nil when the caller owns the reader
	names  []string
	files  map[string]*zip.File
}

// OpenArchive opens the .npz file at path. The caller closes it.
func OpenArchive(path string) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	a, err := openArchive(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	a.closer = f
	return a, nil
}

func openArchive(f *os.File) (*Archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	return NewArchive(f, info.Size())
}

// NewArchive reads the directory of an archive in r, which holds size bytes.
// The Archive reads from r as long as it is used; closing it leaves r open.
// Members that are not arrays are left out.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	if r == nil {
		return nil, errors.New("npz: there is no reader; NewArchive takes one that is not nil")
	}
	if fileio.IsPyTorch(r, size) {
		return nil, fmt.Errorf("npz: %w: %s", ErrFormat, fileio.PyTorchAdvice)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: %w: %w", ErrFormat, err)
	}
	a := &Archive{files: map[string]*zip.File{}}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, extension)
		if !ok {
			continue
		}
		if a.files[name] != nil {
			return nil, fmt.Errorf("npz: %w: array %q is there twice", ErrFormat, name)
		}
		a.files[name] = f
		a.names = append(a.names, name)
	}
	return a, nil
}

var errNil = errors.New("npz: a nil *npy.Archive; OpenArchive and NewArchive make one")

// Close closes a file that OpenArchive opened.
func (a *Archive) Close() error {
	if a == nil {
		return errNil
	}
	if a.closer == nil {
		return nil
	}
	return a.closer.Close()
}

// Names returns the arrays' names, without ".npy", in the archive's order.
func (a *Archive) Names() []string {
	if a == nil {
		return nil
	}
	return append([]string{}, a.names...)
}

// Read returns the array with the given name and checks its checksum. Memory
// grows as data arrives; what a compressed array expands to is its own size.
func (a *Archive) Read(name string) (Array, error) {
	if a == nil {
		return Array{}, errNil
	}
	f := a.files[name]
	if f == nil {
		return Array{}, fmt.Errorf("npz: %w: %q (have %q)", ErrNotFound, name, a.names)
	}
	r, err := f.Open()
	if err != nil {
		return Array{}, fmt.Errorf("npz: %w: array %q: %w", ErrFormat, name, err)
	}
	defer r.Close()
	array, err := readOnly(r, int64(min(f.UncompressedSize64, 1<<62)))
	if err != nil {
		return Array{}, fmt.Errorf("npz: array %q: %w", name, corrupt(err))
	}
	return array, nil
}

// corrupt marks what the zip reader found wrong as a fault of the file.
func corrupt(err error) error {
	var broken flate.CorruptInputError
	if errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || errors.As(err, &broken) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// ReadArchive reads all arrays of the .npz file at path, in its order.
func ReadArchive(path string) ([]Named, error) {
	a, err := OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	arrays := make([]Named, len(a.names))
	for i, name := range a.names {
		arrays[i].Name = name
		if arrays[i].Array, err = a.Read(name); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, path)
		}
	}
	return arrays, nil
}

// WriteArchive writes arrays to w as an .npz file, in their order. The same
// arrays give the same bytes. Nothing is written when one is not valid.
func WriteArchive(w io.Writer, arrays []Named, c Compression) error {
	if w == nil {
		return errors.New("npz: write: there is no writer; it takes one that is not nil")
	}
	if err := writeArchive(w, arrays, c); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}

// WriteArchiveFile writes arrays to the .npz file at path in one step: a reader,
// or a crash at any moment, sees the old file or all of the new one.
func WriteArchiveFile(path string, arrays []Named, c Compression) error {
	err := fileio.WriteFile(path, func(w io.Writer) error { return writeArchive(w, arrays, c) })
	if err != nil {
		return fmt.Errorf("npz: writing %s: %w", path, err)
	}
	return nil
}

func writeArchive(w io.Writer, arrays []Named, c Compression) error {
	if c != Store && c != Deflate {
		return fmt.Errorf("compression %d (have Store and Deflate)", c)
	}
	seen := make(map[string]bool, len(arrays))
	for _, a := range arrays {
		if err := a.check(); err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
		if seen[a.Name] {
			return fmt.Errorf("array %q is there twice", a.Name)
		}
		if !utf8.ValidString(a.Name) {
			return fmt.Errorf("array %q: the name is not UTF-8", a.Name)
		}
		seen[a.Name] = true
	}
	z := zip.NewWriter(w)
	for _, a := range arrays {
		member, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + extension, Method: uint16(c)})
		if err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
		if err := write(member, a.Array); err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
	}
	return z.Close()
}
