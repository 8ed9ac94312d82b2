//go:build cgo && linux && !android && (amd64 || arm64) && !nocuda

package dl

import _ "runtime/cgo" // makes the runtime ready for C
