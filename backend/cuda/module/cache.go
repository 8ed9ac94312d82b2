package module

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
)

const (
	maxCached  = 1 << 30   // bytes; what was not used for longest goes first
	tempPrefix = ".tmp-"   // of files that are being written
	tempAge    = time.Hour // after which their writer is taken to be dead
	extension  = ".bin"
	magic      = "sinter kernel 1\n" // then the SHA-256 of the code, then the code
)

// A Cache is a directory of compiled modules, shared by processes. Whatever
// fails, modules are compiled and work; the first failure to write is logged.
type Cache struct {
	dir    string // "" if there is none
	limit  int64
	append func(f *os.File, data []byte) (int, error) // (*os.File).Write
	warn   sync.Once
}

// The environment variables that place the cache, and those that switch it off
// where they are 0. Of each the first that is set counts; PyTorch's are understood.
var (
	placeVariables = []string{"SINTER_KERNEL_CACHE_PATH", "PYTORCH_KERNEL_CACHE_PATH"}
	useVariables   = []string{"SINTER_USE_KERNEL_CACHE", "USE_PYTORCH_KERNEL_CACHE"}
)

// setting returns the first of the variables that is set to something.
func setting(names []string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// OpenCache returns the cache in SINTER_KERNEL_CACHE_PATH, or else
// PYTORCH_KERNEL_CACHE_PATH, or else sinter/kernels of the user's cache directory,
// which is $XDG_CACHE_HOME or $HOME/.cache on Linux. It has none with
// SINTER_USE_KERNEL_CACHE=0 or USE_PYTORCH_KERNEL_CACHE=0. No directory is made yet.
func OpenCache() *Cache {
	c := &Cache{limit: maxCached, append: (*os.File).Write}
	if setting(useVariables) == "0" {
		return c
	}
	if c.dir = setting(placeVariables); c.dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			c.failed(err)
			return c
		}
		c.dir = filepath.Join(base, "sinter", "kernels")
	}
	return c
}

// Dir returns the directory, "" where there is none.
func (c *Cache) Dir() string { return c.dir }

// EntryName names the file of what a program compiles to: the module, what it is
// for and of which kind, NVRTC's version, the length of the source, and the SHA-256
// of all that goes into it.
func EntryName(module, version string, p nvrtc.Program) string {
	h := sha256.New()
	part := func(text string) { fmt.Fprintf(h, "%d %s\n", len(text), text) }
	for _, text := range append([]string{version, p.Target, p.Name, p.Source}, p.Options...) {
		part(text)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		part(name)
		part(p.Headers[name])
	}
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, module)
	kind := "sass"
	if strings.HasPrefix(p.Target, "compute_") {
		kind = "ptx"
	}
	return fmt.Sprintf("%s-%s-%s-nvrtc%s-%d-%s%s", plain[:min(len(plain), 64)], p.Target, kind, version, len(p.Source),
		hex.EncodeToString(h.Sum(nil)), extension)
}

// Get returns the code of that name, nil if there is none. A file that is damaged
// is removed.
func (c *Cache) Get(name string) []byte {
	if c.dir == "" {
		return nil
	}
	path := filepath.Join(c.dir, name)
	data, err := c.read(path)
	if err != nil {
		return nil // Put says so, if it cannot write either
	}
	code, good := bytes.CutPrefix(data, []byte(magic))
	if good = good && len(code) > sha256.Size; good {
		sum := sha256.Sum256(code[sha256.Size:])
		good = bytes.Equal(sum[:], code[:sha256.Size])
	}
	if !good {
		_ = os.Remove(path) // Put replaces it in any case
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // what is used stays; a directory that is read-only stays as it is
	return code[sha256.Size:]
}

// Put stores code under a name.
func (c *Cache) Put(name string, code []byte) {
	if c.dir == "" {
		return
	}
	if err := c.write(name, code); err != nil {
		c.failed(err)
		return
	}
	c.prune(name)
}

// read returns what is in a file. Where others can write to the directory, it must be
// the user's own: the code in it will run in this process.
func (c *Cache) read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := os.Stat(c.dir)
	if err != nil {
		return nil, err
	}
	if err := trusted(dir, info); err != nil {
		c.failed(fmt.Errorf("%s: %w", path, err))
		return nil, err
	}
	return io.ReadAll(f)
}

func (c *Cache) failed(err error) {
	c.warn.Do(func() {
		slog.Warn("compiled CUDA kernels cannot be stored; they are compiled again by every process. SINTER_KERNEL_CACHE_PATH names another directory", "reason", err)
	})
}

// write makes the file whole before it gets its name: readers never see a part.
func (c *Cache) write(name string, code []byte) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, tempPrefix)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(code)
	_, err = c.append(f, slices.Concat([]byte(magic), sum[:], code))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// prune removes what was not used for longest until three quarters of the limit
// are left, but not the file named, and what dead writers left. Other processes
// may do the same meanwhile.
func (c *Cache) prune(name string) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.failed(err)
		return
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), tempPrefix):
			if time.Since(info.ModTime()) > tempAge {
				_ = os.Remove(filepath.Join(c.dir, e.Name())) // another process may have
			}
		case strings.HasSuffix(e.Name(), extension):
			files, total = append(files, info), total+info.Size()
		}
	}
	if total <= c.limit {
		return
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= c.limit/4*3 {
			return
		}
		if f.Name() != name {
			_ = os.Remove(filepath.Join(c.dir, f.Name())) // it counts as gone: another process may have removed it
			total -= f.Size()
		}
	}
}
