package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// carriers has the dtype of the tensors that hold elements of each type. A type that
// tensors do not have is held in a wider one.
var carriers = map[format.Elem]tensor.DType{
	format.Float: tensor.Float32, format.Double: tensor.Float64, format.Float16: tensor.Float16, format.BFloat16: tensor.BFloat16,
	format.Bool: tensor.Bool, format.Uint8: tensor.Uint8, format.Int8: tensor.Int8, format.Int16: tensor.Int16,
	format.Int32: tensor.Int32, format.Int64: tensor.Int64, format.Complex64: tensor.Complex64, format.Complex128: tensor.Complex128,
	format.Uint16: tensor.Uint16, format.Uint32: tensor.Uint32, format.Uint64: tensor.Uint64,
	format.Uint4: tensor.Uint8, format.Uint2: tensor.Uint8, format.Int4: tensor.Int8, format.Int2: tensor.Int8,
	format.Float8E4M3FN: tensor.Float32, format.Float8E4M3FNUZ: tensor.Float32, format.Float8E5M2: tensor.Float32,
	format.Float8E5M2FNUZ: tensor.Float32, format.Float8E8M0: tensor.Float32, format.Float4E2M1: tensor.Float32,
}

// native has the type of the elements that a dtype holds where nothing else is said.
var native = map[tensor.DType]format.Elem{
	tensor.Float32: format.Float, tensor.Float64: format.Double, tensor.Float16: format.Float16, tensor.BFloat16: format.BFloat16,
	tensor.Bool: format.Bool, tensor.Uint8: format.Uint8, tensor.Int8: format.Int8, tensor.Int16: format.Int16,
	tensor.Int32: format.Int32, tensor.Int64: format.Int64, tensor.Complex64: format.Complex64, tensor.Complex128: format.Complex128,
	tensor.Uint16: format.Uint16, tensor.Uint32: format.Uint32, tensor.Uint64: format.Uint64,
}

// extents returns a tensor's shape and the number of its elements.
func extents(dims []int64) (shape []int, n int, err error) {
	shape, n = make([]int, len(dims)), 1
	empty := false
	for i, d := range dims {
		if d < 0 || d > math.MaxInt32*int64(math.MaxInt16) || int64(int(d)) != d {
			return nil, 0, fmt.Errorf("%w: a tensor of shape %v", ErrFormat, dims)
		}
		shape[i] = int(d)
		empty = empty || d == 0
	}
	if empty {
		return shape, 0, nil
	}
	for _, d := range shape {
		if n > math.MaxInt/16/d {
			return nil, 0, fmt.Errorf("%w: a tensor of shape %v", ErrFormat, dims)
		}
		n *= d
	}
	return shape, n, nil
}

// contents returns the row-major elements of t in its carrier's dtype and this machine's
// byte order. Where that is how a file has them they are a part of it, and keep is what it
// stays for: own for the model's. Fetch returns the bytes of another file.
func contents(t *format.Tensor, own any, fetch func(map[string]string) ([]byte, any, error)) (raw []byte, shape []int, keep any, err error) {
	shape, n, err := extents(t.Dims)
	if err != nil {
		return nil, nil, nil, err
	}
	dt, ok := carriers[t.Elem]
	if !ok {
		return nil, nil, nil, fmt.Errorf("%w: a tensor of %s", ErrUnsupported, t.Elem)
	}
	file, has := t.Raw, t.HasRaw
	if t.External != nil {
		if file, own, err = fetch(t.External); err != nil {
			return nil, nil, nil, err
		}
		has = true
	}
	if has {
		bits := t.Elem.Bits()
		if want := (n*bits + 7) / 8; len(file) != want {
			return nil, nil, nil, fmt.Errorf("%w: %d bytes for %s %v, which has %d", ErrFormat, len(file), t.Elem, shape, want)
		}
		if raw, err = unpack(file, t.Elem, n); err == nil && n > 0 && &raw[0] == &file[0] {
			keep = own
		}
		return raw, shape, keep, err
	}
	raw, err = listed(t, n, dt)
	return raw, shape, nil, err
}

// listed returns the elements of a tensor that has them as a list of numbers.
func listed(t *format.Tensor, n int, dt tensor.DType) ([]byte, error) {
	count := func(have int) error {
		if have != n {
			return fmt.Errorf("%w: %d numbers for %s %v, which has %d", ErrFormat, have, t.Elem, t.Dims, n)
		}
		return nil
	}
	var file []byte
	put := binary.LittleEndian
	switch t.Elem {
	case format.Float, format.Complex64:
		for _, v := range t.Floats {
			file = put.AppendUint32(file, math.Float32bits(v))
		}
	case format.Double, format.Complex128:
		for _, v := range t.Doubles {
			file = put.AppendUint64(file, math.Float64bits(v))
		}
	case format.Int64:
		for _, v := range t.Int64s {
			file = put.AppendUint64(file, uint64(v))
		}
	case format.Uint64:
		for _, v := range t.Uint64s {
			file = put.AppendUint64(file, uint64(v))
		}
	case format.Uint32:
		for _, v := range t.Uint64s {
			file = put.AppendUint32(file, uint32(v))
		}
	case format.Uint4, format.Int4, format.Float4E2M1, format.Uint2, format.Int2: // a byte's worth in a number
		for _, v := range t.Int32s {
			file = append(file, byte(v))
		}
	default:
		for _, v := range t.Int32s {
			switch t.Elem.Bits() {
			case 8:
				file = append(file, byte(v))
			case 16:
				file = put.AppendUint16(file, uint16(v))
			case 32:
				file = put.AppendUint32(file, uint32(v))
			}
		}
	}
	bits := t.Elem.Bits()
	if len(file) != (n*bits+7)/8 {
		return nil, count(len(file) * 8 / bits)
	}
	return unpack(file, t.Elem, n)
}

// unpack returns n elements, which a file has in little-endian order, in the carrier's
// dtype and this machine's order.
func unpack(file []byte, e format.Elem, n int) ([]byte, error) {
	dt := carriers[e]
	word := min(dt.Size(), 8)
	if e == format.Complex64 {
		word = 4
	}
	out := file
	switch bits := e.Bits(); {
	case e == format.Bool:
		out = make([]byte, n)
		for i, v := range file {
			if v != 0 {
				out[i] = 1
			}
		}
		return out, nil
	case bits == dt.Size()*8 && little:
		return file, nil
	case bits == dt.Size()*8:
		out = make([]byte, len(file))
		for i := range out {
			out[i] = file[i/word*word+word-1-i%word]
		}
		return out, nil
	default:
		out = make([]byte, 0, n*dt.Size())
		for i := range n {
			code := uint32(file[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1)
			out = appendCarried(out, e, code)
		}
	}
	return out, nil
}

// appendCarried appends the element with the given bits as its carrier holds it.
func appendCarried(out []byte, e format.Elem, code uint32) []byte {
	put := binary.NativeEndian
	switch e {
	case format.Uint4, format.Uint2:
		return append(out, byte(code))
	case format.Int4:
		return append(out, byte(int8(code<<4)>>4))
	case format.Int2:
		return append(out, byte(int8(code<<6)>>6))
	}
	return put.AppendUint32(out, math.Float32bits(smallValue(e, code)))
}

// little reports whether this machine has the file's order of bytes.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
