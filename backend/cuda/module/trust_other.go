//go:build !unix

package module

import "io/fs"

// trusted trusts all files: who owns one is not known here.
func trusted(_, _ fs.FileInfo) error { return nil }
