//go:build !(linux && amd64)

package jit

import (
	"fmt"
	"runtime"
	"unsafe"
)

func load([]byte) ([]byte, error) {
	return nil, fmt.Errorf("%w on %s/%s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)
}

func unmap([]byte) error { return nil }

// No block is ever made here, so nothing calls these.
func callSmall(_, _ unsafe.Pointer) {}
func callLarge(_, _ unsafe.Pointer) {}
