package mpi

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/collective"
)

// Confirm compares what every rank was told of its place, by others than MPI, with what MPI says. All ranks call it. Where
// one was told something else, every rank returns which.
func (c *Communicator) Confirm(rank, size int) error {
	type told struct{ rank, size int64 }
	const bytes = unsafe.Sizeof(told{})
	mine, all := &told{int64(rank), int64(size)}, make([]told, c.size)
	err := c.do("joining the group", fAllgather, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(mine)), bytes, typeByte, keep(f, unsafe.Pointer(&all[0])), bytes, typeByte, c.comm}
	})
	if err != nil {
		return c.fail(err)
	}
	var errs []error
	for r, t := range all {
		if t != (told{int64(r), int64(c.size)}) {
			errs = append(errs, fmt.Errorf("%w: the process that MPI has as rank %d of %d was told to be rank %d of %d", collective.ErrMismatch, r, c.size, t.rank, t.size))
		}
	}
	return errors.Join(errs...)
}
