//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import "github.com/ebitengine/purego"

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }

// call passes a slice that is on the heap already: arguments written out would
// be moved there by every call.
func call(f uintptr, args []uintptr) uintptr {
	result, _, _ := purego.SyscallN(f, args...)
	return result
}
