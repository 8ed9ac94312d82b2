package torchfile

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// A storage is the bytes of one or more tensors.
type storage struct {
	member string // of the archive
	class  class  // torch.FloatStorage and the like; storages without a dtype are torch.UntypedStorage
	count  int64  // in elements of the class, in bytes where it has no dtype
}

// An array is a tensor as the file describes it.
type array struct {
	storage        *storage
	named          class // the dtype, where the storage's class does not say it
	offset         int64 // in elements, of the first one in the storage
	shape, strides []int
}

// dtypes are those of storages' classes, and of dtypes' names, which are as here.
var dtypes = func() map[class]ir.DType {
	m := map[class]ir.DType{
		{"torch", "DoubleStorage"}:        ir.Float64,
		{"torch", "FloatStorage"}:         ir.Float32,
		{"torch", "HalfStorage"}:          ir.Float16,
		{"torch", "BFloat16Storage"}:      ir.BFloat16,
		{"torch", "LongStorage"}:          ir.Int64,
		{"torch", "IntStorage"}:           ir.Int32,
		{"torch", "ShortStorage"}:         ir.Int16,
		{"torch", "CharStorage"}:          ir.Int8,
		{"torch", "ByteStorage"}:          ir.Uint8,
		{"torch", "BoolStorage"}:          ir.Bool,
		{"torch", "ComplexFloatStorage"}:  ir.Complex64,
		{"torch", "ComplexDoubleStorage"}: ir.Complex128,
	}
	for _, d := range ir.AllDTypes() {
		m[class{"torch", d.String()}] = d
	}
	return m
}()

// others are dtypes that PyTorch has and this module lacks. Their tensors are listed, and not
// read.
var others = []class{
	{"torch", "QInt8Storage"}, {"torch", "QUInt8Storage"}, {"torch", "QInt32Storage"}, {"torch", "QUInt4x2Storage"}, {"torch", "QUInt2x4Storage"},
	{"torch", "complex32"},
	{"torch", "float8_e4m3fn"}, {"torch", "float8_e5m2"}, {"torch", "float8_e4m3fnuz"}, {"torch", "float8_e5m2fnuz"}, {"torch", "float8_e8m0fnu"},
	{"torch", "float4_e2m1fn_x2"},
}

// untyped are the names of the class of storages without a dtype.
var untyped = []class{{"torch", "UntypedStorage"}, {"torch.storage", "UntypedStorage"}}

// dtype returns the array's, ir.Invalid where this module lacks it.
func (a *array) dtype() ir.DType {
	if d, ok := dtypes[a.class()]; ok {
		return d
	}
	return ir.Invalid
}

// class returns what says the array's dtype.
func (a *array) class() class {
	if a.named != (class{}) {
		return a.named
	}
	return a.storage.class
}

func (a *array) stored() string { return a.class().String() }

// makers make the objects that a file may ask for, from the arguments of a call.
var makers = map[class]func(args tuple) (any, error){
	{"collections", "OrderedDict"}:                    ordered,
	{"torch", "Size"}:                                 size,
	{"torch._utils", "_rebuild_tensor"}:               rebuild,
	{"torch._utils", "_rebuild_tensor_v2"}:            rebuild,
	{"torch._utils", "_rebuild_tensor_v3"}:            rebuildNamed,
	{"torch._utils", "_rebuild_parameter"}:            first,
	{"torch._utils", "_rebuild_parameter_with_state"}: first,
}

// object makes an object of a class, or names a class.
func (m *machine) object(op byte) error {
	switch op {
	case opGlobal:
		module, err := m.line()
		if err != nil {
			return err
		}
		name, err := m.line()
		if err != nil {
			return err
		}
		return m.global(module, name)
	case opGlobalOf:
		v, err := m.popN(2)
		if err != nil {
			return err
		}
		module, ok := v[0].(string)
		name, also := v[1].(string)
		if !ok || !also {
			return fmt.Errorf("%w: %s names a class by %s and %s", ErrFormat, pickled, kindOf(v[0]), kindOf(v[1]))
		}
		return m.global(module, name)
	case opPersistent:
		id, err := m.pop()
		if err != nil {
			return err
		}
		s, err := storageOf(id)
		m.push(s)
		return err
	}
	v, err := m.popN(2)
	if err != nil {
		return err
	}
	if op == opBuild {
		return m.build(v[0])
	}
	c, ok := v[0].(class)
	args, also := v[1].(tuple)
	if !ok || !also {
		return fmt.Errorf("%w: %s calls %s with %s", ErrFormat, pickled, kindOf(v[0]), kindOf(v[1]))
	}
	do := makers[c]
	if do == nil {
		return fmt.Errorf("%w: %s is no function", ErrFormat, c)
	}
	made, err := do(args)
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	m.push(made)
	return nil
}

