package option

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Reader hands out a call's options by name. What is not asked for by the time of Err
// is a mistake of the caller's.
//
// It keeps no pointers but the list's, not even an error's, so that what Err returns is
// not taken to hold on to the options.
type Reader struct {
	opts  []Option
	taken int // options that were asked for
	first mistake
}

// mistake is what is wrong with the option at an index of the list.
type mistake struct {
	what      problem
	at, other int  // other is the option before that it contradicts
	want      kind // of the option
}

type problem uint8

const (
	nothing problem = iota
	wrongKind
	wrongType
	twice
	unknown
)

// Read returns a reader of a call's options.
func Read(opts []Option) Reader { return Reader{opts: opts} }

// wrong notes the first mistake.
func (r *Reader) wrong(m mistake) {
	if r.first.what == nothing {
		r.first = m
	}
}

// find returns the index of the setting called name, or -1 where it was not given.
func (r *Reader) find(name string, k kind) int {
	if r == nil {
		return -1
	}
	found := -1
	for i, o := range r.opts {
		s, ok := o.(*setting)
		if !ok || s.name != name {
			continue
		}
		r.taken++
		switch {
		case s.kind != k:
			r.wrong(mistake{what: wrongKind, at: i, want: k})
		case found < 0:
			found = i
		case !s.same(r.opts[found].(*setting)):
			r.wrong(mistake{what: twice, at: i, other: found})
		}
	}
	return found
}

// setting returns the setting that find has found.
func (r *Reader) setting(i int) *setting { return r.opts[i].(*setting) }

// Flag returns what the option called name says, or missing.
func (r *Reader) Flag(name string, missing bool) bool {
	if i := r.find(name, ofFlag); i >= 0 {
		return r.setting(i).on
	}
	return missing
}

// Int returns the integer called name, or missing.
func (r *Reader) Int(name string, missing int) int {
	if i := r.find(name, ofInt); i >= 0 {
		return r.setting(i).whole
	}
	return missing
}

// Float returns the number called name, or missing.
func (r *Reader) Float(name string, missing float64) float64 {
	if i := r.find(name, ofFloat); i >= 0 {
		return r.setting(i).real
	}
	return missing
}

// Ints returns the list called name, or missing. It is the reader's to keep.
func (r *Reader) Ints(name string, missing []int) []int {
	if i := r.find(name, ofInts); i >= 0 {
		return r.setting(i).list
	}
	return missing
}

// Number returns the number of any Go type called name, and whether it was given.
func (r *Reader) Number(name string) (any, bool) {
	if i := r.find(name, ofNumber); i >= 0 {
		return r.setting(i).value, true
	}
	return nil, false
}

// Get returns the value of type T called name, or missing.
func Get[T any](r *Reader, name string, missing T) T {
	i := r.find(name, ofValue)
	if i < 0 {
		return missing
	}
	v, ok := r.setting(i).value.(T)
	if !ok {
		r.wrong(mistake{what: wrongType, at: i})
		return missing
	}
	return v
}

// Choice returns the option that is a constant of type T, or missing.
func Choice[T interface {
	comparable
	Option
}](r *Reader, missing T) T {
	if r == nil {
		return missing
	}
	found, at := missing, -1
	for i, o := range r.opts {
		c, ok := o.(T)
		if !ok {
			continue
		}
		r.taken++
		if at >= 0 && c != found {
			r.wrong(mistake{what: twice, at: i, other: at})
		}
		found, at = c, i
	}
	return found
}

// Refuse notes that what Number returned for name is none.
func (r *Reader) Refuse(name string) {
	if r == nil {
		return
	}
	for i, o := range r.opts {
		if s, ok := o.(*setting); ok && s.name == name {
			r.wrong(mistake{what: wrongType, at: i})
		}
	}
}

// Err returns the first mistake in the options: one of the wrong kind, one that is given
// twice, or one that is none of takes, the names that were asked for, separated by
// commas.
func (r *Reader) Err(takes string) error {
	if r == nil {
		return errors.New("a nil *option.Reader")
	}
	given := 0
	for _, o := range r.opts {
		if o != nil {
			given++
		}
	}
	if r.first.what == nothing {
		if given == r.taken {
			return nil
		}
		r.first = mistake{what: unknown, at: r.stranger(takes)}
	}
	return r.describe(takes)
}

// stranger returns the index of the first option that is none of takes.
func (r *Reader) stranger(takes string) int {
	names := strings.Split(takes, ", ")
	return slices.IndexFunc(r.opts, func(o Option) bool { return o != nil && !slices.Contains(names, nameOf(o)) })
}

// nameOf returns the option's name without calling its method.
func nameOf(o Option) string {
	if s, ok := o.(*setting); ok {
		return s.name
	}
	return reflect.TypeOf(o).Name()
}

// describe returns the first mistake as an error.
func (r *Reader) describe(takes string) error {
	m := r.first
	if m.at < 0 {
		return fmt.Errorf("an option of another type than those that functions make; want %s", orList(takes))
	}
	name := nameOf(r.opts[m.at])
	switch s, _ := r.opts[m.at].(*setting); m.what {
	case wrongKind:
		return fmt.Errorf("option %s is %s, %s; want %s", name, s.text(), s.kind, m.want)
	case wrongType:
		if s.kind == ofNumber {
			return fmt.Errorf("option %s cannot be %s; want %s", name, s.text(), s.kind)
		}
		return fmt.Errorf("option %s cannot be %s here", name, s.text())
	case unknown:
		return fmt.Errorf("no option %s here; want %s", name, orList(takes))
	default:
		if s == nil {
			return fmt.Errorf("option %s is given twice, with different values", name)
		}
		return fmt.Errorf("option %s is given twice, %s and %s", name, r.setting(m.other).text(), s.text())
	}
}

func orList(names string) string {
	if i := strings.LastIndex(names, ", "); i >= 0 {
		return names[:i] + " or " + names[i+2:]
	}
	return names
}
