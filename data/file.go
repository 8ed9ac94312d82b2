package data

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-go/sinter/data/npy"
	"github.com/sinter-go/sinter/data/safetensors"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// SaveTensors writes tensors and metadata, which may be nil, to the safetensors
// file at path in one step: a reader, or a crash at any moment, sees the old
// file or all of the new one. Tensors may be on any device and of any layout;
// the file holds their elements row-major and to the bit. Nothing is written
// when one carries an error.
func SaveTensors(path string, tensors map[string]tensor.Tensor, metadata map[string]string) error {
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

// LoadTensors reads all tensors of the safetensors file at path to device d, and
// the file's metadata, nil when it has none. It returns all or, with an error,
// none; one tensor at a time is held in host memory.
func LoadTensors(path string, d device.Device) (tensors map[string]tensor.Tensor, metadata map[string]string, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, err = loadAll(path, f.Names(), func(name string) (tensor.Tensor, error) {
		t, err := f.Read(name)
		if err != nil {
			return tensor.Tensor{}, err
		}
		return fromLittleEndian(t.Data, t.DType, t.Shape, d), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tensors, f.Metadata(), nil
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

// SaveArrays writes tensors to the .npz file at path in one step, by ascending
// name; npy.Store is as numpy.savez, npy.Deflate as numpy.savez_compressed.
func SaveArrays(path string, tensors map[string]tensor.Tensor, c npy.Compression) error {
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
