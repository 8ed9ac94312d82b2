//go:build !linux || android || !(amd64 || arm64) || nocuda

package kernels

import "io/fs"

var standardBinaries fs.FS
