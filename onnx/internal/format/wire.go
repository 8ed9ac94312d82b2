package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// ErrFormat is wrapped by errors about bytes that are not what they should be.
const ErrFormat ir.Error = "not a valid ONNX file"

// Limits of what a file may hold. Real models are far below them; they bound the memory
// that a hostile file of a given size can ask for.
const (
	maxDepth    = 100     // messages in messages, so graphs in graphs
	maxMessages = 1 << 20 // messages in one file
)

// The wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// A field is one field of a message: its number and its value, as the wire type has it.
type field struct {
	number int
	wire   int
	n      uint64 // of varints and of fixed numbers
	bytes  []byte // a part of the file
}

// A decoder counts what one file makes.
type decoder struct {
	messages int
	depth    int
}

// each calls f with the fields of a message, which is called what.
func (d *decoder) each(what string, b []byte, f func(f field) error) error {
	if d.messages++; d.messages > maxMessages {
		return fmt.Errorf("%w: more than %d messages", ErrFormat, maxMessages)
	}
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("%w: messages nested more than %d deep", ErrFormat, maxDepth)
	}
	defer func() { d.depth-- }()
	for len(b) > 0 {
		now, rest, err := next(b)
		if err != nil {
			return fmt.Errorf("%w: %s: %s", ErrFormat, what, err)
		}
		if err := f(now); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// next splits the first field from a message.
func next(b []byte) (f field, rest []byte, err error) {
	key, n := binary.Uvarint(b)
	if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
		return f, nil, errors.New("no field where one should begin")
	}
	b = b[n:]
	f.number, f.wire = int(key>>3), int(key&7)
	switch f.wire {
	case wireVarint:
		if f.n, n = binary.Uvarint(b); n <= 0 {
			return f, nil, fmt.Errorf("field %d: no number", f.number)
		}
		return f, b[n:], nil
	case wire64:
		if len(b) < 8 {
			return f, nil, fmt.Errorf("field %d: %d bytes are left of 8", f.number, len(b))
		}
		f.n = binary.LittleEndian.Uint64(b)
		return f, b[8:], nil
	case wire32:
		if len(b) < 4 {
			return f, nil, fmt.Errorf("field %d: %d bytes are left of 4", f.number, len(b))
		}
		f.n = uint64(binary.LittleEndian.Uint32(b))
		return f, b[4:], nil
	case wireBytes:
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return f, nil, fmt.Errorf("field %d: says %d bytes, %d are left", f.number, size, len(b)-max(n, 0))
		}
		f.bytes = b[n : n+int(size)]
		return f, b[n+int(size):], nil
	}
	return f, nil, fmt.Errorf("field %d: wire type %d", f.number, f.wire)
}

// text sets s to a field that is a string.
func (f field) text(s *string) error {
	b, err := f.block()
	*s = string(b)
	return err
}

// block returns a field that is bytes.
func (f field) block() ([]byte, error) {
	if f.wire != wireBytes {
		return nil, fmt.Errorf("%w: field %d is a number, not bytes", ErrFormat, f.number)
	}
	return f.bytes, nil
}

// integer returns a field that is an integer.
func (f field) integer() (int64, error) {
	if f.wire != wireVarint {
		return 0, fmt.Errorf("%w: field %d is not an integer", ErrFormat, f.number)
	}
	return int64(f.n), nil
}

// integers appends a field of a list of integers, packed or not.
func (f field) integers(to []int64) ([]int64, error) {
	if f.wire != wireBytes {
		v, err := f.integer()
		return append(to, v), err
	}
	for b := f.bytes; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: field %d: a list of integers ends in the middle of one", ErrFormat, f.number)
		}
		to, b = append(to, int64(v)), b[n:]
	}
	return to, nil
}

// floats appends a field of a list of float32, packed or not.
func (f field) floats(to []float32) ([]float32, error) {
	switch {
	case f.wire == wire32:
		return append(to, math.Float32frombits(uint32(f.n))), nil
	case f.wire != wireBytes || len(f.bytes)%4 != 0:
		return nil, fmt.Errorf("%w: field %d is not a list of float32", ErrFormat, f.number)
	}
	for b := f.bytes; len(b) > 0; b = b[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return to, nil
}

// doubles appends a field of a list of float64, packed or not.
func (f field) doubles(to []float64) ([]float64, error) {
	switch {
	case f.wire == wire64:
		return append(to, math.Float64frombits(f.n)), nil
	case f.wire != wireBytes || len(f.bytes)%8 != 0:
		return nil, fmt.Errorf("%w: field %d is not a list of float64", ErrFormat, f.number)
	}
	for b := f.bytes; len(b) > 0; b = b[8:] {
		to = append(to, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return to, nil
}
