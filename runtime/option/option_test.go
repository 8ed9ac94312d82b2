package option_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/tests/allocations"
)

// A Side is a choice as other packages declare them.
type Side uint8

const (
	left Side = iota
	right
)

func (Side) OptionName() string { return "Side" }

func (s Side) String() string { return [...]string{"left", "right"}[s] }

// other is an option that no reader asks for.
type other struct{ option.Option }

// arguments are what the reader of these tests asks for.
type arguments struct {
	Deep  bool
	Width int
	Scale float64
	Axes  []int
	Cause error
	Side  Side
	Gain  any
}

func read(opts ...option.Option) (arguments, error) {
	o := option.Read(opts)
	a := arguments{
		Deep: o.Flag("Deep", false), Width: o.Int("Width", 3), Scale: o.Float("Scale", 0.5), Axes: o.Ints("Axes", nil),
		Cause: option.Get[error](&o, "Cause", nil), Side: option.Choice(&o, left),
	}
	if v, given := o.Number("Gain"); given {
		if a.Gain = v; v != 2 && v != 0.5 {
			o.Refuse("Gain")
		}
	}
	return a, o.Err("Deep, Width, Scale, Axes, Cause, Side, Gain")
}

var errCause = errors.New("cause")

func TestRead(t *testing.T) {
	missing := arguments{Width: 3, Scale: 0.5}
	with := func(set func(*arguments)) arguments {
		a := missing
		set(&a)
		return a
	}
	for _, c := range []struct {
		name string
		opts []option.Option
		want arguments
	}{
		{"none", nil, missing},
		{"nil ones", []option.Option{nil, nil}, missing},
		{"a flag", []option.Option{option.Flag("Deep", nil)}, with(func(a *arguments) { a.Deep = true })},
		{"a computed flag", []option.Option{option.Flag("Deep", []bool{false})}, missing},
		{"a flag of two", []option.Option{option.Flag("Deep", []bool{true, false})}, missing},
		{"numbers", []option.Option{option.Float("Scale", 2), nil, option.Int("Width", 0)}, with(func(a *arguments) { a.Width, a.Scale = 0, 2 })},
		{"a list", []option.Option{option.Ints("Axes", []int{1, 2})}, with(func(a *arguments) { a.Axes = []int{1, 2} })},
		{"an empty list", []option.Option{option.Ints("Axes", nil)}, missing},
		{"a value", []option.Option{option.Value("Cause", errCause)}, with(func(a *arguments) { a.Cause = errCause })},
		{"a number", []option.Option{option.Number("Gain", 0.5)}, with(func(a *arguments) { a.Gain = 0.5 })},
		{"a choice", []option.Option{right}, with(func(a *arguments) { a.Side = right })},
		{"the same twice", []option.Option{option.Ints("Axes", []int{1}), right, option.Ints("Axes", []int{1}), right},
			with(func(a *arguments) { a.Axes, a.Side = []int{1}, right })},
		{"the same value twice", []option.Option{option.Value("Cause", errCause), option.Value("Cause", errCause)}, with(func(a *arguments) { a.Cause = errCause })},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.Comparer(func(x, y error) bool { return x == y })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestListIsCopied holds that a list is the option's own.
func TestListIsCopied(t *testing.T) {
	axes := []int{1, 2}
	o := option.Ints("Axes", axes)
	axes[0] = 7
	if a, err := read(o); err != nil || a.Axes[0] != 1 {
		t.Errorf("%v, %v", a.Axes, err)
	}
}

func TestMistakes(t *testing.T) {
	const takes = "Deep, Width, Scale, Axes, Cause, Side or Gain"
	for _, c := range []struct {
		name string
		opts []option.Option
		want string
	}{
		{"unknown", []option.Option{option.Flag("Deep", nil), option.Int("Height", 2)}, "no option Height here; want " + takes},
		{"a wrong kind", []option.Option{option.Float("Width", 2)}, "option Width is 2, a float64; want an int"},
		{"a value of a wrong type", []option.Option{option.Value("Cause", 2)}, "option Cause cannot be of type int here"},
		{"no value", []option.Option{option.Value("Cause", nil)}, "option Cause cannot be nil here"},
		{"no number", []option.Option{option.Number("Gain", "two")}, "option Gain cannot be of type string; want a number"},
		{"twice", []option.Option{option.Int("Width", 1), option.Int("Width", 2)}, "option Width is given twice, 1 and 2"},
		{"lists twice", []option.Option{option.Ints("Axes", []int{1}), option.Ints("Axes", []int{1, 2})}, "option Axes is given twice, [1] and [1 2]"},
		{"a choice twice", []option.Option{left, right}, "option Side is given twice, with different values"},
		{"a value that has no equals twice", []option.Option{option.Value("Cause", []int{1}), option.Value("Cause", []int{1})}, "option Cause is given twice, of type []int and of type []int"},
		{"another's type", []option.Option{other{}}, "no option other here; want " + takes},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.opts...)
			if err == nil || err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestStack holds that options are read where they lie: of a call's only lists take memory.
func TestStack(t *testing.T) {
	sink := 0
	allocations.AtMost(t, 0, func() {
		a, err := read(option.Flag("Deep", nil), option.Int("Width", sink), option.Float("Scale", float64(sink)), option.Value("Cause", errCause), right)
		if err != nil {
			t.Fatal(err)
		}
		sink += a.Width
	})
	allocations.AtMost(t, 1, func() { // the list
		a, _ := read(option.Ints("Axes", []int{sink, 1}))
		sink += a.Axes[1]
	})
}
