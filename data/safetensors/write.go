package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/sinter-go/sinter/data/internal/fileio"
)

// Write writes tensors and metadata, which may be nil, to w. The order of the
// tensors does not matter: data is laid out by descending alignment of the
// dtype, then by name. Nothing is written when a tensor is not valid.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if w == nil {
		return errors.New("safetensors: write: there is no writer; it takes one that is not nil")
	}
	if err := write(w, tensors, metadata); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

// WriteFile writes tensors and metadata to the file at path in one step: a
// reader, or a crash at any moment, sees the old file or all of the new one.
func WriteFile(path string, tensors []Tensor, metadata map[string]string) error {
	err := fileio.WriteFile(path, func(w io.Writer) error { return write(w, tensors, metadata) })
	if err != nil {
		return fmt.Errorf("safetensors: writing %s: %w", path, err)
	}
	return nil
}

func write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	h := header{metadata: metadata}
	order, err := layOut(&h, tensors)
	if err != nil {
		return err
	}
	raw, err := h.appendHeader(make([]byte, 8))
	if err != nil {
		return err
	}
	for len(raw)%8 != 0 { // so that the data of any dtype is aligned
		raw = append(raw, ' ')
	}
	if len(raw)-8 > MaxHeader {
		return fmt.Errorf("header of %d bytes; at most %d are accepted", len(raw)-8, MaxHeader)
	}
	binary.LittleEndian.PutUint64(raw, uint64(len(raw)-8))
	if _, err := w.Write(raw); err != nil {
		return err
	}
	for _, t := range order {
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// layOut checks the tensors, returns them in file order and fills in h.
func layOut(h *header, tensors []Tensor) ([]Tensor, error) {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("tensor %q is there twice", t.Name)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	order := slices.SortedFunc(slices.Values(tensors), func(a, b Tensor) int {
		return cmp.Or(kindOf(b.DType)-kindOf(a.DType), cmp.Compare(a.Name, b.Name))
	})
	h.entries = make([]entry, len(order))
	for i, t := range order {
		n := int64(len(t.Data))
		h.entries[i] = entry{Info{t.Name, t.DType, kinds[kindOf(t.DType)].name, t.Shape, n}, h.data}
		h.data += n
	}
	return order, nil
}

func (t Tensor) check() error {
	if t.Name == metadataKey {
		return fmt.Errorf("the name is reserved for metadata")
	}
	if !utf8.ValidString(t.Name) {
		return fmt.Errorf("the name is not UTF-8")
	}
	k := kindOf(t.DType)
	if k < 0 {
		return fmt.Errorf("%w %v (have %v)", ErrDType, t.DType, supported)
	}
	size, err := kinds[k].size(t.Shape)
	if err != nil {
		return err
	}
	if int64(len(t.Data)) != size {
		return fmt.Errorf("%d bytes of data; %v%d takes %d", len(t.Data), t.DType, t.Shape, size)
	}
	return checkBools(t.DType, t.Data)
}
