package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sinter-go/sinter/ir"
)

// An entry is a tensor's description and where its data begins, counted from
// the end of the header.
type entry struct {
	Info
	start int64
}

// A header is the checked content of a file's header.
type header struct {
	metadata map[string]string // nil when the file has none
	entries  []entry           // by start; together they cover [0, data) once
	data     int64             // bytes after the header
}

// parseHeader reads and checks a header, padding included. Its errors wrap
// ErrFormat.
func parseHeader(raw []byte) (header, error) {
	var h header
	err := func() error {
		if len(raw) == 0 || raw[0] != '{' {
			return fmt.Errorf("header does not begin with '{'")
		}
		if !utf8.Valid(raw) {
			return fmt.Errorf("header is not UTF-8")
		}
		if !json.Valid(raw) { // the walk below then meets well-formed JSON only
			return fmt.Errorf("header is not JSON")
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := object(dec, func(name string) error { return h.member(dec, name) }); err != nil {
			return err
		}
		return h.check()
	}()
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return h, nil
}

// member reads the value of one key of the header.
func (h *header) member(dec *json.Decoder, name string) (err error) {
	if name == metadataKey {
		h.metadata = map[string]string{}
		return object(dec, func(key string) error {
			h.metadata[key], err = text(dec)
			return err
		})
	}
	var stored string
	var shape, offsets []int64
	err = object(dec, func(key string) (err error) {
		switch key {
		case "dtype":
			stored, err = text(dec)
		case "shape":
			shape, err = numbers(dec)
		case "data_offsets":
			offsets, err = numbers(dec)
		default: // the reference implementation lets unknown fields pass
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	e, err := newEntry(name, stored, shape, offsets)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	h.entries = append(h.entries, e)
	return nil
}

// newEntry checks a tensor's description by itself. The slices are nil when the
// header lacks them.
func newEntry(name, stored string, dims, offsets []int64) (entry, error) {
	k := kindNamed(stored)
	if k < 0 {
		return entry{}, fmt.Errorf("unknown dtype %q", stored)
	}
	if dims == nil {
		return entry{}, fmt.Errorf("no shape")
	}
	shape := make([]int, len(dims))
	for i, d := range dims {
		if d > math.MaxInt {
			return entry{}, fmt.Errorf("%w: extent %d has too many elements", ir.ErrShape, d)
		}
		shape[i] = int(d)
	}
	size, err := kinds[k].size(shape)
	if err != nil {
		return entry{}, err
	}
	if len(offsets) != 2 {
		return entry{}, fmt.Errorf("%d data offsets; want begin and end", len(offsets))
	}
	if offsets[0] > offsets[1] || offsets[1]-offsets[0] != size {
		return entry{}, fmt.Errorf("data offsets %d do not span the %d bytes of %s%d", offsets, size, stored, shape)
	}
	return entry{Info{name, kinds[k].dtype, stored, shape, size}, offsets[0]}, nil
}

// check orders the entries and reports holes and overlaps between them.
func (h *header) check() error {
	slices.SortStableFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.Bytes, b.Bytes))
	})
	for _, e := range h.entries {
		if e.start < h.data {
			return fmt.Errorf("tensor %q begins at byte %d, within the one that ends at %d", e.Name, e.start, h.data)
		}
		if e.start > h.data {
			return fmt.Errorf("bytes %d to %d before tensor %q belong to none", h.data, e.start, e.Name)
		}
		h.data += e.Bytes // no overflow: the end was read as an int64
	}
	return nil
}

// object walks a JSON object, calling value to read each key's value, and
// reports keys that are there twice.
func object(dec *json.Decoder, value func(key string) error) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := text(dec)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q is there twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return delim(dec, '}')
}

// numbers reads a JSON array of integers that are not negative; never nil.
func numbers(dec *json.Decoder) ([]int64, error) {
	if err := delim(dec, '['); err != nil {
		return nil, err
	}
	list := []int64{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		num, ok := tok.(json.Number)
		if !ok {
			return nil, fmt.Errorf("found %v; want an integer", tok)
		}
		n, err := strconv.ParseUint(num.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("found %s; want an integer from 0 to %d", num, int64(math.MaxInt64))
		}
		list = append(list, int64(n))
	}
	return list, delim(dec, ']')
}

func text(dec *json.Decoder) (string, error) {
	tok, err := dec.Token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", fmt.Errorf("found %v; want a string", tok)
	}
	return s, nil
}

func delim(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if tok != want {
		return fmt.Errorf("found %v; want %v", tok, want)
	}
	return nil
}

// appendHeader appends the header of h to b, without padding. The entries are
// written in their order.
func (h *header) appendHeader(b []byte) ([]byte, error) {
	comma := func() {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
	}
	b = append(b, '{')
	if len(h.metadata) > 0 {
		b = append(appendText(b, metadataKey), ":{"...)
		for _, key := range sorted(h.metadata) {
			value := h.metadata[key]
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, fmt.Errorf("metadata %q: %q is not UTF-8", key, value)
			}
			comma()
			b = appendText(append(appendText(b, key), ':'), value)
		}
		b = append(b, '}')
	}
	for _, e := range h.entries {
		comma()
		b = append(appendText(b, e.Name), ":{\"dtype\":"...)
		b = append(appendText(b, e.Stored), ",\"shape\":["...)
		for i, d := range e.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(d), 10)
		}
		b = fmt.Appendf(b, "],\"data_offsets\":[%d,%d]}", e.start, e.start+e.Bytes)
	}
	return append(b, '}'), nil
}

// appendText appends s as a JSON string, escaping what must be and no more.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case bytes.IndexByte([]byte("\b\t\n\f\r"), c) >= 0:
			b = append(b, '\\', "btn_fr"[c-'\b'])
		default:
			b = fmt.Appendf(b, "\\u%04x", c)
		}
	}
	return append(b, '"')
}
