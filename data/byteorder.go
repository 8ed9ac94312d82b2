package data

import (
	"encoding/binary"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// bigEndian reports whether this machine's byte order is not that of files.
var bigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// numberSize returns the bytes of one number of dtype d; a complex element is two
// numbers.
func numberSize(d tensor.DType) int {
	if d.IsComplex() {
		return d.Size() / 2
	}
	return d.Size()
}

// swapBytes reverses the bytes of each number of the given size.
func swapBytes(raw []byte, size int) {
	if size == 1 {
		return
	}
	for ; len(raw) >= size; raw = raw[size:] {
		slices.Reverse(raw[:size])
	}
}
