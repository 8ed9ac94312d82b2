package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/data/internal/fileio"
)

// A Sharded gives the tensors of several files, of which an index says which has which. Its
// methods may be called by several goroutines at once.
type Sharded struct {
	files    map[string]*File // by name beside the index
	of       map[string]*File // by tensor
	names    []string
	metadata map[string]string
}

// OpenSharded opens the index at path, as model.safetensors.index.json is, and the files
// beside it that it names, and checks that they have the tensors. The caller closes it.
func OpenSharded(path string) (*Sharded, error) {
	s := &Sharded{files: map[string]*File{}, of: map[string]*File{}}
	if err := s.open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("safetensors: index %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Sharded) open(path string) error {
	raw, err := readIndex(path)
	if err != nil {
		return err
	}
	var index struct {
		Metadata map[string]any    `json:"metadata"`
		Weights  map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if index.Weights == nil {
		return fmt.Errorf("%w: it has no weight_map", ErrFormat)
	}
	for key, value := range index.Metadata {
		if s.metadata == nil {
			s.metadata = map[string]string{}
		}
		s.metadata[key] = strings.TrimSuffix(fmt.Sprintf("%v", value), ".0")
	}
	s.names = slices.Sorted(maps.Keys(index.Weights))
	for _, name := range s.names {
		if err := s.add(filepath.Dir(path), name, index.Weights[name]); err != nil {
			return err
		}
	}
	return nil
}

// readIndex reads an index, which is at most as large as a header.
func readIndex(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxHeader {
		return nil, fmt.Errorf("%w: %d bytes; at most %d are accepted", ErrFormat, info.Size(), MaxHeader)
	}
	return fileio.ReadN(f, int(info.Size()))
}

// add notes that a tensor is in a file, which it opens the first time.
func (s *Sharded) add(dir, name, file string) error {
	if file != filepath.Base(file) || !filepath.IsLocal(file) {
		return fmt.Errorf("%w: tensor %q is in %q; want the name of a file beside the index", ErrFormat, name, file)
	}
	f := s.files[file]
	if f == nil {
		var err error
		if f, err = Open(filepath.Join(dir, file)); err != nil {
			return err
		}
		s.files[file] = f
	}
	if _, ok := f.index[name]; !ok {
		return fmt.Errorf("%w: %s, which should have it, has no tensor %q", ErrNotFound, file, name)
	}
	s.of[name] = f
	return nil
}

// Close closes the files.
func (s *Sharded) Close() error {
	if s == nil {
		return errNoShards
	}
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

var errNoShards = errors.New("safetensors: a nil *safetensors.Sharded; OpenSharded makes one")

// Metadata returns a copy of what the index says of the whole, as text; nil where it says
// nothing.
func (s *Sharded) Metadata() map[string]string {
	if s == nil {
		return nil
	}
	return maps.Clone(s.metadata)
}

// Names returns the tensors' names in ascending order.
func (s *Sharded) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.names)
}

// Info describes the tensor with the given name, also when its dtype is one that Read does
// not support.
func (s *Sharded) Info(name string) (Info, error) {
	f, err := s.file(name)
	if err != nil {
		return Info{}, err
	}
	return f.Info(name)
}

// Read returns the tensor with the given name. The caller owns its data.
func (s *Sharded) Read(name string) (Tensor, error) {
	f, err := s.file(name)
	if err != nil {
		return Tensor{}, err
	}
	return f.Read(name)
}

func (s *Sharded) file(name string) (*File, error) {
	if s == nil {
		return nil, errNoShards
	}
	f := s.of[name]
	if f == nil {
		return nil, fmt.Errorf("safetensors: %w: %q", ErrNotFound, name)
	}
	return f, nil
}