// global pushes a class, if it is one of those that tensors are made of.
func (m *machine) global(module, name string) error {
	c := class{module, name}
	_, known := dtypes[c]
	if !known && makers[c] == nil && !slices.Contains(others, c) && !slices.Contains(untyped, c) {
		return fmt.Errorf("%w: the file has a %s; a file of tensors, dictionaries, lists, numbers and texts is, "+
			"as torch.save(model.state_dict(), path) writes it", ErrRefused, c)
	}
	m.push(c)
	return nil
}

// build gives an object its attributes, which those of a dictionary are without: PyTorch
// keeps versions of modules there.
func (m *machine) build(v any) error {
	switch v.(type) {
	case *dict:
		m.push(v)
		return nil
	}
	return fmt.Errorf("%w: %s with attributes", ErrRefused, kindOf(v))
}

func ordered(args tuple) (any, error) {
	d := &dict{}
	if len(args) == 0 {
		return d, nil
	}
	pairs, ok := args[0].(*list)
	if !ok || len(args) > 1 {
		return nil, fmt.Errorf("%w: made of %s", ErrFormat, kindOf(args[0]))
	}
	for _, p := range pairs.items {
		var items []any
		switch p := p.(type) {
		case tuple:
			items = p
		case *list:
			items = p.items
		}
		if len(items) != 2 {
			return nil, fmt.Errorf("%w: a pair that is %s", ErrFormat, kindOf(p))
		}
		if err := d.set(items[0], items[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func size(args tuple) (any, error) {
	if len(args) == 1 {
		if t, ok := args[0].(tuple); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: %d arguments", ErrFormat, len(args))
}

// first returns the tensor that a parameter is made of.
func first(args tuple) (any, error) {
	if len(args) > 0 {
		if a, ok := args[0].(*array); ok {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%w: a parameter without a tensor", ErrFormat)
}

// storageOf returns the storage that a persistent id describes: ("storage", class, key,
// device, count).
func storageOf(id any) (*storage, error) {
	t, _ := id.(tuple)
	if len(t) >= 5 {
		kind, isText := t[0].(string)
		c, isClass := t[1].(class)
		key, isKey := t[2].(string)
		count, isCount := t[4].(int64)
		_, known := dtypes[c]
		known = known || slices.Contains(others, c) || slices.Contains(untyped, c)
		if isText && isClass && isKey && isCount && known && kind == "storage" && count >= 0 {
			return &storage{"data/" + key, c, count}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s has a storage that it does not describe", ErrFormat, pickled)
}

// rebuild makes a tensor of (storage, offset, shape, strides), perhaps followed by whether it
// takes gradients, hooks, and what else is to know of it.
func rebuild(args tuple) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("%w: %d arguments", ErrFormat, len(args))
	}
	if len(args) > 6 {
		if d, ok := args[6].(*dict); ok && len(d.keys) > 0 {
			return nil, fmt.Errorf("%w: a tensor marked as %v; call resolve_conj and resolve_neg before it is saved", ErrRefused, d.keys)
		}
	}
	s, ok := args[0].(*storage)
	offset, also := args[1].(int64)
	shape, shapeOK := integers(args[2])
	strides, stridesOK := integers(args[3])
	if !ok || !also || !shapeOK || !stridesOK || offset < 0 || len(shape) != len(strides) {
		return nil, fmt.Errorf("%w: a tensor made of %s, %s, %s and %s", ErrFormat, kindOf(args[0]), kindOf(args[1]), kindOf(args[2]), kindOf(args[3]))
	}
	if err := ir.CheckShape(shape); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return &array{storage: s, offset: offset, shape: shape, strides: strides}, nil
}

// rebuildNamed makes a tensor whose dtype is named: (storage, offset, shape, strides, whether
// it takes gradients, hooks, dtype).
func rebuildNamed(args tuple) (any, error) {
	if len(args) < 7 {
		return nil, fmt.Errorf("%w: %d arguments", ErrFormat, len(args))
	}
	c, ok := args[6].(class)
	if _, known := dtypes[c]; !ok || !known && !slices.Contains(others, c) {
		return nil, fmt.Errorf("%w: a dtype that is %s", ErrFormat, kindOf(args[6]))
	}
	made, err := rebuild(args[:4])
	if err != nil {
		return nil, err
	}
	a := made.(*array)
	a.named = c
	return a, nil
}

// maxDims is the most axes that PyTorch's tensors have.
const maxDims = 64

// integers returns a tuple of them.
func integers(v any) ([]int, bool) {
	t, ok := v.(tuple)
	if !ok || len(t) > maxDims {
		return nil, false
	}
	out := make([]int, len(t))
	for i, v := range t {
		n, ok := v.(int64)
		if !ok || int64(int(n)) != n || n < 0 {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// kindOf names the kind of a value, for messages.
func kindOf(v any) string {
	switch v := v.(type) {
	case none:
		return "None"
	case bool:
		return "a truth value"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case string:
		return "text"
	case []byte:
		return "bytes"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dictionary"
	case *storage:
		return "a storage"
	case *array:
		return "a tensor"
	case class:
		return "the class " + v.String()
	}
	return "nothing"
}
