// Package option is what optional arguments are: values with a name that functions
// make, such as tensor.Dim(1), or that stand for themselves, such as
// tensor.ReductionSum. What takes options reads them by name. The package knows
// nothing of tensors, operators or layers.
//
// A function of another module takes its own and the standard ones, and refuses the rest:
//
//	blur := func(x tensor.Tensor, opts ...option.Option) (tensor.Tensor, error) {
//		o := option.Read(opts)
//		width, padding := o.Int("Width", 3), o.Ints("Padding", []int{1})
//		if err := o.Err("Width, Padding"); err != nil {
//			return tensor.Tensor{}, fmt.Errorf("blur: %w", err)
//		}
//		return x.AvgPool1d([]int{width}, tensor.Stride(1), tensor.Padding(padding...)), nil
//	}
//	y, err := blur(x, option.Int("Width", 5), tensor.Padding(2))
//	if err != nil {
//		return err
//	}
//	fmt.Println(y)
package option

import (
	"fmt"
	"reflect"
	"slices"
)

// An Option is an optional argument. A nil Option is one that was not given. The
// functions of this package make the only ones that are read, beside constants of
// types that Choice is asked for.
type Option interface {
	// OptionName is the name of the function or the type that the option is of.
	OptionName() string
}

// setting is an option that a function made. Operators read it where it lies and keep
// nothing of it but slices and what values point to, so that a program's options need
// not leave its stack: no method of an Option may be called on the way.
type setting struct {
	name  string
	kind  kind
	on    bool
	whole int
	real  float64
	list  []int
	value any
}

// OptionName returns the setting's name.
func (s *setting) OptionName() string { return s.name }

// kind is which of a setting's fields is meant.
type kind uint8

const (
	ofFlag kind = iota
	ofInt
	ofFloat
	ofInts
	ofNumber
	ofValue
)

func (k kind) String() string {
	return [...]string{"a bool", "an int", "a float64", "a list of ints", "a number", "a value"}[k]
}

// Flag returns the option called name that something be done, or not where on has a
// false: no value is true.
func Flag(name string, on []bool) Option {
	return &setting{name: name, on: !slices.Contains(on, false)}
}

// Int returns an option that is an integer.
func Int(name string, v int) Option { return &setting{name: name, kind: ofInt, whole: v} }

// Float returns an option that is a number.
func Float(name string, v float64) Option { return &setting{name: name, kind: ofFloat, real: v} }

// Ints returns an option that is a list of integers, and copies it.
func Ints(name string, v []int) Option {
	return &setting{name: name, kind: ofInts, list: slices.Clone(v)}
}

// Number returns an option that is a number of any Go type.
func Number(name string, v any) Option { return &setting{name: name, kind: ofNumber, value: v} }

// Value returns an option that is anything else.
func Value(name string, v any) Option { return &setting{name: name, kind: ofValue, value: v} }

// String describes the option as it is written, without the package's name.
func (s *setting) String() string { return s.name + "(" + s.text() + ")" }

// text is the value for error messages.
func (s *setting) text() string {
	switch s.kind {
	case ofFlag:
		return fmt.Sprint(s.on)
	case ofInt:
		return fmt.Sprint(s.whole)
	case ofFloat:
		return fmt.Sprint(s.real)
	case ofInts:
		return fmt.Sprint(s.list)
	}
	if s.value == nil {
		return "nil"
	}
	return "of type " + reflect.TypeOf(s.value).String()
}

// same reports whether two settings of one name and kind say the same.
func (s *setting) same(t *setting) bool {
	if s.kind >= ofNumber {
		return s.value == nil && t.value == nil ||
			s.value != nil && t.value != nil && reflect.TypeOf(s.value).Comparable() && reflect.TypeOf(t.value).Comparable() && s.value == t.value
	}
	return s.on == t.on && s.whole == t.whole && s.real == t.real && slices.Equal(s.list, t.list)
}
