//go:build linux && !android && (amd64 || arm64) && !nocuda

package functions

import (
	"embed"
	"io/fs"
)

//go:embed functions.cu build.json bin
var embedded embed.FS

var files fs.FS = embedded
