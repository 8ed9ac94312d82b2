package compile

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
)

// A snapshot is what the Go values in declared models were: the memory of every struct and
// array that is reached from them, but for tensors. It holds these, so that an address
// that is the same stands for the same value. Functions in models are compared by what
// they are, not by what they captured.
type snapshot []region

// A region is the memory of one value.
type region struct {
	at   unsafe.Pointer
	was  []byte
	name string
	t    reflect.Type
}

// now returns the region's bytes.
func (r *region) now() []byte { return unsafe.Slice((*byte)(r.at), len(r.was)) }

// take takes a snapshot of the models among parts.
func take(parts []any) snapshot {
	t := taker{seen: map[unsafe.Pointer]bool{}}
	for _, part := range parts {
		switch part.(type) {
		case tensor.Tensor, []tensor.Tensor, optim.Optimizer, *optim.Scheduler:
			continue // they say themselves what changed
		}
		v := reflect.ValueOf(part)
		t.visit(v, v.Type().String())
	}
	return t.regions
}

// changed returns what is not as it was, or "".
func (s snapshot) changed() string {
	for i := range s {
		r := &s[i]
		if now := r.now(); !bytes.Equal(now, r.was) {
			return r.field(now)
		}
	}
	return ""
}

// field names what differs in the region.
func (r *region) field(now []byte) string {
	if r.t.Kind() != reflect.Struct {
		return "the Go value " + r.name
	}
	for i := range r.t.NumField() {
		f := r.t.Field(i)
		if from, to := f.Offset, f.Offset+f.Type.Size(); !bytes.Equal(now[from:to], r.was[from:to]) {
			return fmt.Sprintf("the Go value %s.%s", r.name, f.Name)
		}
	}
	return "the Go value " + r.name
}

// A taker takes a snapshot.
type taker struct {
	seen    map[unsafe.Pointer]bool
	regions snapshot
}

// add notes the n bytes at p, which are of type t, and reports whether they are new.
func (t *taker) add(p unsafe.Pointer, n uintptr, of reflect.Type, name string) bool {
	if n == 0 || t.seen[p] {
		return false
	}
	t.seen[p] = true
	r := region{at: p, name: name, t: of, was: make([]byte, n)}
	copy(r.was, r.now())
	t.regions = append(t.regions, r)
	return true
}

// foreign reports a type whose values say nothing about a model: tensors, the runtime's,
// and the standard library's.
func foreign(t reflect.Type) bool {
	if t == reflect.TypeFor[core.Tensor]() {
		return true
	}
	first, _, _ := strings.Cut(t.PkgPath(), "/")
	return t.PkgPath() != "" && (strings.Contains(t.PkgPath(), "/sinter/runtime/") || first != "main" && !strings.Contains(first, ".") && standard(first))
}

// standard reports whether the standard library has packages below this name.
func standard(first string) bool {
	switch first {
	case "sync", "time", "math", "os", "io", "log", "net", "context", "reflect", "strings", "bytes", "unicode", "runtime", "internal", "bufio", "iter":
		return true
	}
	return false
}

// visit notes what is reached from v.
func (t *taker) visit(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || foreign(v.Type().Elem()) {
			return
		}
		if t.add(v.UnsafePointer(), v.Type().Elem().Size(), v.Type().Elem(), name) {
			t.visit(v.Elem(), name)
		}
	case reflect.Interface:
		if !v.IsNil() {
			t.visit(v.Elem(), name)
		}
	case reflect.Struct:
		if foreign(v.Type()) {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("nn") != "-" { // what is no part of the model
				t.visit(v.Field(i), name+"."+f.Name)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			t.visit(v.Index(i), fmt.Sprintf("%s.%d", name, i))
		}
	case reflect.Slice:
		if v.Len() > 0 && t.add(v.UnsafePointer(), uintptr(v.Len())*v.Type().Elem().Size(), v.Type(), name) {
			for i := range v.Len() {
				t.visit(v.Index(i), fmt.Sprintf("%s.%d", name, i))
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			t.visit(v.MapIndex(k), fmt.Sprintf("%s.%v", name, k))
		}
	}
}
