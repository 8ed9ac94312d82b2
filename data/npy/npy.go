// Package npy reads and writes NumPy's array files: .npy, one array, and .npz,
// a zip archive of named arrays. It knows dtypes, shapes and bytes, nothing of
// tensors on devices.
//
//	a, err := npy.ReadFile("images.npy")
//	if err != nil {
//		return err
//	}
//	fmt.Println(a.DType, a.Shape)
//	images = tensor.FromBytes(a.Data, a.DType, a.Shape)
//
// Read, versions 1.0, 2.0 and 3.0, either byte order and either memory order;
// written, version 1.0, little-endian and row-major: the bytes that numpy.save
// writes. NumPy has no bfloat16; arrays of the ml_dtypes
// package that JAX and others use have dtype '<V2' in files, and this package
// reads and writes bfloat16 as that. Plain two-byte records are '|V2' and, as
// other dtypes that package ir lacks, an error.
package npy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sinter-go/sinter/data/internal/fileio"
	"github.com/sinter-go/sinter/ir"
)

const (
	// ErrFormat is wrapped by every error about bytes that are not a valid file.
	ErrFormat ir.Error = "not a valid npy or npz file"
	// ErrDType is wrapped by every error about a dtype that this module lacks.
	ErrDType ir.Error = "unsupported NumPy dtype"
	// ErrNotFound is wrapped by every error about a name an archive does not hold.
	ErrNotFound ir.Error = "no such array"
)

// An Array is an array in host memory.
type Array struct {
	DType ir.DType
	Shape []int  // empty for a scalar
	Data  []byte // little-endian, row-major; one byte, 0 or 1, a bool
}

// unbounded says that nothing is known of how many bytes follow.
const unbounded = -1

// Read reads one array from r and nothing after it, so that arrays written one
// after another can be read in turn; the error is io.EOF when r is at its end.
// Memory grows as data arrives.
func Read(r io.Reader) (Array, error) {
	if r == nil {
		return Array{}, errors.New("npy: read: there is no reader; it takes one that is not nil")
	}
	a, err := read(r, unbounded)
	if err != nil && err != io.EOF {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	return a, err
}

// ReadFile reads the file at path, which must hold one array and no more.
func ReadFile(path string) (Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	a, err := readOnly(f, info.Size())
	switch {
	case err != nil && fileio.IsPyTorch(f, info.Size()):
		return Array{}, fmt.Errorf("npy: %s: %w: %s", path, ErrFormat, fileio.PyTorchAdvice)
	case err != nil:
		return Array{}, fmt.Errorf("npy: %s: %w", path, err)
	}
	return a, nil
}

// readOnly reads one array from r and checks that nothing follows. Size is how
// many bytes r should hold.
func readOnly(r io.Reader, size int64) (Array, error) {
	a, err := read(r, size)
	if err != nil {
		return Array{}, ended(err)
	}
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n > 0 {
		return Array{}, fmt.Errorf("%w: more bytes follow the array", ErrFormat)
	} else if err != io.EOF { // a zip member's checksum is checked here
		return Array{}, err
	}
	return a, nil
}

// read reads one array. It gives up early when the header asks for more than
// size bytes, unless size is unbounded.
func read(r io.Reader, size int64) (Array, error) {
	h, err := readHeader(r)
	if err != nil {
		return Array{}, err
	}
	n := ir.NumElements(h.shape) * h.dtype.Size()
	if size != unbounded && int64(n) > size {
		return Array{}, fmt.Errorf("%w: %v%d takes %d bytes and the file has %d", ErrFormat, h.dtype, h.shape, n, size)
	}
	data, err := fileio.ReadN(r, n)
	if err != nil {
		return Array{}, fmt.Errorf("%v%d: %w", h.dtype, h.shape, ended(err))
	}
	if h.bigEndian {
		swapBytes(data, h.dtype)
	}
	if h.fortran {
		data = rowMajor(data, h.shape, h.dtype.Size())
	}
	if err := checkBools(h.dtype, data); err != nil {
		return Array{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return Array{h.dtype, h.shape, data}, nil
}

// ended marks the end of the input as a fault of the file; other errors are the
// reader's.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

// swapBytes reverses the bytes of each number in data; a complex one has two.
func swapBytes(data []byte, d ir.DType) {
	size := d.Real().Size()
	for i := 0; i+size <= len(data); i += size {
		slices.Reverse(data[i : i+size])
	}
}

// rowMajor returns the elements of data, which vary fastest along the first
// axis of shape, with the last axis fastest.
func rowMajor(data []byte, shape []int, size int) []byte {
	// Axes of extent 1 do not move anything.
	dims := slices.DeleteFunc(slices.Clone(shape), func(d int) bool { return d == 1 })
	if len(dims) < 2 || len(data) == 0 {
		return data
	}
	strides, step := make([]int, len(dims)), size // in bytes
	for i, d := range dims {
		strides[i] = step
		step *= d
	}
	out := make([]byte, len(data))
	last := len(dims) - 1
	index := make([]int, last)
	for at, from := 0, 0; at < len(out); {
		for range dims[last] {
			copy(out[at:at+size], data[from:])
			at += size
			from += strides[last]
		}
		from -= dims[last] * strides[last]
		for i := last - 1; i >= 0; i-- {
			index[i]++
			from += strides[i]
			if index[i] < dims[i] {
				break
			}
			from -= dims[i] * strides[i]
			index[i] = 0
		}
	}
	return out
}

// checkBools reports a bool that is stored as neither 0 nor 1.
func checkBools(d ir.DType, data []byte) error {
	if d != ir.Bool {
		return nil
	}
	if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
		return fmt.Errorf("bool element %d is stored as %d; want 0 or 1", i, data[i])
	}
	return nil
}

// Write writes a to w. Nothing is written when a is not valid.
func Write(w io.Writer, a Array) error {
	if w == nil {
		return errors.New("npy: write: there is no writer; it takes one that is not nil")
	}
	if err := write(w, a); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

// WriteFile writes a to the file at path in one step: a reader, or a crash at
// any moment, sees the old file or all of the new one.
func WriteFile(path string, a Array) error {
	err := fileio.WriteFile(path, func(w io.Writer) error { return write(w, a) })
	if err != nil {
		return fmt.Errorf("npy: writing %s: %w", path, err)
	}
	return nil
}

func write(w io.Writer, a Array) error {
	if err := a.check(); err != nil {
		return err
	}
	if _, err := w.Write(appendHeader(nil, a.DType, a.Shape)); err != nil {
		return err
	}
	_, err := w.Write(a.Data)
	return err
}

func (a Array) check() error {
	if _, ok := descrs[a.DType]; !ok {
		return fmt.Errorf("%w %v (have %v)", ErrDType, a.DType, ir.AllDTypes())
	}
	if err := checkShape(a.Shape); err != nil {
		return err
	}
	if size := ir.NumElements(a.Shape) * a.DType.Size(); len(a.Data) != size {
		return fmt.Errorf("%d bytes of data; %v%d takes %d", len(a.Data), a.DType, a.Shape, size)
	}
	return checkBools(a.DType, a.Data)
}
