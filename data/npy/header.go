package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sinter-go/sinter/data/internal/fileio"
	"github.com/sinter-go/sinter/ir"
)

const (
	magic = "\x93NUMPY"
	// maxHeader is the largest header in bytes that is read: what version 1.0
	// can express. Later versions allow more for records with many fields, which
	// are not supported; NumPy itself refuses more than 10,000 unless told.
	maxHeader = 1<<16 - 1
	// maxRank is the most axes a NumPy array has; it keeps what is written within
	// a header of version 1.0.
	maxRank = 64
	// alignment is what the data's offset in the file is a multiple of.
	alignment = 64
	// growth is how many digits NumPy leaves room for in the first extent, so
	// that a file can be appended to.
	growth = 21
)

// descrs maps dtypes to NumPy's descriptions of them.
var descrs = map[ir.DType]string{
	ir.Bool:       "|b1",
	ir.Uint8:      "|u1",
	ir.Int8:       "|i1",
	ir.Int16:      "<i2",
	ir.Int32:      "<i4",
	ir.Int64:      "<i8",
	ir.Float16:    "<f2",
	ir.BFloat16:   "<V2",
	ir.Float32:    "<f4",
	ir.Float64:    "<f8",
	ir.Complex64:  "<c8",
	ir.Complex128: "<c16",
	ir.Uint16:     "<u2",
	ir.Uint32:     "<u4",
	ir.Uint64:     "<u8",
}

// A header is the checked content of a file's header.
type header struct {
	dtype     ir.DType
	bigEndian bool
	fortran   bool // the first axis varies fastest
	shape     []int
}

// readHeader reads all that comes before the data. The error is io.EOF when r
// is at its end; errors about what was read wrap ErrFormat or ErrDType.
func readHeader(r io.Reader) (header, error) {
	var prefix [len(magic) + 2]byte
	if _, err := io.ReadFull(r, prefix[:]); err == io.EOF {
		return header{}, err
	} else if err != nil {
		return header{}, ended(err)
	}
	if string(prefix[:len(magic)]) != magic {
		return header{}, fmt.Errorf("%w: begins with %q, not with %q", ErrFormat, prefix[:len(magic)], magic)
	}
	major, minor := prefix[len(magic)], prefix[len(magic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return header{}, fmt.Errorf("%w: version %d.%d (have 1.0, 2.0 and 3.0)", ErrFormat, major, minor)
	}
	length := make([]byte, 4)
	if major == 1 {
		length = length[:2]
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return header{}, fmt.Errorf("header length: %w", ended(err))
	}
	n := binary.LittleEndian.Uint32(append(length, 0, 0)[:4])
	if n > maxHeader {
		return header{}, fmt.Errorf("%w: header of %d bytes; at most %d are accepted", ErrFormat, n, maxHeader)
	}
	raw, err := fileio.ReadN(r, int(n))
	if err != nil {
		return header{}, fmt.Errorf("header: %w", ended(err))
	}
	if major == 3 && !utf8.Valid(raw) {
		return header{}, fmt.Errorf("%w: header is not UTF-8", ErrFormat)
	}
	return parseHeader(string(raw))
}

// parseHeader reads a header's text, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
func parseHeader(s string) (h header, err error) {
	fields, err := parseDict(s)
	if err != nil {
		return header{}, fmt.Errorf("%w: header %.80q: %w", ErrFormat, s, err)
	}
	want := []string{"descr", "fortran_order", "shape"}
	if keys := slices.Sorted(maps.Keys(fields)); !slices.Equal(keys, want) {
		return header{}, fmt.Errorf("%w: header has keys %q; want %q", ErrFormat, keys, want)
	}
	var ok bool
	if h.fortran, ok = fields["fortran_order"].(bool); !ok {
		return header{}, fmt.Errorf("%w: fortran_order is %v; want True or False", ErrFormat, fields["fortran_order"])
	}
	if h.shape, ok = fields["shape"].([]int); !ok {
		return header{}, fmt.Errorf("%w: shape is %v; want a tuple of integers", ErrFormat, fields["shape"])
	}
	if err := checkShape(h.shape); err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	descr, ok := fields["descr"].(string)
	if !ok {
		return header{}, fmt.Errorf("%w: records with fields %.80v (have %v)", ErrDType, fields["descr"], ir.AllDTypes())
	}
	h.dtype, h.bigEndian, err = parseDescr(descr)
	return h, err
}

// checkShape reports a shape that NumPy has not or memory could not hold.
func checkShape(shape []int) error {
	if len(shape) > maxRank {
		return fmt.Errorf("%w: %d axes; at most %d are accepted", ir.ErrShape, len(shape), maxRank)
	}
	return ir.CheckShape(shape) // leaves room for 16 bytes an element
}

// parseDescr returns the dtype and byte order that NumPy describes as s.
func parseDescr(s string) (d ir.DType, bigEndian bool, err error) {
	for d, descr := range descrs {
		if s == descr {
			return d, false, nil
		}
		// One-byte types have no order. A big-endian bfloat16 is nobody's
		// convention.
		if d != ir.BFloat16 && strings.HasPrefix(s, ">") && descr == "<"+s[1:] {
			return d, true, nil
		}
	}
	have := slices.Sorted(maps.Values(descrs))
	return ir.Invalid, false, fmt.Errorf("%w %.80q (have %q, and those with > for <)", ErrDType, s, have)
}

// appendHeader appends to b all that comes before the data of an array that was
// checked, as NumPy writes it.
func appendHeader(b []byte, d ir.DType, shape []int) []byte {
	text := fmt.Appendf(nil, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[d])
	for i, extent := range shape {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(strconv.AppendInt(text, int64(extent), 10), ',')
	}
	if len(shape) > 1 { // only a tuple of one keeps its last comma
		text = text[:len(text)-1]
	}
	text = append(text, "), }"...)
	if len(shape) > 0 {
		digits := len(strconv.Itoa(shape[0]))
		text = append(text, bytes.Repeat([]byte{' '}, growth-digits)...)
	}
	before := len(magic) + 4 // version and length
	text = append(text, bytes.Repeat([]byte{' '}, alignment-(before+len(text)+1)%alignment)...)
	b = append(append(b, magic...), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)+1))
	return append(append(b, text...), '\n')
}
