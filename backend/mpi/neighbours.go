package mpi

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/collective"
)

// A neighbour is the process of another rank on this machine, which MPI does not say the end of.
type neighbour struct {
	rank    int
	process *os.Process // of another process that has its number later, nothing is said
}

// A place is what ranks tell one another of their processes.
type place struct {
	machine uint64 // alike where processes see one another by number
	process uint64
}

// machine names what numbers of processes are unique in: a machine since it was started, or a
// container.
func machine() uint64 {
	h := fnv.New64a()
	name, _ := os.Hostname()
	space, _ := os.Readlink("/proc/self/ns/pid") // where there is no such thing, names tell machines apart
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	fmt.Fprintf(h, "%s\n%s\n%s", name, space, boot)
	return h.Sum64()
}

// meet has all ranks know their neighbours.
func (c *Communicator) meet() error {
	mine := &place{machine(), uint64(os.Getpid())}
	all := make([]place, c.size)
	const bytes = unsafe.Sizeof(place{})
	err := c.do("joining the group", fAllgather, func(f *dl.Frame) []uintptr {
		return []uintptr{keep(f, unsafe.Pointer(mine)), bytes, typeByte, keep(f, unsafe.Pointer(&all[0])), bytes, typeByte, c.comm}
	})
	if err != nil {
		return err
	}
	for rank, p := range all {
		if rank == c.rank || p.machine != mine.machine {
			continue
		}
		if process, err := os.FindProcess(int(p.process)); err == nil {
			c.near = append(c.near, neighbour{rank, process})
		}
	}
	return nil
}

// among returns the neighbours that are members of a group, by their ranks there.
func among(near []neighbour, members []int) (out []neighbour) {
	for rank, member := range members {
		for _, n := range near {
			if n.rank == member {
				out = append(out, neighbour{rank, n.process})
			}
		}
	}
	return out
}

// A watch is how a wait looks after the group's neighbours.
type watch struct {
	next time.Time
	rank int       // the first that was found to be gone
	seen time.Time // when; zero: none is
}

const (
	looking = 20 * time.Millisecond  // how often neighbours are looked at
	grace   = 200 * time.Millisecond // how long what a process sent before its end may take
)

// look returns what is wrong with neighbours.
func (w *watch) look(near []neighbour) error {
	now := time.Now()
	if !w.seen.IsZero() {
		if now.Sub(w.seen) > grace {
			return fmt.Errorf("rank %d is gone: its process has ended: %w", w.rank, collective.ErrClosed)
		}
		return nil
	}
	if now.Before(w.next) {
		return nil
	}
	w.next = now.Add(looking)
	for _, n := range near {
		if errors.Is(n.process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			w.rank, w.seen = n.rank, now
			break
		}
	}
	return nil
}

// gone says which rank was found to be gone, "" if none.
func (w *watch) gone() string {
	if w.seen.IsZero() {
		return ""
	}
	return fmt.Sprintf(", of whom rank %d is gone", w.rank)
}
