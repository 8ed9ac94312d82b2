//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The C library has the functions of the system's loader, and before glibc 2.34 a library
// beside it, which programs that Go's own linker links ask for. This binds no name: a name
// would have Go call a linker of C for every program and every test, if there is one, which
// doubles the time that linking takes.
//
//go:cgo_import_dynamic _ _ "libdl.so.2"

// A loader is the system's: its functions dlopen, dlsym, dlclose and dlerror.
type loader struct{ open, symbol, close, error Func }

// system finds the loader in the memory of the process, once.
var system = sync.OnceValues(func() (loader, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return loader{}, fmt.Errorf("%w: its C library cannot be found: %w", ErrUnsupported, err)
	}
	defer maps.Close()
	objects, err := candidates(maps)
	for _, o := range objects {
		s, ok := o.loader()
		if ok {
			return s, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("none of %d libraries in its memory has dlopen", len(objects))
	}
	return loader{}, fmt.Errorf("%w: its C library cannot be found: %w", ErrUnsupported, err)
})

// An object is a file that the system has mapped to run from.
type object struct {
	path  string
	start uint64 // where the file's first byte is
}

// named are the files that may have the loader's functions: those of glibc, by the names that
// they have since 2.34 and had before, and that of musl.
var named = regexp.MustCompile(`^(libc|libdl)(\.so|-2\.)|^(ld|libc[.])-?musl`)

// candidates returns the objects of maps, which is as /proc/self/maps, that named matches.
func candidates(maps io.Reader) (out []object, err error) {
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		// start-end permissions offset device inode path
		f := strings.Fields(lines.Text())
		if len(f) < 6 || strings.Trim(f[2], "0") != "" {
			continue
		}
		path := strings.Join(f[5:], " ")
		if !named.MatchString(filepath.Base(path)) {
			continue
		}
		first, _, _ := strings.Cut(f[0], "-")
		start, err := strconv.ParseUint(first, 16, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, object{path, start})
	}
	return out, lines.Err()
}

// loader returns the functions if the object has all of them.
func (o object) loader() (s loader, ok bool) {
	file, err := elf.Open(o.path)
	if err != nil {
		return s, false
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return s, false
	}
	base := o.start // what is added to the file's addresses
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			base -= p.Vaddr - p.Off
			break
		}
	}
	for name, f := range map[string]*Func{"dlopen": &s.open, "dlsym": &s.symbol, "dlclose": &s.close, "dlerror": &s.error} {
		for _, have := range symbols {
			if have.Name == name && have.Section != elf.SHN_UNDEF && elf.ST_TYPE(have.Info) == elf.STT_FUNC {
				*f = Func(base + have.Value)
				break
			}
		}
		if *f == 0 {
			return s, false
		}
	}
	return s, true
}
