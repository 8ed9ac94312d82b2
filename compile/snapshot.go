package compile

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
)

// A snapshot is what the Go values in declared models were: the memory of every struct and
// array that is reached from them, but for tensors. It holds these, so that an address
// that is the same stands for the same value. Functions in models are compared by what
// they are, not by what they captured.
type snapshot struct {
	parts   []any
	regions []region
	// open says that other values may be reached although these are as they were: there are maps
	open bool
}

// A region is the memory of one value.
type region struct {
	at   unsafe.Pointer
	was  []byte
	name string // set where names are asked for
	t    reflect.Type
}

// now returns the region's bytes.
func (r *region) now() []byte { return unsafe.Slice((*byte)(r.at), len(r.was)) }

// take takes a snapshot of the models among parts.
func take(parts []any) snapshot {
	t := visited(parts, false)
	return snapshot{parts, t.regions, t.maps}
}

// visited returns what has the regions of the models among parts, with names or without.
func visited(parts []any, named bool) *taker {
	t := &taker{seen: map[unsafe.Pointer]bool{}, named: named}
	for _, part := range parts {
		if !isModel(part) {
			continue // they say themselves what changed
		}
		v := reflect.ValueOf(part)
		name := ""
		if named {
			name = v.Type().String()
		}
		t.visit(v, name)
	}
	return t
}

// isModel reports whether a part is no tensors, no optimizer and no scheduler.
func isModel(part any) bool {
	switch part.(type) {
	case tensor.Tensor, []tensor.Tensor, optim.Optimizer, *optim.Scheduler:
		return false
	}
	return true
}

// changed returns what is not as it was, or "".
func (s snapshot) changed() string {
	for i := range s.regions {
		r := s.regions[i]
		now := r.now()
		if bytes.Equal(now, r.was) {
			continue
		}
		r.name = nameOf(&r, visited(s.parts, true).regions)
		return r.field(now)
	}
	return ""
}

// nameOf returns what a later walk calls a region, or "". Walks visit maps in any order: a
// region is found by its memory.
func nameOf(r *region, named []region) string {
	for i := range named {
		if n := &named[i]; n.at == r.at && n.t == r.t {
			return n.name
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
	regions []region
	room    []byte // for what regions were
	named   bool
	maps    bool // there are some
}

// add notes the n bytes at p, which are of type t, and reports whether they are new.
func (t *taker) add(p unsafe.Pointer, n uintptr, of reflect.Type, name string) bool {
	if n == 0 || t.seen[p] {
		return false
	}
	t.seen[p] = true
	if uintptr(len(t.room)) < n {
		t.room = make([]byte, max(n, 2048))
	}
	r := region{at: p, name: name, t: of, was: t.room[:n:n]}
	t.room = t.room[n:]
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

// within names a part of what has a name, where names are asked for.
func (t *taker) within(name, field string) string {
	if !t.named {
		return ""
	}
	return name + "." + field
}

// element is within for an element of a list.
func (t *taker) element(name string, i int) string {
	if !t.named {
		return ""
	}
	return fmt.Sprintf("%s.%d", name, i)
}

// A field is one of a struct that is part of a model.
type field struct {
	index int
	name  string
}

// A knownType is what there is to know of one, which reflection finds out anew each time.
type knownType struct {
	foreign bool
	fields  []field // of structs that are not foreign
}

// types are those that were seen.
var types sync.Map // of reflect.Type to *knownType

func typeOf(t reflect.Type) *knownType {
	if k, ok := types.Load(t); ok {
		return k.(*knownType)
	}
	k := &knownType{foreign: foreign(t)}
	for i := 0; t.Kind() == reflect.Struct && !k.foreign && i < t.NumField(); i++ {
		f := t.Field(i)
		if f.Tag.Get("nn") != "-" && refers(f.Type) {
			k.fields = append(k.fields, field{i, f.Name})
		}
	}
	types.Store(t, k)
	return k
}

// refers reports whether values of a type may lead to memory of others.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Array, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// visit notes what is reached from v.
func (t *taker) visit(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || typeOf(v.Type().Elem()).foreign {
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
		for _, f := range typeOf(v.Type()).fields {
			t.visit(v.Field(f.index), t.within(name, f.name))
		}
	case reflect.Array:
		for i := 0; i < v.Len() && refers(v.Type().Elem()); i++ {
			t.visit(v.Index(i), t.element(name, i))
		}
	case reflect.Slice:
		if v.Len() > 0 && t.add(v.UnsafePointer(), uintptr(v.Len())*v.Type().Elem().Size(), v.Type(), name) && refers(v.Type().Elem()) {
			for i := range v.Len() {
				t.visit(v.Index(i), t.element(name, i))
			}
		}
	case reflect.Map:
		t.maps = t.maps || !v.IsNil()
		for _, k := range v.MapKeys() {
			of := ""
			if t.named {
				of = fmt.Sprintf("%s.%v", name, k)
			}
			t.visit(v.MapIndex(k), of)
		}
	}
}
