package ir

import (
	"math"
	"testing"
)

// TestAccepts holds the comparisons against their definition, and reads what they say.
func TestAccepts(t *testing.T) {
	op := Op{
		Attrs: []Attr{
			{Name: "p", Kind: AttrFloat}, {Name: "n", Kind: AttrInt}, {Name: "list", Kind: AttrInts},
			{Name: "mode", Kind: AttrEnum, Enum: []string{"up", "down"}}, {Name: "s", Kind: AttrScalar},
			{Name: "m", Kind: AttrInt},
		},
	}
	with := func(p float64, n int, list []int, mode int, s Scalar) []Value {
		return []Value{FloatValue(p), IntValue(n), IntsValue(list), IntValue(mode), ScalarValue(s)}
	}
	usual := with(0.5, 2, []int{1, 3}, 0, IntScalar(4))
	tests := []struct {
		name    string
		require []Requirement
		attrs   []Value
		want    string // "": accepted
	}{
		{"nothing", nil, usual, ""},
		{"below", []Requirement{{{Attr: 0, Is: Below, Value: 1}}}, usual, ""},
		{"not below", []Requirement{{{Attr: 0, Is: Below, Value: 0.5}}}, usual, "p is 0.5, want p < 0.5"},
		{"at most", []Requirement{{{Attr: 0, Is: AtMost, Value: 0.5}}}, usual, ""},
		{"above", []Requirement{{{Attr: 0, Is: Above, Value: 0.5}}}, usual, "p is 0.5, want p > 0.5"},
		{"at least", []Requirement{{{Attr: 1, Is: AtLeast, Value: 2}}}, usual, ""},
		{"equals", []Requirement{{{Attr: 1, Is: Equals, Value: 3}}}, usual, "n is 2, want n == 3"},
		{"differs", []Requirement{{{Attr: 1, Is: Differs, Value: 2}}}, usual, "n is 2, want n != 2"},
		{"another", []Requirement{{{Attr: 4, Is: AtMost, Other: 2}}}, usual, "s is 4 and n is 2, want s <= n"},
		{"whole numbers that floats do not hold", []Requirement{{{Attr: 1, Is: Below, Other: 6}}}, append(with(0, math.MaxInt-1, nil, 0, IntScalar(0)), IntValue(math.MaxInt)), ""},
		{"each of a list", []Requirement{{{Attr: 2, Is: Above, Value: 1}}}, usual, "list is [1 3], want list > 1"},
		{"an empty list", []Requirement{{{Attr: 2, Is: Above, Value: 1}}}, with(0, 0, nil, 0, IntScalar(0)), ""},
		{"infinite", []Requirement{{{Attr: 0, Is: Below, Value: math.Inf(1)}}, {{Attr: 0, Is: Above, Value: math.Inf(-1)}}}, with(math.Inf(-1), 0, nil, 0, IntScalar(0)), "p is -Inf, want p > -inf"},
		{"either", []Requirement{{{Attr: 3, Is: Equals, Value: 1}, {Attr: 0, Is: Equals}}}, usual, "mode is up and p is 0.5, want mode == down || p == 0"},
		{"the first of two", []Requirement{{{Attr: 3, Is: Equals}, {Attr: 0, Is: Equals}}}, usual, ""},
		{"the second of two", []Requirement{{{Attr: 3, Is: Equals, Value: 1}, {Attr: 0, Is: Equals, Value: 0.5}}}, usual, ""},
		{"an unknown name", []Requirement{{{Attr: 3, Is: Equals}}}, with(0, 0, nil, 7, IntScalar(0)), "mode is 7, want mode == up"},
	}
	for _, is := range []Comparison{Below, AtMost, Above, AtLeast, Equals} {
		tests = append(tests, struct {
			name    string
			require []Requirement
			attrs   []Value
			want    string
		}{"NaN " + is.String(), []Requirement{{{Attr: 0, Is: is}}}, with(math.NaN(), 0, nil, 0, IntScalar(0)), "p is NaN, want p " + is.String() + " 0"})
	}
	for _, tt := range tests {
		op.Require = tt.require
		got := ""
		if err := op.Accepts(tt.attrs...); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	op.Require = []Requirement{{{Attr: 0, Is: AtLeast}}, {{Attr: 1, Is: AtMost, Other: 5}}}
	if n := testing.AllocsPerRun(10, func() { _ = op.Accepts(usual...) }); n != 0 {
		t.Errorf("%v allocations for what is accepted, want none", n)
	}
}
