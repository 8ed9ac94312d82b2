package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/data/internal/fileio"
	"github.com/sinter-go/sinter/data/npy"
	"github.com/sinter-go/sinter/data/safetensors"
	"github.com/sinter-go/sinter/data/torchfile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Option is an optional argument of functions that write files, of the type that all
// optional arguments have. Each says which it takes, and returns an error for others.
type Option = tensor.Option

// Metadata is text by key to keep in a file beside the tensors. It is an option of
// SaveTensors, which keeps none unless given.
func Metadata(m map[string]string) Option { return option.Value("Metadata", m) }

// Compressed makes a file smaller, and slower to write and to read. It is an option of
// SaveArrays.
func Compressed(on ...bool) Option { return option.Flag("Compressed", on) }

// SaveTensors writes tensors to the safetensors file at path in one step: a reader, or a
// crash at any moment, sees the old file or all of the new one. Tensors may be on any
// device and of any layout; the file holds their elements row-major and to the bit.
// Nothing is written when one carries an error. Options: Metadata.
func SaveTensors(path string, tensors map[string]tensor.Tensor, opts ...Option) error {
	o := option.Read(opts)
	metadata := option.Get[map[string]string](&o, "Metadata", nil)
	if err := o.Err("Metadata"); err != nil {
		return fmt.Errorf("data: save %s: %w", path, err)
	}
	list := make([]safetensors.Tensor, 0, len(tensors))
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		raw, err := littleEndian(t)
		if err != nil {
			return fmt.Errorf("data: save %s: tensor %q: %w", path, name, err)
		}
		list = append(list, safetensors.Tensor{Name: name, DType: t.DType(), Shape: t.Shape(), Data: raw})
	}
	return safetensors.WriteFile(path, list, metadata)
}

