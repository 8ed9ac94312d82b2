package cublaslt

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// The workspace of a device's products on one stream, without a configuration: the
// library's maker advises 32 MiB for compute capability 9.0.
const (
	usualWorkspace  = 8320 << 10
	hopperWorkspace = 32 << 20
)

// WorkspaceVariables are the environment variables that configure the workspace:
// the first that is set counts.
var WorkspaceVariables = []string{"SINTER_CUBLAS_WORKSPACE_CONFIG", "CUBLAS_WORKSPACE_CONFIG"}

// WorkspaceBytes returns the bytes of a workspace by a configuration, :SIZE:COUNT
// once or more with SIZE in KiB, on a device of a compute capability, as 90 for
// 9.0. :0:0 is none. An empty or malformed configuration is the default: 8320 KiB,
// on compute capability 9.0 32 MiB (P75).
func WorkspaceBytes(config string, capability int) int64 {
	usual := int64(usualWorkspace)
	if capability == 90 {
		usual = hopperWorkspace
	}
	fields, ok := strings.CutPrefix(config, ":")
	if !ok {
		return usual
	}
	parts := strings.Split(fields, ":")
	if len(parts)%2 != 0 {
		return usual
	}
	total := int64(0)
	for i := 0; i < len(parts); i += 2 {
		size, err := strconv.ParseUint(parts[i], 10, 31)
		count, err2 := strconv.ParseUint(parts[i+1], 10, 31)
		if err != nil || err2 != nil || size > 0 && count > math.MaxInt64>>10/size {
			return usual
		}
		bytes := int64(size*count) << 10
		if total += bytes; total < bytes {
			return usual
		}
	}
	return total
}

// configuration returns what the environment says.
func configuration() string {
	for _, name := range WorkspaceVariables {
		if text, set := os.LookupEnv(name); set {
			return text
		}
	}
	return ""
}

// workspaces are the memory that products on a device's streams work in, one block
// a stream: products of one stream follow one another.
type workspaces struct {
	once  sync.Once
	bytes int64 // of each

	mu   sync.RWMutex
	held map[driver.Stream]held
}

type held struct {
	addr    uint64
	release func() error
}

// limit returns the bytes that an algorithm may work in. The environment is read
// when a device's first product asks.
func (w *workspaces) limit(capability int) int64 {
	w.once.Do(func() { w.bytes = WorkspaceBytes(configuration(), capability) })
	return w.bytes
}

// of returns memory for a call that needs so many bytes: the stream's workspace,
// which the first call allocates. A call that is recorded, to run again when the
// workspace may be gone, gets memory of its own, and so does one that finds no room
// for a workspace.
func (w *workspaces) of(g library.GPU, bytes int64) (uint64, error) {
	if bytes == 0 {
		return 0, nil
	}
	if bytes > w.bytes || g.Recording() {
		return g.Scratch(bytes)
	}
	s := g.Stream()
	w.mu.RLock()
	h, ok := w.held[s]
	w.mu.RUnlock()
	if ok {
		return h.addr, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, ok := w.held[s]; ok {
		return h.addr, nil
	}
	addr, release, err := g.Keep(w.bytes)
	if err != nil {
		return g.Scratch(bytes)
	}
	if w.held == nil {
		w.held = map[driver.Stream]held{}
	}
	w.held[s] = held{addr, release}
	return addr, nil
}

// clear gives all workspaces back.
func (w *workspaces) clear() error {
	w.mu.Lock()
	gone := w.held
	w.held = nil
	w.mu.Unlock()
	var failed []error
	for _, h := range gone {
		failed = append(failed, h.release())
	}
	return errors.Join(failed...)
}

// ClearWorkspaces gives the workspaces of all devices back to their allocators; the
// next product on a stream allocates one again. Work that was enqueued goes on
// undisturbed: what takes the memory next on its stream comes after it.
func ClearWorkspaces() error {
	devices.mu.RLock()
	list := append([]*device(nil), devices.list...)
	devices.mu.RUnlock()
	var failed []error
	for _, d := range list {
		if d != nil {
			failed = append(failed, d.workspaces.clear())
		}
	}
	return errors.Join(failed...)
}
