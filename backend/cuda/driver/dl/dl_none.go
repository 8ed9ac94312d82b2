//go:build !linux || android || !(amd64 || arm64) || nocuda

package dl

import (
	"fmt"
	"runtime"
)

// Supported returns nil where libraries can be opened, and otherwise why not.
func Supported() error {
	return fmt.Errorf("%w: it was built for %s/%s%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH, tag)
}

func open(string) (uintptr, error) { return 0, Supported() }

func symbol(uintptr, string) (uintptr, error) { return 0, ErrUnsupported }

func release(uintptr) error { return ErrUnsupported }

// call is never reached: there is no function without an open library.
func call(*block) { panic(ErrUnsupported) }
