package nn

import (
	"reflect"
)

// leftOut is the tag of a field whose parts are not the model's.
const leftOut = "-"

// A place is a part of a model by its type and address. A struct's first field has the
// struct's address.
type place struct {
	t reflect.Type
	p any // an unsafe.Pointer
}

// hidden is a field that is not exported and may hold parts.
type hidden struct {
	name  string // of the struct that has it
	owner reflect.Type
	field reflect.StructField
	value reflect.Value
}

var (
	parameterType = reflect.TypeFor[Parameter]()
	bufferType    = reflect.TypeFor[Buffer]()
	moduleType    = reflect.TypeFor[Module]()
)

// mayHold reports whether values of type t may hold parts, as far as t says it: whether
// its parts are of nn's own types, or of an interface that only modules have.
func mayHold(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch {
	case t == parameterType || t == bufferType || t.Kind() == reflect.Interface && t.Implements(moduleType):
		return true
	case seen[t]:
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mayHold(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("nn") != leftOut && mayHold(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// count returns how many parameters and buffers v holds that are neither in found nor in seen. It
// reads what is not exported.
func count(v reflect.Value, seen, found map[place]bool) (n int) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() && mayHold(v.Elem().Type(), map[reflect.Type]bool{}) {
			n = count(v.Elem(), seen, found)
		}
	case reflect.Pointer:
		at := place{v.Type().Elem(), v.UnsafePointer()}
		if v.IsNil() || seen[at] || found[at] {
			return 0
		}
		seen[at] = true
		n = count(v.Elem(), seen, found)
	case reflect.Struct:
		if v.Type() == parameterType || v.Type() == bufferType {
			return 1
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("nn") != leftOut && mayHold(f.Type, map[reflect.Type]bool{}) {
				n += count(v.Field(i), seen, found)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n += count(v.Index(i), seen, found)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += count(v.MapIndex(k), seen, found)
		}
	}
	return n
}

// reportHidden visits, for each field that is not exported and holds parts which the walk
// did not find, a parameter that carries the error.
func (w *walker) reportHidden() {
	if len(w.hidden) == 0 {
		return
	}
	found := map[place]bool{} // where the structs are that the walk came by
	for p := range w.seen {
		v := reflect.ValueOf(p)
		found[place{v.Type().Elem(), v.UnsafePointer()}] = true
	}
	for _, h := range w.hidden {
		n := count(h.value, map[place]bool{}, found)
		if n == 0 {
			continue
		}
		err := failed("the field %s of %s is not exported, so the %d parameters and buffers in it would not be trained, moved, saved or counted; "+
			"export it, or tag it `nn:\"-\"` if they are not the model's", h.field.Name, h.owner, n)
		if !w.visit(join(h.name, h.field.Name), &Parameter{err}) {
			return
		}
	}
}
