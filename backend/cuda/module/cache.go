package module

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// A cache is a directory of compiled modules, shared by processes. Whatever
// fails, modules are compiled and work; the first failure to write is logged.
type cache struct {
	dir    string // "" if there is none
	limit  int64
	append func(f *os.File, data []byte) (int, error) // (*os.File).Write
	warn   sync.Once
}

// openCache returns the cache in SINTER_CACHE_DIR, or sinter/kernels of the user's
// cache directory.
func openCache() *cache {
	c := &cache{dir: os.Getenv("SINTER_CACHE_DIR"), limit: maxCached, append: (*os.File).Write}
	if c.dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			c.failed(err)
			return c
		}
		c.dir = filepath.Join(base, "sinter", "kernels")
	}
	return c
}

// entryName names the file of what a program compiles to.
func entryName(module, version string, p nvrtc.Program) string {
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
		if r < 128 && inWord[byte(r)] && r != '%' && r != '$' {
			return r
		}
		return '_'
	}, module)
	return fmt.Sprintf("%s-%s-nvrtc%s-%s%s", plain[:min(len(plain), 64)], p.Target, version, hex.EncodeToString(h.Sum(nil)), extension)
}

// get returns the code of that name, nil if there is none. A file that is damaged
// is removed.
func (c *cache) get(name string) []byte {
	if c.dir == "" {
		return nil
	}
	path := filepath.Join(c.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // put says so, if it cannot write either
	}
	code, good := bytes.CutPrefix(data, []byte(magic))
	if good = good && len(code) > sha256.Size; good {
		sum := sha256.Sum256(code[sha256.Size:])
		good = bytes.Equal(sum[:], code[:sha256.Size])
	}
	if !good {
		_ = os.Remove(path) // put replaces it in any case
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // what is used stays; a directory that is read-only stays as it is
	return code[sha256.Size:]
}

// put stores code under a name.
func (c *cache) put(name string, code []byte) {
	if c.dir == "" {
		return
	}
	if err := c.write(name, code); err != nil {
		c.failed(err)
		return
	}
	c.prune(name)
}

func (c *cache) failed(err error) {
	c.warn.Do(func() {
		slog.Warn("compiled CUDA kernels cannot be stored; they are compiled again by every process. SINTER_CACHE_DIR names another directory", "reason", err)
	})
}

// write makes the file whole before it gets its name: readers never see a part.
func (c *cache) write(name string, code []byte) error {
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
func (c *cache) prune(name string) {
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
