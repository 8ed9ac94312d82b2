//go:build linux && !android && (amd64 || arm64) && !nocuda

package kernels

import (
	"embed"
	"io/fs"
)

//go:embed bin
var binaries embed.FS

var standardBinaries fs.FS = binaries
