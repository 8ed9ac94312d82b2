//go:build linux && !android && (amd64 || arm64) && !nocuda

package cupti

import "syscall"

// requested and completed are the addresses of the callbacks' machine code.
var requested, completed uintptr

// room returns memory that is not the collector's, all zero.
func room(bytes int) ([]byte, error) {
	return syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}
