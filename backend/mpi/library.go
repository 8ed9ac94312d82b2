// Package mpi makes collective calls between processes by MPI, through its standard ABI:
// the library is opened when it is first wanted, without cgo, and any implementation of
// that ABI serves, such as MPICH 5. Ranks are processes, which mpiexec or a scheduler starts.
// The package knows nothing of tensors, nor of launchers.
package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
)

// ErrUnusable is wrapped by the error of a library that is not there or does not work.
const ErrUnusable ir.Error = "MPI cannot be used"

// functions are those of the library, in the order of its table.
const (
	fInit = iota
	fInitialized
	fFinalize
	fCommRank
	fCommSize
	fCommIdup
	fCommSplit
	fCommFree
	fSetErrhandler
	fErrorString
	fTest
	fBarrier
	fAllreduce
	fBcast
	fReduce
	fAllgather
	fReduceScatter
	fGather
	fScatter
	fAlltoall
	fSend
	fRecv

	numFunctions
)

// names are the functions' names in the standard. Those that end in _c count in 64 bits.
var names = [numFunctions]string{
	"MPI_Init_thread", "MPI_Initialized", "MPI_Finalize", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_idup", "MPI_Comm_split", "MPI_Comm_free",
	"MPI_Comm_set_errhandler", "MPI_Error_string", "MPI_Test", "MPI_Ibarrier", "MPI_Iallreduce_c", "MPI_Ibcast_c", "MPI_Ireduce_c",
	"MPI_Iallgather_c", "MPI_Ireduce_scatter_block_c", "MPI_Igather_c", "MPI_Iscatter_c", "MPI_Ialltoall_c", "MPI_Isend_c", "MPI_Irecv_c",
}

// world is the process's MPI, opened and initialised once.
var world = sync.OnceValues(open)

// A library is an initialised MPI. mu is held in every call of it: it is asked for no more
// than calls that do not overlap.
type library struct {
	mu         sync.Mutex
	from       *dl.Library
	f          [numFunctions]dl.Func
	rank, size int

	open int  // calls that were begun and have not ended
	over bool // finalised: nothing of it can be called
}

// errFinalized is the error of what is asked for after Finalize.
var errFinalized = fmt.Errorf("%w: it was finalised, and cannot begin anew", ErrUnusable)

// files returns where the library is looked for: the file that SINTER_MPI names, and no
// other; or else by the system's loader and beside the mpiexec in PATH.
func files() []string {
	if name := os.Getenv("SINTER_MPI"); name != "" {
		return []string{name}
	}
	out := []string{"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"}
	if launcher, err := exec.LookPath("mpiexec"); err == nil && filepath.IsAbs(launcher) {
		if real, err := filepath.EvalSymlinks(launcher); err == nil {
			launcher = real
		}
		for _, name := range out[:3] {
			out = append(out, filepath.Join(filepath.Dir(launcher), "..", "lib", name))
		}
	}
	return out
}

func open() (*library, error) {
	if os.Getenv("SINTER_MPI") == "none" {
		return nil, fmt.Errorf("%w: SINTER_MPI is none", ErrUnusable)
	}
	lib, err := dl.Open(files()...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; MPICH 5 has the standard ABI (pip install mpich), and SINTER_MPI names the file of another", ErrUnusable, err)
	}
	l := &library{from: lib}
	for i, name := range names {
		if l.f[i], err = lib.Func(name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
		}
	}
	if err := l.begin(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return l, nil
}

// begin initialises MPI, unless another part of the process did.
func (l *library) begin() error {
	runtime.LockOSThread() // some implementations ask for one thread throughout
	defer runtime.UnlockOSThread()
	c := dl.Get()
	defer c.Free()
	if err := l.call(c, fInitialized, c.Addr(0)); err != nil {
		return err
	}
	if int32(c.Words[0]) == 0 {
		if err := l.call(c, fInit, 0, 0, threadSerialized, c.Addr(1)); err != nil {
			return err
		}
		if got := int32(c.Words[1]); got < threadSerialized {
			return fmt.Errorf("the library serves one thread alone (level %d, want %d)", got, threadSerialized)
		}
	}
	err := errors.Join(
		l.call(c, fSetErrhandler, commWorld, errorsReturn), l.call(c, fSetErrhandler, commSelf, errorsReturn), // of what is of no communicator
		l.call(c, fCommRank, commWorld, c.Addr(2)), l.call(c, fCommSize, commWorld, c.Addr(3)))
	l.rank, l.size = int(int32(c.Words[2])), int(int32(c.Words[3]))
	return err
}

// call calls a function and returns its error. Who calls it holds mu, or is begin.
func (l *library) call(c *dl.Frame, f int, args ...uintptr) error {
	if l.over {
		return errFinalized
	}
	code := l.f[f].Call(c, args...)
	if int32(code) == success {
		return nil
	}
	return fmt.Errorf("%s: %s", names[f], l.explain(code))
}

// explain returns what the library says of an error code.
func (l *library) explain(code uintptr) string {
	c := dl.Get()
	defer c.Free()
	text, at := c.Bytes(maxErrorString)
	if int32(l.f[fErrorString].Call(c, code, at, c.Addr(0))) != success {
		return fmt.Sprintf("error %d", int32(code))
	}
	return strings.TrimSpace(dl.GoString(unsafe.Pointer(&text[0])))
}

// Finalize ends the process's use of MPI, if there was any; it cannot begin anew. A program
// calls it last, on every rank: launchers take a process that ends without for a crash. Where calls
// have not ended, as after a timeout, MPI would wait for them, and Finalize returns an error.
func Finalize() error {
	if !used.Load() {
		return nil
	}
	l, err := world()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return nil
	case l.open > 0:
		return fmt.Errorf("%d calls of this process have not ended, and MPI would wait for them", l.open)
	}
	c := dl.Get()
	defer c.Free()
	if err := l.call(c, fFinalize); err != nil {
		return err
	}
	l.over = true
	return l.from.Close() // MPICH takes leave of the launcher as its library goes
}
