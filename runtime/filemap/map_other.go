//go:build !linux && !darwin && !freebsd

package filemap

import (
	"errors"
	"os"
)

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func forget([]byte) {}
