package driver

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/tests/allocations"
)

// TestParams compares with the layout of a Go struct, which is C's on the
// supported platforms.
func TestParams(t *testing.T) {
	type mixed struct {
		flag   bool
		half   uint16
		count  int32
		at     uint64
		scale  float32
		byte   uint8
		factor float64
		inner  [3]uint32
		last   uint8
	}
	want := mixed{true, 0x3c00, -7, 0x7f0011223344, 1.5, 9, -0.25, [3]uint32{1, 2, 3}, 200}
	var p Params
	for range 2 { // the second time in the same memory
		p.Reset()
		p.Bool(want.flag)
		p.Uint16(want.half)
		p.Int32(want.count)
		p.Ptr(Ptr(want.at))
		p.Float32(want.scale)
		p.Uint8(want.byte)
		p.Float64(want.factor)
		p.Struct(unsafe.Slice((*byte)(unsafe.Pointer(&want.inner)), unsafe.Sizeof(want.inner)), 4)
		p.Uint8(want.last)
		end := unsafe.Offsetof(want.last) + 1
		if diff := cmp.Diff(unsafe.Slice((*byte)(unsafe.Pointer(&want)), end), p.Bytes()); diff != "" {
			t.Error(diff)
		}
	}
	allocations.AtMost(t, 0, func() { p.Reset(); p.Int64(1); p.Bool(false); p.Uint32(2) })
	p.Reset()
	p.Uint8(1)
	p.Align(16)
	if !bytes.Equal(p.Bytes(), append([]byte{1}, make([]byte, 15)...)) {
		t.Errorf("Align(16): %v", p.Bytes())
	}
}
