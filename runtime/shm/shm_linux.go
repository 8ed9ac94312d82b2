package shm

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// anonymous returns a file in memory that no directory has.
func anonymous() (*os.File, error) {
	fd, err := unix.MemfdCreate("sinter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "sinter"), nil
}

// name returns where other processes find an open file of this one.
func name(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }

// openFile opens a file of another process.
func openFile(name string) (*os.File, error) {
	if Process(name) == 0 {
		return nil, fmt.Errorf("%q is no name of shared memory", name)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("%q is no shared memory: %d: %w", name, seals, err)
	}
	return f, nil
}

func mapFile(f *os.File, bytes int64) ([]byte, error) {
	if bytes <= 0 || bytes > math.MaxInt {
		return nil, unix.EINVAL
	}
	return unix.Mmap(int(f.Fd()), 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(view []byte) error { return unix.Munmap(view) }

func lock(f *os.File, alone bool) (bool, error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
