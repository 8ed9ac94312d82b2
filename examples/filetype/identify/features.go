package identify

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// space is what does not count at the ends of a file.
const space = " \t\n\r\v\f"

// features returns the numbers that the model reads: bytes of the beginning and of the
// end, without white space around them, and padding where there are too few. A file that
// is too short for the model has a label instead.
func (m *Model) features(r io.ReaderAt, size int64) (numbers []int32, label string, err error) {
	c := &m.config
	if size == 0 {
		return nil, empty, nil
	}
	n := min(int64(c.Block), size)
	first, last := make([]byte, n), make([]byte, n)
	for _, part := range []struct {
		to []byte
		at int64
	}{{first, 0}, {last, size - n}} {
		if k, err := r.ReadAt(part.to, part.at); k < len(part.to) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, "", err
		}
	}
	begin, end := bytes.TrimLeft(first, space), bytes.TrimRight(last, space)
	if size < int64(c.Least) || len(begin) < c.Least {
		if utf8.Valid(first) {
			return nil, text, nil
		}
		return nil, unknown, nil
	}
	begin, end = begin[:min(len(begin), c.Beginning)], end[max(len(end)-c.End, 0):]
	numbers = make([]int32, c.Beginning+c.End)
	for i := range numbers {
		numbers[i] = c.Padding
	}
	for i, b := range begin {
		numbers[i] = int32(b)
	}
	for i, b := range end {
		numbers[len(numbers)-len(end)+i] = int32(b)
	}
	return numbers, "", nil
}
