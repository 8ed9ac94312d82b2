//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Supported returns nil where libraries can be opened, and otherwise why not.
func Supported() error { return nil }

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }

func release(library uintptr) error { return purego.Dlclose(library) }

// call does both calls of a block, and costs less than purego's call of one: there
// are no floating-point arguments, and nothing is copied. The runtime is ready for
// C because package purego has made it so.
func call(b *block) { cgocall(trampoline, unsafe.Pointer(b)) }

// trampoline is the address of the machine code.
var trampoline uintptr

//go:linkname cgocall runtime.cgocall
func cgocall(f uintptr, arg unsafe.Pointer) int32
