//go:build !linux || android || !(amd64 || arm64) || nocuda

package functions

import "io/fs"

var files fs.FS