// LoadTensors reads all tensors of the file at path to device d, and its metadata, nil when
// it has none. The file is one of safetensors, an index of several (*.json), or one that
// PyTorch's torch.save wrote (package torchfile says what is read of those). It returns all
// or, with an error, none; one tensor at a time is held in host memory.
func LoadTensors(path string, d device.Device) (tensors map[string]tensor.Tensor, metadata map[string]string, err error) {
	f, err := openTensors(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return f.load(path, d)
}

// ReadTensors reads a file from r, such as one that the program embeds, as LoadTensors reads
// one from a path. It reads r to its end and holds the file in memory meanwhile.
func ReadTensors(r io.Reader, d device.Device) (tensors map[string]tensor.Tensor, metadata map[string]string, err error) {
	if r == nil {
		return nil, nil, errors.New("data: read: there is no reader; it takes one that is not nil")
	}
	b := bufio.NewReader(r)
	if start, _ := b.Peek(2); fileio.MayBePyTorch(start) {
		raw, err := io.ReadAll(b)
		if err != nil {
			return nil, nil, fmt.Errorf("data: read: %w", err)
		}
		in, size := bytes.NewReader(raw), int64(len(raw))
		if fileio.IsPyTorch(in, size) {
			f, err := torchfile.NewFile(in, size)
			if err != nil {
				return nil, nil, err
			}
			return ofPyTorch(f).load("torchfile", d)
		}
		b.Reset(in)
	}
	list, metadata, err := safetensors.Read(b)
	if err != nil {
		return nil, nil, err
	}
	f := tensorFile{metadata: metadata}
	raw := make(map[string]safetensors.Tensor, len(list))
	for _, t := range list {
		f.names = append(f.names, t.Name)
		raw[t.Name] = t
	}
	f.read = func(name string) (safetensors.Tensor, error) { return raw[name], nil }
	return f.load("safetensors", d)
}

// A tensorFile is a file of named tensors in one of the formats.
type tensorFile struct {
	io.Closer
	names    []string
	metadata map[string]string
	read     func(name string) (safetensors.Tensor, error)
}

// load reads every tensor of the file, which messages call what.
func (f tensorFile) load(what string, d device.Device) (map[string]tensor.Tensor, map[string]string, error) {
	tensors, err := loadAll(what, f.names, func(name string) (tensor.Tensor, error) {
		t, err := f.read(name)
		if err != nil {
			return tensor.Tensor{}, err
		}
		return fromLittleEndian(t.Data, t.DType, t.Shape, d), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tensors, f.metadata, nil
}

// openTensors opens a file of tensors in the format that it has.
func openTensors(path string) (tensorFile, error) {
	if strings.HasSuffix(path, ".json") {
		f, err := safetensors.OpenSharded(path)
		if err != nil {
			return tensorFile{}, err
		}
		return tensorFile{f, f.Names(), f.Metadata(), f.Read}, nil
	}
	if fileio.IsPyTorchFile(path) {
		f, err := torchfile.Open(path)
		if err != nil {
			return tensorFile{}, err
		}
		return ofPyTorch(f), nil
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return tensorFile{}, err
	}
	return tensorFile{f, f.Names(), f.Metadata(), f.Read}, nil
}

func ofPyTorch(f *torchfile.File) tensorFile {
	return tensorFile{f, f.Names(), f.Metadata(), func(name string) (safetensors.Tensor, error) {
		t, err := f.Read(name)
		return safetensors.Tensor(t), err
	}}
}

// SaveArray writes t to the .npy file at path in one step, row-major and to the
// bit.
func SaveArray(path string, t tensor.Tensor) error {
	raw, err := littleEndian(t)
	if err != nil {
		return fmt.Errorf("data: save %s: %w", path, err)
	}
	return npy.WriteFile(path, npy.Array{DType: t.DType(), Shape: t.Shape(), Data: raw})
}

// LoadArray reads the .npy file at path to device d.
func LoadArray(path string, d device.Device) (tensor.Tensor, error) {
	a, err := npy.ReadFile(path)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := fromLittleEndian(a.Data, a.DType, a.Shape, d)
	if err := t.Err(); err != nil {
		return tensor.Tensor{}, fmt.Errorf("data: load %s: %w", path, err)
	}
	return t, nil
}

// SaveArrays writes tensors to the .npz file at path in one step, by ascending name, as
// numpy.savez does, or with Compressed as numpy.savez_compressed. Options: Compressed.
func SaveArrays(path string, tensors map[string]tensor.Tensor, opts ...Option) error {
	o := option.Read(opts)
	c := npy.Store
	if o.Flag("Compressed", false) {
		c = npy.Deflate
	}
	if err := o.Err("Compressed"); err != nil {
		return fmt.Errorf("data: save %s: %w", path, err)
	}
	list := make([]npy.Named, 0, len(tensors))
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		raw, err := littleEndian(t)
		if err != nil {
			return fmt.Errorf("data: save %s: array %q: %w", path, name, err)
		}
		list = append(list, npy.Named{Name: name, Array: npy.Array{DType: t.DType(), Shape: t.Shape(), Data: raw}})
	}
	return npy.WriteArchiveFile(path, list, c)
}

// LoadArrays reads all arrays of the .npz file at path to device d. It returns
// all or, with an error, none; one array at a time is held in host memory.
func LoadArrays(path string, d device.Device) (map[string]tensor.Tensor, error) {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return loadAll(path, a.Names(), func(name string) (tensor.Tensor, error) {
		t, err := a.Read(name)
		if err != nil {
			return tensor.Tensor{}, err
		}
		return fromLittleEndian(t.Data, t.DType, t.Shape, d), nil
	})
}

// loadAll reads every name; when one fails those before it are released.
func loadAll(path string, names []string, read func(name string) (tensor.Tensor, error)) (map[string]tensor.Tensor, error) {
	out := make(map[string]tensor.Tensor, len(names))
	for _, name := range names {
		t, err := read(name)
		if err == nil {
			err = t.Err()
		}
		if err != nil {
			for _, t := range out {
				t.Release()
			}
			return nil, fmt.Errorf("data: load %s: %q: %w", path, name, err)
		}
		out[name] = t
	}
	return out, nil
}

// littleEndian returns t's elements, row-major, in the byte order of files.
func littleEndian(t tensor.Tensor) ([]byte, error) {
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	if bigEndian {
		swapBytes(raw, numberSize(t.DType()))
	}
	return raw, nil
}

// fromLittleEndian returns a tensor of elements in the byte order of files. It
// may change raw.
func fromLittleEndian(raw []byte, d tensor.DType, shape []int, on device.Device) tensor.Tensor {
	if bigEndian {
		swapBytes(raw, numberSize(d))
	}
	return tensor.FromBytes(raw, d, shape, tensor.On(on))
}
