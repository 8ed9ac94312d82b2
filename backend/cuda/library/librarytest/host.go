package librarytest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// Host returns a driver whose device memory is the host's and whose streams do
// everything at once, with the functions that a GPU of this package calls. It is
// for libraries written for tests, which compute on the host.
func Host() driver.API { return &host{blocks: map[driver.Ptr][]uint64{}} }

// hostStream is the one stream of a Host.
const hostStream driver.Stream = 77

type host struct {
	driver.API // nil: what a GPU does not call
	mu         sync.Mutex
	blocks     map[driver.Ptr][]uint64 // which keeps them alive
}

func (h *host) Enter(int) error { return nil }

func (h *host) Leave() {}

func (h *host) StreamCreate(int, driver.StreamFlags, int) (driver.Stream, error) {
	return hostStream, nil
}

func (h *host) StreamDestroy(int, driver.Stream) error { return nil }

func (h *host) StreamSynchronize(int, driver.Stream) error { return nil }

func (h *host) StreamCaptureStatus(int, driver.Stream) (driver.CaptureStatus, error) {
	return driver.CaptureNone, nil
}

func (h *host) Synchronize(int) error { return nil }

func (h *host) MemAlloc(_ int, bytes int64) (driver.Ptr, error) {
	const granule = 512
	block := make([]uint64, (bytes+granule)/8+1)
	p := driver.Ptr(uintptr(unsafe.Pointer(&block[0])))
	p = (p + granule - 1) / granule * granule
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blocks[p] = block
	return p, nil
}

func (h *host) MemFree(_ int, p driver.Ptr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.blocks, p)
	return nil
}

func at(p driver.Ptr, bytes int64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), bytes)
}

func (h *host) MemcpyHtoDAsync(_ int, dst driver.Ptr, src unsafe.Pointer, bytes int64, _ driver.Stream) error {
	copy(at(dst, bytes), unsafe.Slice((*byte)(src), bytes))
	return nil
}

func (h *host) MemcpyDtoHAsync(_ int, dst unsafe.Pointer, src driver.Ptr, bytes int64, _ driver.Stream) error {
	copy(unsafe.Slice((*byte)(dst), bytes), at(src, bytes))
	return nil
}

func (h *host) MemcpyDtoDAsync(_ int, dst, src driver.Ptr, bytes int64, _ driver.Stream) error {
	copy(at(dst, bytes), at(src, bytes))
	return nil
}

func (h *host) MemsetD8Async(_ int, dst driver.Ptr, value uint8, bytes int64, _ driver.Stream) error {
	for i := range at(dst, bytes) {
		at(dst, bytes)[i] = value
	}
	return nil
}

// compiled has a library by its source, as compile returns it: a test program compiles each once.
var compiled sync.Map

func compile(compiler string, source []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "library")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, lib := filepath.Join(dir, "library.c"), filepath.Join(dir, "library.so")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", lib, file, "-lm").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(lib)
}

// Compile builds a library from C source and opens it, a copy of its own with variables of its
// own for each call. It skips the test where there is no C compiler, or libraries cannot be opened.
func Compile(t testing.TB, source []byte) *dl.Library {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler for the library")
	}
	one, _ := compiled.LoadOrStore(string(source), sync.OnceValues(func() ([]byte, error) { return compile(compiler, source) }))
	content, err := one.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(t.TempDir(), "library.so")
	if err := os.WriteFile(lib, content, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := dl.Open(lib)
	if errors.Is(err, dl.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}
