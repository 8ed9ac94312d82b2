package onnx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// Load reads the model in a file. Tensors that it keeps in other files are read from its
// directory, and from nowhere else: not through "..", nor through links that lead out.
// Errors wrap ErrFormat, ErrUnsupported or what the file system says.
//
// Options: On, the device that the model runs on (the CPU); Plans, how many programs of
// runs whose shapes repeat are kept (16), 0 for none.
func Load(name string, opts ...tensor.Option) (*Model, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	defer root.Close()
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return load(raw, root.FS(), ".", opts)
}

// LoadFS is Load of a file in a file system, such as one that is embedded.
func LoadFS(fsys fs.FS, name string, opts ...tensor.Option) (*Model, error) {
	if fsys == nil {
		return nil, errors.New("onnx: load: no file system")
	}
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return load(raw, fsys, path.Dir(name), opts)
}

// LoadBytes is Load of a file's contents, which must not change afterwards. Tensors in
// other files are an error.
func LoadBytes(raw []byte, opts ...tensor.Option) (*Model, error) { return load(raw, nil, "", opts) }

// load reads a model whose other files are in a directory of fsys.
func load(raw []byte, fsys fs.FS, dir string, opts []tensor.Option) (m *Model, err error) {
	defer func() {
		if r := recover(); r != nil { // a mistake of this package, whatever the file says
			m, err = nil, fmt.Errorf("onnx: internal error: %v\n%s", r, debug.Stack())
		}
	}()
	o := option.Read(opts)
	on, kept := option.Get(&o, "On", device.CPU), o.Int("Plans", defaultPlans)
	if err := o.Err("On, Plans"); err != nil {
		return nil, fmt.Errorf("onnx: load: %w", err)
	}
	if kept < 0 {
		return nil, fmt.Errorf("onnx: load: at most %d programs, want 0 or more", kept)
	}
	file, err := format.ReadModel(raw)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	external := files{fsys: fsys, dir: dir, read: map[string][]byte{}}
	b := &builder{file: file, fetch: external.fetch, device: on, opsets: map[string]int{}, functions: map[functionKey]*format.Function{}, nodes: map[string]int{}}
	m, err = b.model()
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	m.plans.most = kept
	return m, nil
}

// files are the other files of a model, each read once.
type files struct {
	fsys fs.FS
	dir  string
	read map[string][]byte
}

// fetch returns the bytes that a tensor says are in another file.
func (f *files) fetch(at map[string]string) ([]byte, error) {
	name := at["location"]
	if f.fsys == nil {
		return nil, fmt.Errorf("%w: a tensor is in the file %q, and the model was given as bytes", ErrFormat, name)
	}
	full := path.Join(f.dir, filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) || !fs.ValidPath(full) {
		return nil, fmt.Errorf("%w: a tensor is in the file %q, which is not in the model's directory", ErrFormat, name)
	}
	all, ok := f.read[full]
	if !ok {
		file, err := f.fsys.Open(full)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %q is not a regular file", ErrFormat, name)
		}
		if all, err = io.ReadAll(file); err != nil {
			return nil, err
		}
		f.read[full] = all
	}
	number := func(key string, missing int64) (int64, error) {
		s, ok := at[key]
		if !ok {
			return missing, nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 {
			return 0, fmt.Errorf("%w: %s %q of a tensor in the file %q", ErrFormat, key, s, name)
		}
		return v, nil
	}
	offset, err := number("offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := number("length", max(int64(len(all))-offset, 0))
	if err != nil {
		return nil, err
	}
	if offset > int64(len(all)) || length > int64(len(all))-offset || length > math.MaxInt {
		return nil, fmt.Errorf("%w: %d bytes from %d of the file %q, which has %d", ErrFormat, length, offset, name, len(all))
	}
	return all[offset : offset+length], nil
}
