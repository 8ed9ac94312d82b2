//go:build !linux

package shm

import (
	"errors"
	"os"
)

var errSystem = errors.New("memory is shared between processes on Linux alone")

func anonymous() (*os.File, error)            { return nil, errSystem }
func name(*os.File) string                    { return "" }
func openFile(string) (*os.File, error)       { return nil, errSystem }
func mapFile(*os.File, int64) ([]byte, error) { return nil, errSystem }
func unmap([]byte) error                      { return errSystem }
func lock(*os.File, bool) (bool, error)       { return false, errSystem }
func unlock(*os.File) error                   { return errSystem }
