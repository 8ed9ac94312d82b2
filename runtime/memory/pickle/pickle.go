// Package pickle writes values in Python's pickle format, protocol 4: None,
// booleans, integers, floats, strings, lists, tuples and dictionaries with string
// keys. It writes as it is told and keeps only what is referred to again, so that
// a value may be larger than memory. The package knows nothing of what it writes.
package pickle

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
)

// The operations of the format that are written.
const (
	opProtocol   = 0x80
	opNone       = 'N'
	opTrue       = 0x88
	opFalse      = 0x89
	opInt1       = 'K' // one byte, unsigned
	opInt2       = 'M' // two bytes, unsigned
	opInt4       = 'J' // four bytes, signed
	opLong       = 0x8a
	opFloat      = 'G'
	opShortText  = 0x8c
	opText       = 'X'
	opList       = ']'
	opDict       = '}'
	opEmptyTuple = ')'
	opTuple      = 't'
	opMark       = '('
	opAppends    = 'e'
	opSetItems   = 'u'
	opMemoize    = 0x94
	opGet1       = 'h'
	opGet4       = 'j'
	opStop       = '.'

	protocol = 4
	// batch is how many elements are handed to a list at a time: readers hold a
	// batch on a stack.
	batch = 1000
)

// A Writer writes one value: exactly one call of a method that writes a value,
// then Close. An error of the io.Writer is what Close returns.
type Writer struct {
	w    *bufio.Writer
	memo map[any]uint32 // strings and keys of Shared
}

// NewWriter returns a Writer to w, which has a buffer of its own.
func NewWriter(w io.Writer) *Writer {
	p := &Writer{w: bufio.NewWriter(w), memo: map[any]uint32{}}
	p.op(opProtocol, protocol)
	return p
}

// Close ends the value and writes what is buffered. It does not close the
// io.Writer.
func (p *Writer) Close() error {
	p.op(opStop)
	return p.w.Flush()
}

// op writes bytes; bufio keeps the first error.
func (p *Writer) op(b ...byte) { _, _ = p.w.Write(b) }

// None writes None.
func (p *Writer) None() { p.op(opNone) }

// Bool writes True or False.
func (p *Writer) Bool(v bool) {
	if v {
		p.op(opTrue)
	} else {
		p.op(opFalse)
	}
}

// Int writes an integer.
func (p *Writer) Int(v int64) {
	switch {
	case v >= 0 && v <= math.MaxUint8:
		p.op(opInt1, byte(v))
	case v >= 0 && v <= math.MaxUint16:
		p.op(opInt2, byte(v), byte(v>>8))
	case v >= math.MinInt32 && v <= math.MaxInt32:
		p.op(append([]byte{opInt4}, little(uint64(v), 4)...)...)
	default:
		n := bits.Len64(uint64(max(v, ^v)))/8 + 1 // with the sign
		p.op(append([]byte{opLong, byte(n)}, little(uint64(v), n)...)...)
	}
}

// Uint writes an integer without a sign.
func (p *Writer) Uint(v uint64) {
	if v <= math.MaxInt64 {
		p.Int(int64(v))
		return
	}
	p.op(opLong, 9)
	p.op(little(v, 8)...)
	p.op(0)
}

// little returns the n <= 8 low bytes of v, lowest first.
func little(v uint64, n int) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }

// Float writes a float.
func (p *Writer) Float(v float64) {
	p.op(binary.BigEndian.AppendUint64([]byte{opFloat}, math.Float64bits(v))...)
}

// String writes a str, which is UTF-8; of equal ones all but the first as a
// reference.
func (p *Writer) String(s string) {
	p.Shared(s, func() {
		if len(s) <= math.MaxUint8 {
			p.op(opShortText, byte(len(s)))
		} else {
			p.op(append([]byte{opText}, little(uint64(len(s)), 4)...)...)
		}
		_, _ = p.w.WriteString(s)
	})
}

// Shared writes the value that write writes; of calls with an equal key all but
// the first a reference to that. Keys that are strings are those of String.
func (p *Writer) Shared(key any, write func()) {
	if at, ok := p.memo[key]; ok {
		if at <= math.MaxUint8 {
			p.op(opGet1, byte(at))
		} else {
			p.op(append([]byte{opGet4}, little(uint64(at), 4)...)...)
		}
		return
	}
	write()
	p.op(opMemoize)
	p.memo[key] = uint32(len(p.memo))
}

// List writes a list of n elements; element i is the value that write(i) writes.
func (p *Writer) List(n int, write func(i int)) {
	p.op(opList)
	for i := 0; i < n; {
		p.op(opMark)
		for end := min(n, i+batch); i < end; i++ {
			write(i)
		}
		p.op(opAppends)
	}
}

// Tuple writes a tuple of n elements; element i is the value that write(i) writes.
func (p *Writer) Tuple(n int, write func(i int)) {
	if n == 0 {
		p.op(opEmptyTuple)
		return
	}
	p.op(opMark)
	for i := range n {
		write(i)
	}
	p.op(opTuple)
}

// Dict writes a dict: write calls Key and then writes a value, for each item.
func (p *Writer) Dict(write func()) {
	p.op(opDict, opMark)
	write()
	p.op(opSetItems)
}

// Key writes the key of a dict's next item.
func (p *Writer) Key(k string) { p.String(k) }
