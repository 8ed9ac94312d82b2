//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import (
	"errors"
	"runtime"
	"unsafe"
)

// now is RTLD_NOW: a library that lacks something is no library. What it defines is its own,
// as RTLD_LOCAL is 0.
const now = 2

// Supported returns nil where libraries can be opened, and otherwise why not.
func Supported() error {
	_, err := system()
	return err
}

func open(name string) (uintptr, error) {
	s, err := system()
	if err != nil {
		return 0, err
	}
	handle, said := s.call(s.open, func(c *Frame) []uintptr { return []uintptr{c.CString(name), now} })
	if handle == 0 {
		return 0, said
	}
	return handle, nil
}

func symbol(library uintptr, name string) (uintptr, error) {
	s, err := system()
	if err != nil {
		return 0, err
	}
	address, said := s.call(s.symbol, func(c *Frame) []uintptr { return []uintptr{library, c.CString(name)} })
	if address == 0 {
		return 0, said
	}
	return address, nil
}

func release(library uintptr) error {
	s, err := system()
	if err != nil {
		return err
	}
	if failed, said := s.call(s.close, func(*Frame) []uintptr { return []uintptr{library} }); int32(failed) != 0 {
		return said
	}
	return nil
}

// call calls a function of the loader, and returns what it returned and what the loader
// said last. Each thread has last words of its own.
func (s loader) call(f Func, args func(*Frame) []uintptr) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := Get()
	defer c.Free()
	result := f.Call(c, args(c)...)
	c.Words[0] = s.error.Call(c)
	return result, errors.New(GoString(c.Pointer(0)))
}

// call does both calls of a block. There are no floating-point arguments, and nothing is
// copied. The runtime is ready for C because a package that is imported here has made it so.
func call(b *block) { cgocall(trampoline, unsafe.Pointer(b)) }

// trampoline is the address of the machine code.
var trampoline uintptr

//go:linkname cgocall runtime.cgocall
func cgocall(f uintptr, arg unsafe.Pointer) int32
