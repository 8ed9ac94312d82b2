// Package torchfile reads the tensors of files that PyTorch's torch.save wrote, such as
// state dictionaries and checkpoints (.pt, .pth). It knows dtypes, shapes and bytes,
// nothing of tensors on devices or of models, and runs nothing of what a file says.
//
//	file, err := torchfile.Open("model.pt")
//	if err != nil {
//		return err
//	}
//	defer file.Close()
//	for _, name := range file.Names() {
//		t, err := file.Read(name)
//		if err != nil {
//			return err
//		}
//		fmt.Println(name, t.DType, t.Shape)
//	}
//
// A file is a zip archive: data.pkl is a pickle, a program for a machine that builds Python
// objects, and a member for each storage has its bytes. The machine here builds
// dictionaries, lists, tuples, numbers, texts, and tensors; whatever else a file wants to
// build is refused by its name. Tensors in dictionaries within dictionaries, and in lists,
// are named by the keys that lead to them, with dots between: "model.fc.weight",
// "optimizer.state.0.exp_avg".
//
// Files of PyTorch before 1.6, which are no archives, are refused, as are those of
// TorchScript, which have programs of their own.
package torchfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/data/internal/fileio"
	"github.com/sinter-go/sinter/ir"
)

const (
	// ErrFormat is wrapped by every error about bytes that are not such a file.
	ErrFormat ir.Error = "not a valid file of torch.save"
	// ErrRefused is wrapped by every error about what a valid file may have and is not
	// read: objects of other classes, and tensors of other layouts.
	ErrRefused ir.Error = "not read here"
	// ErrDType is wrapped by every error about a dtype that this module lacks.
	ErrDType ir.Error = "unsupported dtype in a file of torch.save"
	// ErrNotFound is wrapped by every error about a name the file does not hold.
	ErrNotFound ir.Error = "no such tensor in the file of torch.save"
)

// A Tensor is a named array in host memory.
type Tensor struct {
	Name  string
	DType ir.DType
	Shape []int  // empty for a scalar
	Data  []byte // little-endian, row-major; one byte, 0 or 1, a bool
}

// An Info describes a tensor in a file.
type Info struct {
	Name    string
	DType   ir.DType // ir.Invalid when this module lacks the dtype
	Stored  string   // the file's name of the dtype, such as "torch.FloatStorage" or "torch.uint16"
	Shape   []int
	Strides []int // in elements of the storage, which other tensors may share
}

// A File gives the tensors of a file one by one, reading only what is asked for. Its
// methods may be called by several goroutines at once.
type File struct {
	r        io.ReaderAt
	closer   io.Closer // nil when the caller owns the reader
	members  map[string]*zip.File
	big      bool // the storages are big-endian
	names    []string
	tensors  map[string]*array
	metadata map[string]string
}

// Open opens the file at path and reads what it says of its tensors. The caller closes it.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("torchfile: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("torchfile: %w", err), f.Close())
	}
	file, err := NewFile(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (%s)", err, path), f.Close())
	}
	file.closer = f
	return file, nil
}

// NewFile reads what a file says of its tensors from r, which holds size bytes. The File
// reads from r as long as it is used; closing it leaves r open.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	if r == nil {
		return nil, errors.New("torchfile: there is no reader; NewFile takes one that is not nil")
	}
	f := &File{r: r, members: map[string]*zip.File{}, tensors: map[string]*array{}}
	if err := f.read(r, size); err != nil {
		return nil, fmt.Errorf("torchfile: %w", err)
	}
	return f, nil
}

func (f *File) read(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		if fileio.IsPyTorch(r, size) {
			return fmt.Errorf("%w: a file of PyTorch before 1.6; load it with a newer one and save it again", ErrRefused)
		}
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	root := ""
	at := slices.IndexFunc(z.File, func(m *zip.File) bool { return m.Name == pickled || strings.HasSuffix(m.Name, "/"+pickled) })
	if at >= 0 {
		root = strings.TrimSuffix(z.File[at].Name, pickled)
	}
	for _, m := range z.File {
		name, ok := strings.CutPrefix(m.Name, root)
		if !ok {
			continue
		}
		if f.members[name] != nil {
			return fmt.Errorf("%w: the member %s is there twice", ErrFormat, m.Name)
		}
		if m.UncompressedSize64 > uint64(size) {
			return fmt.Errorf("%w: the member %s would have %d bytes, the file has %d", ErrFormat, m.Name, m.UncompressedSize64, size)
		}
		f.members[name] = m
	}
	order, err := f.order()
	if err != nil {
		return err
	}
	f.big = order == "big"
	program, err := f.member(pickled)
	if err != nil {
		return err
	}
	top, err := run(program)
	if err != nil {
		return err
	}
	w := walk{f: f, left: len(program)}
	return w.visit("", top, 0)
}

