package driver

import (
	"encoding/binary"
	"math"
)

// Params packs a kernel's parameters as C lays out a struct of them, without
// padding at the end. The zero Params is empty; Reset makes it so again and keeps
// its memory, so that one used for many launches allocates once.
type Params struct{ buf []byte }

// Bytes returns the parameters so far, valid until the next change.
func (p *Params) Bytes() []byte { return p.buf }

// Reset removes all parameters.
func (p *Params) Reset() { p.buf = p.buf[:0] }

// Align adds zero bytes up to the next multiple of align.
func (p *Params) Align(align int) {
	for align > 1 && len(p.buf)%align != 0 {
		p.buf = append(p.buf, 0)
	}
}

// Struct adds a struct laid out by the caller, of that alignment.
func (p *Params) Struct(b []byte, align int) {
	p.Align(align)
	p.buf = append(p.buf, b...)
}

// Ptr adds a device address.
func (p *Params) Ptr(v Ptr) { p.Uint64(uint64(v)) }

// Int64 adds a long long.
func (p *Params) Int64(v int64) { p.Uint64(uint64(v)) }

// Uint64 adds an unsigned long long.
func (p *Params) Uint64(v uint64) {
	if n := len(p.buf); n%8 == 0 && cap(p.buf)-n >= 8 {
		p.buf = p.buf[:n+8]
		binary.LittleEndian.PutUint64(p.buf[n:], v)
		return
	}
	p.Align(8)
	p.buf = binary.LittleEndian.AppendUint64(p.buf, v)
}

// Int32 adds an int.
func (p *Params) Int32(v int32) { p.Uint32(uint32(v)) }

// Uint32 adds an unsigned int.
func (p *Params) Uint32(v uint32) {
	p.Align(4)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, v)
}

// Uint16 adds two bytes, such as a 16-bit float's.
func (p *Params) Uint16(v uint16) {
	p.Align(2)
	p.buf = binary.LittleEndian.AppendUint16(p.buf, v)
}

// Uint8 adds a byte.
func (p *Params) Uint8(v uint8) { p.buf = append(p.buf, v) }

// Bool adds a bool.
func (p *Params) Bool(v bool) {
	if v {
		p.Uint8(1)
	} else {
		p.Uint8(0)
	}
}

// Float32 adds a float.
func (p *Params) Float32(v float32) { p.Uint32(math.Float32bits(v)) }

// Float64 adds a double.
func (p *Params) Float64(v float64) { p.Uint64(math.Float64bits(v)) }
