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
	"github.com/sinter-go/sinter/runtime/filemap"
	"github.com/sinter-go/sinter/runtime/option"
)

// Load reads the model in a file. Tensors that it keeps in other files are read from its
// directory, and from nowhere else: not through "..", nor through links that lead out.
// Parameters stay in the files and are read when they are used: as long as there is the model,
// no program may make the files shorter or change them. What a custom operator gets of them is
// read-only. Errors wrap ErrFormat, ErrUnsupported or what the file system says.
//
// Options: On, the device that the model runs on (the CPU); Plans, how many programs of
// runs whose shapes repeat, or of a large first run, are kept (16), 0 for none; Operators, those of custom domains.
func Load(name string, opts ...tensor.Option) (*Model, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	defer root.Close()
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	model, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return load(model, root.FS(), ".", opts)
}

// LoadFS is Load of a file in a file system, such as one that is embedded.
func LoadFS(fsys fs.FS, name string, opts ...tensor.Option) (*Model, error) {
	if fsys == nil {
		return nil, errors.New("onnx: load: no file system")
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	model, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return load(model, fsys, path.Dir(name), opts)
}

// LoadBytes is Load of a file's contents, which must not change afterwards. Tensors in
// other files are an error.
func LoadBytes(raw []byte, opts ...tensor.Option) (*Model, error) {
	return load(contentsOf{raw: raw}, nil, "", opts)
}

// A contentsOf is the contents of a file.
type contentsOf struct {
	raw    []byte
	mapped *filemap.File // nil where they are in memory of Go
}

// readFile returns the contents of a regular file and closes it.
func readFile(file fs.File) (c contentsOf, err error) {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return c, err
	}
	if !info.Mode().IsRegular() {
		return c, fmt.Errorf("%w: %q is not a regular file", ErrFormat, info.Name())
	}
	if of, ok := file.(*os.File); ok {
		if c.mapped, err = filemap.Open(of); err == nil {
			c.raw = c.mapped.Bytes()
		}
		return c, err
	}
	c.raw, err = io.ReadAll(file)
	return c, err
}

// keep returns what the contents stay for.
func (c contentsOf) keep() any {
	if c.mapped != nil {
		return c.mapped
	}
	return &c.raw
}

// load reads a model whose other files are in a directory of fsys.
func load(model contentsOf, fsys fs.FS, dir string, opts []tensor.Option) (m *Model, err error) {
	defer func() {
		if r := recover(); r != nil { // a mistake of this package, whatever the file says
			m, err = nil, fmt.Errorf("onnx: internal error: %v\n%s", r, debug.Stack())
		}
	}()
	o := option.Read(opts)
	on, kept, own := option.Get(&o, "On", device.CPU), o.Int("Plans", defaultPlans), option.Get(&o, "Operators", map[string]Operator(nil))
	if err := o.Err("On, Plans, Operators"); err != nil {
		return nil, fmt.Errorf("onnx: load: %w", err)
	}
	if kept < 0 {
		return nil, fmt.Errorf("onnx: load: at most %d programs, want 0 or more", kept)
	}
	file, err := format.ReadModel(model.raw)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	external := files{fsys: fsys, dir: dir, read: map[string]contentsOf{"": model}}
	b := &builder{file: file, own: own, keep: model.keep(), fetch: external.fetch, device: on, opsets: map[string]int{}, functions: map[functionKey]*format.Function{}, nodes: map[string]int{}}
	m, err = b.model()
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	m.plans.most = kept
	m.files = external.mappings()
	m.files.forget() // what runs use comes back
	return m, nil
}

// files are the model's own file, without a name, and its other ones, each read once.
type files struct {
	fsys fs.FS
	dir  string
	read map[string]contentsOf
}

// mappings returns those that are mapped.
func (f *files) mappings() (list mappings) {
	for _, c := range f.read {
		if c.mapped != nil {
			list = append(list, c.mapped)
		}
	}
	return list
}

// mappings are the files that a model's parameters are in.
type mappings []*filemap.File

// forget lets the system have what was read of the files until it is read again.
func (m mappings) forget() {
	for _, f := range m {
		f.Forget()
	}
}

// fetch returns the bytes that a tensor says are in another file, and what they stay for.
func (f *files) fetch(at map[string]string) (raw []byte, keep any, err error) {
	name := at["location"]
	if f.fsys == nil {
		return nil, nil, fmt.Errorf("%w: a tensor is in the file %q, and the model was given as bytes", ErrFormat, name)
	}
	full := path.Join(f.dir, filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) || !fs.ValidPath(full) {
		return nil, nil, fmt.Errorf("%w: a tensor is in the file %q, which is not in the model's directory", ErrFormat, name)
	}
	file, ok := f.read[full]
	if !ok {
		opened, err := f.fsys.Open(full)
		if err != nil {
			return nil, nil, err
		}
		if file, err = readFile(opened); err != nil {
			return nil, nil, err
		}
		f.read[full] = file
	}
	all := file.raw
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
		return nil, nil, err
	}
	length, err := number("length", max(int64(len(all))-offset, 0))
	if err != nil {
		return nil, nil, err
	}
	if offset > int64(len(all)) || length > int64(len(all))-offset || length > math.MaxInt {
		return nil, nil, fmt.Errorf("%w: %d bytes from %d of the file %q, which has %d", ErrFormat, length, offset, name, len(all))
	}
	return all[offset : offset+length], file.keep(), nil
}
