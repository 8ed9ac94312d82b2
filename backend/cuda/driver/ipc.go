package driver

import (
	"encoding/binary"
	"runtime"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// An IPCHandle names memory or an event of a process to others of the machine.
type IPCHandle [64]byte

// IPCAPI is the part of the driver that lets processes share memory and events.
type IPCAPI interface {
	// IPCMemHandle returns the handle of memory that MemAlloc returned.
	IPCMemHandle(dev int, p Ptr) (IPCHandle, error)
	// IPCOpenMem opens memory of another process; in the process that allocated it, that is
	// an error.
	IPCOpenMem(dev int, h IPCHandle) (Ptr, error)
	IPCCloseMem(dev int, p Ptr) error
	// IPCEventHandle returns the handle of an event with EventInterprocess.
	IPCEventHandle(dev int, e Event) (IPCHandle, error)
	// IPCOpenEvent opens an event of another process, which EventDestroy closes.
	IPCOpenEvent(dev int, h IPCHandle) (Event, error)
}

func (b *binding) ipcHandle(s symbol, dev int, of uintptr) (h IPCHandle, err error) {
	c := dl.Get()
	defer c.Free()
	data, at := c.Bytes(len(h))
	clear(data)
	err = b.onFrame(s, dev, c, at, of)
	copy(h[:], data)
	return h, err
}

// ipcOpen calls a function that takes a handle by value after the address of its result, and
// then perhaps flags. C passes a struct of that size on the stack on amd64, beside the arguments
// in registers, of which there are six, and by reference on arm64.
func (b *binding) ipcOpen(s symbol, dev int, h IPCHandle, flags ...uintptr) (uintptr, error) {
	c := dl.Get()
	defer c.Free()
	args := []uintptr{c.Addr(0)}
	if runtime.GOARCH == "amd64" {
		const registers = 6
		args = append(args, flags...)
		args = append(args, make([]uintptr, registers-len(args))...)
		for i := 0; i < len(h); i += 8 {
			args = append(args, uintptr(binary.LittleEndian.Uint64(h[i:])))
		}
	} else {
		data, at := c.Bytes(len(h))
		copy(data, h[:])
		args = append(append(args, at), flags...)
	}
	err := b.onFrame(s, dev, c, args...)
	return c.Words[0], err
}

func (b *binding) IPCMemHandle(dev int, p Ptr) (IPCHandle, error) {
	return b.ipcHandle(cuIpcGetMemHandle, dev, uintptr(p))
}

func (b *binding) IPCOpenMem(dev int, h IPCHandle) (Ptr, error) {
	const lazyPeerAccess = 1 // the only flag there is
	p, err := b.ipcOpen(cuIpcOpenMemHandle, dev, h, lazyPeerAccess)
	return Ptr(p), err
}

func (b *binding) IPCCloseMem(dev int, p Ptr) error {
	return b.on(cuIpcCloseMemHandle, dev, uintptr(p))
}

func (b *binding) IPCEventHandle(dev int, e Event) (IPCHandle, error) {
	return b.ipcHandle(cuIpcGetEventHandle, dev, uintptr(e))
}

func (b *binding) IPCOpenEvent(dev int, h IPCHandle) (Event, error) {
	e, err := b.ipcOpen(cuIpcOpenEventHandle, dev, h)
	return Event(e), err
}
