package simd

import "encoding/binary"

// vendor returns the twelve letters of the processor's maker, in order.
func vendor() (b, d, c uint32)

// readsAhead asks the processor who made it.
func readsAhead() bool {
	var name [12]byte
	b, d, c := vendor()
	for i, v := range []uint32{b, d, c} {
		binary.LittleEndian.PutUint32(name[4*i:], v)
	}
	return string(name[:]) == "AuthenticAMD"
}