// pickled is the member that describes all others.
const pickled = "data.pkl"

// order returns the byte order of the storages.
func (f *File) order() (string, error) {
	if f.members["byteorder"] == nil {
		return "little", nil
	}
	text, err := f.member("byteorder")
	if err == nil && string(text) != "little" && string(text) != "big" {
		err = fmt.Errorf("%w: byte order %q; want little or big", ErrFormat, text)
	}
	return string(text), err
}

// stored returns the entry of a member.
func (f *File) stored(name string) (*zip.File, error) {
	m := f.members[name]
	if m == nil {
		return nil, fmt.Errorf("%w: there is no member %s", ErrFormat, name)
	}
	if m.Method != zip.Store {
		return nil, fmt.Errorf("%w: the member %s is compressed, which torch.save never does", ErrFormat, name)
	}
	return m, nil
}

// part returns bytes of a member, without looking at its checksum.
func (f *File) part(name string, from, n int) ([]byte, error) {
	m, err := f.stored(name)
	if err != nil {
		return nil, err
	}
	at, err := m.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("%w: member %s: %w", ErrFormat, name, err)
	}
	raw, err := fileio.ReadN(io.NewSectionReader(f.r, at+int64(from), int64(n)), n)
	if err != nil {
		return nil, fmt.Errorf("%w: member %s: %w", ErrFormat, name, err)
	}
	return raw, nil
}

// member returns the content of a member, and checks its checksum.
func (f *File) member(name string) ([]byte, error) {
	m, err := f.stored(name)
	if err != nil {
		return nil, err
	}
	r, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: member %s: %w", ErrFormat, name, err)
	}
	defer r.Close()
	raw, err := fileio.ReadN(r, int(m.UncompressedSize64))
	if err == nil {
		_, err = r.Read(make([]byte, 1)) // its end is where the checksum is compared
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: member %s: %w", ErrFormat, name, err)
	}
	return raw, nil
}

var errNil = errors.New("torchfile: a nil *torchfile.File; Open and NewFile make one")

// Close closes a file that Open opened.
func (f *File) Close() error {
	switch {
	case f == nil:
		return errNil
	case f.closer == nil:
		return nil
	}
	return f.closer.Close()
}

// Metadata returns the numbers, truth values and texts that stand beside the tensors, as text
// under names like theirs; nil when there are none.
func (f *File) Metadata() map[string]string {
	if f == nil || len(f.metadata) == 0 {
		return nil
	}
	return maps.Clone(f.metadata)
}

// Names returns the tensors' names in the order of the file's dictionaries. A file that is
// one tensor has the name "".
func (f *File) Names() []string {
	if f == nil {
		return nil
	}
	return slices.Clone(f.names)
}

// Info describes the tensor with the given name, also when its dtype is one that Read does
// not support.
func (f *File) Info(name string) (Info, error) {
	a, err := f.find(name)
	if err != nil {
		return Info{}, err
	}
	return Info{name, a.dtype(), a.stored(), slices.Clone(a.shape), slices.Clone(a.strides)}, nil
}

func (f *File) find(name string) (*array, error) {
	if f == nil {
		return nil, errNil
	}
	a := f.tensors[name]
	if a == nil {
		return nil, fmt.Errorf("torchfile: %w: %q", ErrNotFound, name)
	}
	return a, nil
}

// Read returns the tensor with the given name. The caller owns its data.
func (f *File) Read(name string) (Tensor, error) {
	a, err := f.find(name)
	if err != nil {
		return Tensor{}, err
	}
	raw, err := f.elements(a)
	if err != nil {
		return Tensor{}, fmt.Errorf("torchfile: tensor %q: %w", name, err)
	}
	return Tensor{name, a.dtype(), slices.Clone(a.shape), raw}, nil
}
