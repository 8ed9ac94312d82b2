//go:build (!linux || android || !(amd64 || arm64)) && !nocuda

package dl

const tag = "; libraries can be opened on linux/amd64 and linux/arm64"
