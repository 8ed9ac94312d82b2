//go:build !cgo && linux && !android && (amd64 || arm64) && !nocuda

package dl

import _ "github.com/ebitengine/purego" // makes the runtime ready for C, without a compiler of C
