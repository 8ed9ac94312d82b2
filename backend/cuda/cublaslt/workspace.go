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
// on compute capability 9.0 32 MiB.
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
// a stream.
type workspaces struct {
	once  sync.Once
	bytes int64 // of each

	making sync.Mutex // held by the one goroutine that adds to held

	mu   sync.RWMutex
	held map[driver.Stream]*workspace
}

// A workspace is that of one stream. A product may be several kernels, of which one
// reads what the one before left here, and goroutines may share a stream: who
// enqueues a product holds mu until all of it is enqueued, so that no kernel of
// another product, and no other owner of the memory, comes in between.
type workspace struct {
	mu      sync.Mutex
	addr    uint64
	release func() error // nil when the memory has been given back
}

// limit returns the bytes that an algorithm may work in. The environment is read
// when a device's first product asks.
func (w *workspaces) limit(capability int) int64 {
	w.once.Do(func() { w.bytes = WorkspaceBytes(configuration(), capability) })
	return w.bytes
}

// lend returns memory for a call that needs so many bytes: the stream's workspace,
// which the first call allocates and the caller gives back when the call is
// enqueued. A call that is recorded, to run again when the workspace may be gone,
// gets memory of its own, and so does one that finds no workspace and no room for
// it: lent is nil then.
func (w *workspaces) lend(g library.GPU, bytes int64) (addr uint64, lent *workspace, err error) {
	if bytes == 0 {
		return 0, nil, nil
	}
	for bytes <= w.bytes && !g.Recording() {
		own := w.of(g)
		if own == nil {
			break
		}
		own.mu.Lock()
		if own.release != nil {
			return own.addr, own, nil
		}
		own.mu.Unlock() // it was cleared before it was locked
	}
	addr, err = g.Scratch(bytes)
	return addr, nil, err
}

// back ends the use of a workspace; of nil nothing.
func (s *workspace) back() {
	if s != nil {
		s.mu.Unlock()
	}
}

// of returns the workspace of g's stream; nil where there is no room for one, or
// another goroutine is making one. It holds nothing that another call waits for
// while it allocates: a program that is told of memory running out may clear the
// workspaces, or multiply.
func (w *workspaces) of(g library.GPU) *workspace {
	stream := g.Stream()
	if own := w.find(stream); own != nil {
		return own
	}
	if !w.making.TryLock() {
		return nil
	}
	defer w.making.Unlock()
	if own := w.find(stream); own != nil {
		return own
	}
	addr, release, err := g.Keep(w.bytes)
	if err != nil {
		return nil
	}
	own := &workspace{addr: addr, release: release}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		w.held = map[driver.Stream]*workspace{}
	}
	w.held[stream] = own
	return own
}

func (w *workspaces) find(s driver.Stream) *workspace {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.held[s]
}

// clear gives all workspaces back, each when no product that uses it is being
// enqueued.
func (w *workspaces) clear() error {
	w.mu.Lock()
	gone := w.held
	w.held = nil
	w.mu.Unlock()
	var failed []error
	for _, s := range gone {
		s.mu.Lock()
		failed = append(failed, s.release())
		s.release = nil
		s.mu.Unlock()
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
