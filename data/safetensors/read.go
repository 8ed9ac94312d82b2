package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/sinter-go/sinter/data/internal/fileio"
	"github.com/sinter-go/sinter/ir"
)

// A File gives the tensors of a file one by one, reading only what is asked
// for. Its methods may be called by several goroutines at once.
type File struct {
	r      io.ReaderAt
	closer io.Closer // nil when the caller owns r
	header header
	index  map[string]int // into header.entries
	base   int64          // where the data begins
}

// Open opens the file at path and checks its header and size. The caller closes
// it.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	file, err := open(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	file.closer = f
	return file, nil
}

func open(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return NewFile(f, info.Size())
}

// NewFile reads a file's header from r, which holds size bytes. The File reads
// from r as long as it is used; closing it leaves r open.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	if r == nil {
		return nil, errors.New("safetensors: there is no reader; NewFile takes one that is not nil")
	}
	s := io.NewSectionReader(r, 0, size)
	h, base, err := readHeader(s)
	switch {
	case err != nil && fileio.IsPyTorch(r, size):
		return nil, fmt.Errorf("safetensors: %w: %s", ErrFormat, fileio.PyTorchAdvice)
	case err != nil:
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if size-base != h.data {
		return nil, fmt.Errorf("safetensors: %w: %d bytes of data where the tensors take %d", ErrFormat, size-base, h.data)
	}
	f := &File{r: r, header: h, index: make(map[string]int, len(h.entries)), base: base}
	for i, e := range h.entries {
		f.index[e.Name] = i
	}
	return f, nil
}

// readHeader reads the length and the header, and returns how many bytes these
// took.
func readHeader(r io.Reader) (h header, base int64, err error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return h, 0, fmt.Errorf("header length: %w", ended(err))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > MaxHeader {
		return h, 0, fmt.Errorf("%w: header of %d bytes; at most %d are accepted", ErrFormat, n, MaxHeader)
	}
	raw, err := fileio.ReadN(r, int(n))
	if err != nil {
		return h, 0, fmt.Errorf("header: %w", ended(err))
	}
	h, err = parseHeader(raw)
	return h, 8 + int64(n), err
}

// ended marks the end of the input as a fault of the file; other errors are the
// reader's.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}

var errNil = errors.New("safetensors: a nil *safetensors.File; Open makes one")

// Close closes a file that Open opened.
func (f *File) Close() error {
	if f == nil {
		return errNil
	}
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Metadata returns a copy of the file's free-form texts; nil when it has none.
func (f *File) Metadata() map[string]string {
	if f == nil {
		return nil
	}
	return maps.Clone(f.header.metadata)
}

// Names returns the tensors' names in the order of their data.
func (f *File) Names() []string {
	if f == nil {
		return nil
	}
	names := make([]string, len(f.header.entries))
	for i, e := range f.header.entries {
		names[i] = e.Name
	}
	return names
}

// Info describes the tensor with the given name, also when its dtype is one
// that Read does not support.
func (f *File) Info(name string) (Info, error) {
	if f == nil {
		return Info{}, errNil
	}
	i, ok := f.index[name]
	if !ok {
		return Info{}, fmt.Errorf("safetensors: %w: %q", ErrNotFound, name)
	}
	info := f.header.entries[i].Info
	info.Shape = slices.Clone(info.Shape)
	return info, nil
}

// Read returns the tensor with the given name. The caller owns its data.
func (f *File) Read(name string) (Tensor, error) {
	info, err := f.readable(name)
	if err != nil {
		return Tensor{}, err
	}
	data := make([]byte, info.Bytes) // the file is known to be this long
	if err := f.ReadInto(name, data); err != nil {
		return Tensor{}, err
	}
	return Tensor{name, info.DType, info.Shape, data}, nil
}

// ReadInto reads the data of the tensor with the given name into dst, whose
// length must be the tensor's size in bytes.
func (f *File) ReadInto(name string, dst []byte) error {
	info, err := f.readable(name)
	if err != nil {
		return err
	}
	if int64(len(dst)) != info.Bytes {
		return fmt.Errorf("safetensors: tensor %q: %d bytes given for %d", name, len(dst), info.Bytes)
	}
	at := f.base + f.header.entries[f.index[name]].start
	if n, err := f.r.ReadAt(dst, at); n < len(dst) {
		return fmt.Errorf("safetensors: tensor %q: read %d of %d bytes: %w", name, n, len(dst), err)
	}
	if err := checkBools(info.DType, dst); err != nil {
		return fmt.Errorf("safetensors: %w: tensor %q: %w", ErrFormat, name, err)
	}
	return nil
}

// readable returns the description of a tensor that memory can hold.
func (f *File) readable(name string) (Info, error) {
	info, err := f.Info(name)
	if err != nil {
		return Info{}, err
	}
	if err := info.check(); err != nil {
		return Info{}, fmt.Errorf("safetensors: %w", err)
	}
	return info, nil
}

func (i Info) check() error {
	if i.DType == ir.Invalid {
		return fmt.Errorf("tensor %q: %w %s (have %v)", i.Name, ErrDType, i.Stored, supported)
	}
	if i.Bytes > math.MaxInt {
		return fmt.Errorf("tensor %q: %d bytes do not fit in memory", i.Name, i.Bytes)
	}
	return nil
}

// Read reads all tensors, in the order of their data, and the metadata from r,
// which it reads to its end. Memory grows as data arrives.
func Read(r io.Reader) ([]Tensor, map[string]string, error) {
	if r == nil {
		return nil, nil, errors.New("safetensors: read: there is no reader; it takes one that is not nil")
	}
	h, _, err := readHeader(r)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	tensors := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		if err := e.check(); err != nil {
			return nil, nil, fmt.Errorf("safetensors: %w", err)
		}
		data, err := fileio.ReadN(r, int(e.Bytes))
		if err != nil {
			return nil, nil, fmt.Errorf("safetensors: tensor %q: %w", e.Name, ended(err))
		}
		if err := checkBools(e.DType, data); err != nil {
			return nil, nil, fmt.Errorf("safetensors: %w: tensor %q: %w", ErrFormat, e.Name, err)
		}
		tensors[i] = Tensor{e.Name, e.DType, e.Shape, data}
	}
	var one [1]byte
	if _, err := io.ReadFull(r, one[:]); err == nil {
		return nil, nil, fmt.Errorf("safetensors: %w: more bytes follow the %d of the tensors", ErrFormat, h.data)
	} else if err != io.EOF {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	return tensors, h.metadata, nil
}

// ReadFile reads all tensors, in the order of their data, and the metadata of
// the file at path.
func ReadFile(path string) ([]Tensor, map[string]string, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors := make([]Tensor, len(f.header.entries))
	for i, e := range f.header.entries {
		if tensors[i], err = f.Read(e.Name); err != nil {
			return nil, nil, fmt.Errorf("%w (%s)", err, path)
		}
	}
	return tensors, f.Metadata(), nil
}
