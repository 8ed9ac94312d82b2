package torchfile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sinter-go/sinter/ir"
)

// walk finds the tensors and the plain values of an object.
type walk struct {
	f *File
	// left bounds the values to be visited by the size of the program: each costs it a byte,
	// but where containers are in several others, or in themselves.
	left int
}

// maxDepth is how many containers may be within each other.
const maxDepth = 100

// visit adds what is in v, whose keys lead to name, to the file's tensors and metadata.
func (w *walk) visit(name string, v any, depth int) error {
	if w.left--; w.left < 0 || depth > maxDepth {
		return fmt.Errorf("%w: %q: containers that are in themselves, or too often in others", ErrFormat, name)
	}
	var items []any
	switch v := v.(type) {
	case *array:
		return w.add(name, v)
	case *dict:
		for i, key := range v.keys {
			if err := w.visit(within(name, fmt.Sprint(key)), v.values[i], depth+1); err != nil {
				return err
			}
		}
	case *list:
		items = v.items
	case tuple:
		items = v
	default:
		text, err := plain(v)
		if err != nil {
			return fmt.Errorf("%w: %q is %w", ErrRefused, name, err)
		}
		if w.f.metadata == nil {
			w.f.metadata = map[string]string{}
		}
		w.f.metadata[name] = text
	}
	for i, item := range items {
		if err := w.visit(within(name, strconv.Itoa(i)), item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) add(name string, a *array) error {
	if w.f.tensors[name] != nil {
		return fmt.Errorf("%w: two tensors are named %q", ErrRefused, name)
	}
	if err := w.f.check(a); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	w.f.tensors[name] = a
	w.f.names = append(w.f.names, name)
	return nil
}

func within(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

// plain returns a number, a truth value or a text as text; its error is what it is instead.
func plain(v any) (string, error) {
	switch v := v.(type) {
	case none:
		return "None", nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("%s; want tensors, dictionaries, lists, tuples, numbers and texts", kindOf(v))
}

// maxRepeated is the most bytes of a tensor that has elements of its storage more than once.
const maxRepeated = 1 << 28

// check holds that an array's elements are in its storage and the storage in the archive.
func (f *File) check(a *array) error {
	d := a.dtype()
	if d == ir.Invalid {
		return nil // Read refuses it
	}
	m, err := f.stored(a.storage.member)
	if err != nil {
		return err
	}
	width := uint64(d.Size())
	have := m.UncompressedSize64 / width
	if !slices.Contains(untyped, a.storage.class) && (have != uint64(a.storage.count) || m.UncompressedSize64%width != 0) {
		return fmt.Errorf("%w: %s has %d bytes, %d elements of %v take %d", ErrFormat, a.storage.member, m.UncompressedSize64, a.storage.count, d, uint64(a.storage.count)*width)
	}
	n := uint64(ir.NumElements(a.shape))
	if n == 0 {
		return nil
	}
	for i, size := range a.shape {
		if size > 1 && uint64(a.strides[i]) > have/uint64(size-1) {
			return a.outside(have)
		}
	}
	if uint64(a.offset) >= have || a.last() >= have { // what last adds up is at most 65 times have
		return a.outside(have)
	}
	if n > have && n*width > maxRepeated {
		return fmt.Errorf("%w: shape %v over %d elements would repeat them to %d bytes, more than %d; save a clone of it", ErrRefused, a.shape, have, n*width, maxRepeated)
	}
	return nil
}

// last returns the position of the last element in the storage.
func (a *array) last() uint64 {
	at := uint64(a.offset)
	for i, size := range a.shape {
		at += uint64(size-1) * uint64(a.strides[i])
	}
	return at
}

func (a *array) outside(have uint64) error {
	return fmt.Errorf("%w: shape %v with strides %v from element %d on is outside its storage of %d elements", ErrFormat, a.shape, a.strides, a.offset, have)
}

// elements returns the array's elements, row-major and little-endian.
func (f *File) elements(a *array) ([]byte, error) {
	d := a.dtype()
	if d == ir.Invalid {
		return nil, fmt.Errorf("%w: %s", ErrDType, a.stored())
	}
	n := ir.NumElements(a.shape)
	if n == 0 {
		return []byte{}, nil
	}
	out, err := f.gather(a, d.Size(), n)
	if err != nil {
		return nil, err
	}
	if f.big {
		swap(out, d)
	}
	if d == ir.Bool {
		if i := slices.IndexFunc(out, func(b byte) bool { return b > 1 }); i >= 0 {
			return nil, fmt.Errorf("%w: bool element %d is stored as %d; want 0 or 1", ErrFormat, i, out[i])
		}
	}
	return out, nil
}

// gather returns the n elements of width bytes that the array has of its storage.
func (f *File) gather(a *array, width, n int) ([]byte, error) {
	if dense(a) && uint64(n*width) == f.members[a.storage.member].UncompressedSize64 {
		return f.member(a.storage.member)
	}
	from := int(a.offset) * width
	raw, err := f.part(a.storage.member, from, int(a.last())*width+width-from)
	if err != nil || dense(a) {
		return raw, err
	}
	out := make([]byte, 0, n*width)
	index := make([]int, len(a.shape))
	for at := 0; ; {
		out = append(out, raw[at:at+width]...)
		axis := len(index) - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			at += a.strides[axis] * width
			if index[axis] < a.shape[axis] {
				break
			}
			at -= index[axis] * a.strides[axis] * width
			index[axis] = 0
		}
		if axis < 0 {
			return out, nil
		}
	}
}

// dense reports whether the array's elements are row-major without gaps.
func dense(a *array) bool {
	want := 1
	for i := len(a.shape) - 1; i >= 0; i-- {
		if a.shape[i] != 1 && a.strides[i] != want {
			return false
		}
		want *= a.shape[i]
	}
	return true
}

// swap turns the byte order of numbers; a complex one has two.
func swap(raw []byte, d ir.DType) {
	width := d.Real().Size()
	for at := 0; at < len(raw); at += width {
		slices.Reverse(raw[at : at+width])
	}
}
