package nn

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// walker visits the parts of a model, each once, in field order.
type walker struct {
	seen map[any]bool // pointers to structs
	// visit is called with every *Parameter, *Buffer, Module and ModeSetter, outer
	// before inner, and its dotted name; false ends the walk.
	visit func(name string, part any) bool

	hidden []hidden
}

// walk visits the parts of m, and then, for each field that hides parts, a parameter that
// carries the error.
func walk(m any, visit func(name string, part any) bool) {
	w := &walker{seen: map[any]bool{}, visit: visit}
	if w.walk("", reflect.ValueOf(m)) {
		w.reportHidden()
	}
}

// walk reports whether to go on.
func (w *walker) walk(name string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return w.walk(name, v.Elem())
	case reflect.Pointer:
		switch {
		case v.IsNil():
			return true
		case v.Elem().Kind() == reflect.Struct:
			return w.object(name, v)
		}
		return w.walk(name, v.Elem())
	case reflect.Struct:
		if v.CanAddr() {
			return w.object(name, v.Addr())
		}
		return w.part(name, v) && w.fields(name, v)
	case reflect.Func:
		return v.IsNil() || w.part(name, v)
	case reflect.Slice, reflect.Array:
		if !holdsParts(v.Type().Elem()) {
			return true
		}
		for i := range v.Len() {
			if !w.walk(join(name, strconv.Itoa(i)), v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || !holdsParts(v.Type().Elem()) {
			return true
		}
		for _, k := range sortedKeys(v) {
			if !w.walk(join(name, k.String()), v.MapIndex(k)) {
				return false
			}
		}
	}
	return true
}

// object visits the struct that v points to.
func (w *walker) object(name string, v reflect.Value) bool {
	p := v.Interface()
	if w.seen[p] {
		return true
	}
	w.seen[p] = true
	switch p.(type) {
	case *Parameter, *Buffer:
		return w.visit(name, p)
	}
	return w.part(name, v) && w.fields(name, v.Elem())
}

// part visits v if it is something to visit.
func (w *walker) part(name string, v reflect.Value) bool {
	switch p := v.Interface().(type) {
	case Module, ModeSetter:
		return w.visit(name, p)
	}
	return true
}

func (w *walker) fields(name string, v reflect.Value) bool {
	for _, f := range fieldsOf(v.Type()) {
		switch {
		case f.IsExported():
			if !w.walk(join(name, f.name), v.Field(f.at)) {
				return false
			}
		case f.embedded:
			if !w.fields(name, v.Field(f.at)) {
				return false
			}
		default:
			w.hidden = append(w.hidden, hidden{name, v.Type(), f.StructField, v.Field(f.at)})
		}
	}
	return true
}

// A field is one of a struct that has parts of a model in it, or may hide them.
type field struct {
	reflect.StructField
	at       int
	name     string // in a state dict, of exported fields
	embedded bool   // a struct by an unexported name
}

// types are the fields of types that were walked, which reflection makes anew each time.
var types sync.Map // of reflect.Type to []field

// fieldsOf returns the fields of structs of type t that are walked or hide parts.
func fieldsOf(t reflect.Type) []field {
	if list, ok := types.Load(t); ok {
		return list.([]field)
	}
	var list []field
	for i := range t.NumField() {
		f := field{StructField: t.Field(i), at: i}
		switch {
		case f.Tag.Get("nn") == leftOut:
			continue
		case f.IsExported():
			if !holdsParts(f.Type) {
				continue
			}
			f.name = fieldName(f.StructField)
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			// The exported fields of a struct embedded by an unexported name are
			// the outer struct's, as the language has it.
			f.embedded = true
		case !mayHold(f.Type, map[reflect.Type]bool{}):
			continue
		}
		list = append(list, f)
	}
	types.Store(t, list)
	return list
}

// holdsParts reports whether values of type t may be or hold parts of a model.
func holdsParts(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct, reflect.Func, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func join(prefix, name string) string {
	if prefix == "" || name == "" {
		return prefix + name
	}
	return prefix + "." + name
}

// fieldName returns the name a field has in a state dict: its tag's or its own in
// snake_case, and nothing for embedded structs and inlined fields.
func fieldName(f reflect.StructField) string {
	tag := f.Tag.Get("nn")
	switch {
	case tag == "inline":
		return ""
	case tag != "":
		return tag
	case f.Anonymous:
		return ""
	}
	return snake(f.Name)
}

// snake returns an exported Go name in snake_case: RunningMean is running_mean,
// FC1 fc1, LSTMCell lstm_cell and Conv2D conv2d.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && runes[i-1] != '_' {
			starts := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(runes[i-1]) || starts {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
