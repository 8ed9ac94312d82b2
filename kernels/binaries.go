package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Binaries are what build.py compiled ahead of some sources.
type Binaries struct {
	source, files fs.FS
	manifest      map[string]map[string]entry // by target and module
	err           error                       // of reading the manifest

	mu     sync.Mutex
	hashes map[string]string // of the sources of a module
}

// entry is a file of the manifest.
type entry struct {
	Source     string // SHA-256 of what it was made of
	SHA256     string // of the file
	Bytes      int    // before compression
	Compressed int
}

// What the errors of Binary and PTX wrap.
var (
	ErrNone  = errors.New("not compiled ahead")
	ErrStale = errors.New("compiled ahead of other sources than these")
)

// Of returns what files, a tree with bin/manifest.json at its root, has of source.
// Either may be nil: then there is nothing.
func Of(source, files fs.FS) *Binaries {
	b := &Binaries{source: source, files: files, hashes: map[string]string{}}
	if source == nil || files == nil {
		return b
	}
	text, err := fs.ReadFile(files, "bin/manifest.json")
	if err == nil {
		err = json.Unmarshal(text, &b.manifest)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.err = fmt.Errorf("bin/manifest.json: %w", err)
	}
	return b
}

// Architectures returns the compute capabilities that the module has a cubin for,
// as 90 for 9.0, in ascending order.
func (b *Binaries) Architectures(module string) []int {
	var found []int
	for target, modules := range b.manifest {
		n, is := strings.CutPrefix(target, "sm_")
		arch, err := strconv.Atoi(n)
		if _, has := modules[module]; is && has && err == nil {
			found = append(found, arch)
		}
	}
	slices.Sort(found)
	return found
}

// Binary returns the cubin of a module for an architecture, one of Architectures.
// The error wraps ErrNone or ErrStale.
func (b *Binaries) Binary(arch int, module string) ([]byte, error) {
	return b.read(fmt.Sprintf("sm_%d", arch), module, fmt.Sprintf("bin/sm_%d/%s.cubin.zst", arch, module))
}

// PTX returns the PTX text of a module, for every device that no cubin fits. The
// error wraps ErrNone or ErrStale.
func (b *Binaries) PTX(module string) ([]byte, error) {
	for target := range b.manifest {
		if strings.HasPrefix(target, "compute_") {
			return b.read(target, module, "bin/ptx/"+module+".ptx.zst")
		}
	}
	return b.read("PTX", module, "")
}

func (b *Binaries) read(target, module, name string) ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	e, has := b.manifest[target][module]
	if !has {
		return nil, fmt.Errorf("module %s for %s: %w", module, target, ErrNone)
	}
	source, err := b.sourceHash(module)
	if err != nil {
		return nil, err
	}
	if source != e.Source {
		return nil, fmt.Errorf("module %s for %s: %w", module, target, ErrStale)
	}
	packed, err := fs.ReadFile(b.files, name)
	if err != nil {
		return nil, err
	}
	code, err := unpack(packed, e.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return code, nil
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
})

func unpack(packed []byte, size int) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	code, err := d.DecodeAll(packed, make([]byte, 0, size))
	if err == nil && len(code) != size {
		err = fmt.Errorf("%d bytes, not the %d of the manifest", len(code), size)
	}
	return code, err
}

// sourceHash returns the SHA-256 of what a module is made of, as build.py computes it.
func (b *Binaries) sourceHash(module string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, known := b.hashes[module]; known {
		return h, nil
	}
	files, err := Files(b.source, module)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	s, own := build(), settings{}
	if text, err := fs.ReadFile(b.source, "build.json"); err == nil {
		if err := json.Unmarshal(text, &own); err != nil {
			return "", fmt.Errorf("build.json: %w", err)
		}
	}
	for _, word := range slices.Concat([]string{"nvrtc " + s.NVRTC, "ptx " + s.PTX}, s.Options, own.More) {
		fmt.Fprintln(h, word)
	}
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.Name, len(f.Text))
		h.Write(f.Text)
	}
	b.hashes[module] = hex.EncodeToString(h.Sum(nil))
	return b.hashes[module], nil
}

// A File is a source.
type File struct {
	Name string
	Text []byte
}

// included returns the names of the files that a text includes by #include "name", which
// stands alone on a line. A regular expression would be a package more in every program.
func included(text []byte) (names []string) {
	const blank = " \t"
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, blank), "#")
		if !ok {
			continue
		}
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, blank), "include"); !ok {
			continue
		}
		quoted := strings.TrimLeft(rest, blank)
		if quoted == rest || !strings.HasPrefix(quoted, `"`) {
			continue
		}
		if name, _, closed := strings.Cut(quoted[1:], `"`); closed && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Files returns <module>.cu of source and the headers that it includes, and they
// include, in the order of their names. A header that source does not have is one
// of the standard sources.
func Files(source fs.FS, module string) ([]File, error) {
	var files []File
	todo := []string{module + ".cu"}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if errors.Is(err, fs.ErrNotExist) && len(files) > 0 {
			text, err = Source.ReadFile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("source of module %s: %w", module, err)
		}
		files = append(files, File{name, text})
		todo = append(todo, included(text)...)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
