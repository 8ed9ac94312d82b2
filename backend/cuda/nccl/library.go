// Package nccl makes collective calls between GPUs by NVIDIA's NCCL, which it opens on
// first use, without cgo: within one process, between processes and between machines. It
// knows nothing of tensors, nor of how processes find each other.
package nccl

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// oldest is the first version that has all that is called: identifiers by pointer.
const oldest = 22300

// IDBytes is the size of an identifier.
const IDBytes = 128

// An ID is what the ranks of a group know each other by. One rank makes it, and the others
// get it from there.
type ID [IDBytes]byte

// The functions of the library, in the order of its table.
const (
	fVersion = iota
	fUniqueID
	fInit
	fAsyncError
	fErrorString
	fAbort
	fSplit
	fDestroy
	fGroupStart
	fGroupEnd
	fAllReduce
	fBroadcast
	fReduce
	fAllGather
	fReduceScatter
	fSend
	fRecv

	numFunctions
)

var names = [numFunctions]string{
	"ncclGetVersion", "ncclGetUniqueId", "ncclCommInitRankScalable", "ncclCommGetAsyncError", "ncclGetErrorString", "ncclCommAbort",
	"ncclCommSplit", "ncclCommDestroy", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclBroadcast", "ncclReduce",
	"ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv",
}

// What functions return (ncclResult_t).
const (
	success    = 0
	inProgress = 7
)

// types are what elements are called (ncclDataType_t). Others travel as bytes, and are not
// reduced but for what ops says.
var types = map[ir.DType]uintptr{
	ir.Int8: 0, ir.Uint8: 1, ir.Int32: 2, ir.Int64: 4, ir.Float16: 6, ir.Float32: 7, ir.Float64: 8, ir.BFloat16: 9,
	ir.Uint32: 3, ir.Uint64: 5,
}

const typeByte = 1 // ncclUint8

// ops are the operations (ncclRedOp_t).
var ops = map[collective.Op]uintptr{collective.Sum: 0, collective.Product: 1, collective.Max: 2, collective.Min: 3, collective.Average: 4}

// reduction returns how NCCL names a reduction, and how many of its elements an element
// is: complex numbers are added as two, booleans are bytes.
func reduction(o collective.Op, d ir.DType) (dtype, op uintptr, width int, err error) {
	switch {
	case d == ir.Bool && o == collective.Sum:
		return typeByte, ops[collective.Max], 1, nil
	case d == ir.Bool && o == collective.Product:
		return typeByte, ops[collective.Min], 1, nil
	case d == ir.Bool:
		return typeByte, ops[o], 1, nil
	case ir.ClassComplex.Has(d) && o != collective.Product:
		return types[d.Real()], ops[o], 2, nil
	}
	if dtype, known := types[d]; known {
		return dtype, ops[o], 1, nil
	}
	return 0, 0, 0, fmt.Errorf("%w: NCCL has no %s of %s", collective.ErrCall, o, d)
}

// config is the beginning of ncclConfig_t, as the oldest version has it: what newer ones
// added has its default.
type config struct {
	size           uintptr
	magic, version uint32
	blocking       int32
	cgaClusterSize int32
	minCTAs        int32
	maxCTAs        int32
	netName        uintptr
	splitShare     int32
	_              int32
}

const (
	magic     = 0xcafebeef
	undefined = math.MinInt32
)

// Whether calls return before they are done, so that one that hangs can be ended, or when
// the GPU has them.
const (
	returning = 0
	waiting   = 1
)

// newConfig returns the configuration of communicators. Those made of one share all with it.
func newConfig(blocking int32) *config {
	return &config{size: unsafe.Sizeof(config{}), magic: magic, version: oldest, blocking: blocking,
		cgaClusterSize: undefined, minCTAs: undefined, maxCTAs: undefined, splitShare: 1}
}

// A nccl is the opened library.
type nccl struct {
	f       [numFunctions]dl.Func
	version int
}

var process = sync.OnceValues(func() (*nccl, error) {
	lib, err := library.Open(library.NCCL)
	if err != nil {
		return nil, err
	}
	return resolve(lib)
})

func resolve(lib *dl.Library) (*nccl, error) {
	l := new(nccl)
	var missing []error
	for i, name := range names {
		var err error
		if l.f[i], err = lib.Func(name); err != nil {
			missing = append(missing, err)
		}
	}
	c := dl.Get()
	defer c.Free()
	if l.f[fVersion] != 0 && l.f[fVersion].Call(c, c.Addr(0)) == success {
		l.version = int(int32(c.Words[0]))
	}
	if len(missing) > 0 || l.version < oldest {
		return nil, fmt.Errorf("%w: %s is version %d, want %d or newer (pip install nvidia-nccl-cu12): %w",
			library.ErrUnusable, lib.Name(), l.version, oldest, errors.Join(missing...))
	}
	return l, nil
}

// Version returns the library's version, such as 22907 for 2.29.7. The error says what is
// missing and how to get it.
func Version() (int, error) {
	l, err := process()
	if err != nil {
		return 0, err
	}
	return l.version, nil
}

// NewID makes an identifier for a new group.
func NewID() (id ID, err error) {
	l, err := process()
	if err != nil {
		return id, err
	}
	c := dl.Get()
	defer c.Free()
	b, at := c.Bytes(IDBytes)
	if code := l.f[fUniqueID].Call(c, at); int32(code) != success {
		return id, l.error(fUniqueID, code)
	}
	copy(id[:], b)
	return id, nil
}

// error returns what a function's result says went wrong.
func (l *nccl) error(f int, code uintptr) error {
	c := dl.Get()
	defer c.Free()
	c.Words[0] = l.f[fErrorString].Call(c, code)
	return fmt.Errorf("%s: %s (%d)", names[f], strings.TrimSpace(dl.GoString(c.Pointer(0))), int32(code))
}
