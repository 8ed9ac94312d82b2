package ir

import "testing"

// TestKept: a form is made when it is asked for again, once, and keys are told apart.
func TestKept(t *testing.T) {
	made, told := 0, 0
	k := Kept{Made: func() { told++ }}
	form := func(key any) any { return k.Form(key, func() any { made++; return key }) }
	for i, want := range []struct {
		key, form any
		made      int
	}{{1, nil, 0}, {1, 1, 1}, {"a", nil, 1}, {1, 1, 1}, {"a", "a", 2}, {"a", "a", 2}} {
		if got := form(want.key); got != want.form || made != want.made {
			t.Errorf("ask %d, for %v: got %v, made %d; want %v, %d", i, want.key, got, made, want.form, want.made)
		}
	}
	if told != made {
		t.Errorf("told of %d forms, made %d", told, made)
	}
	for i := range 2 * mostForms {
		form([1]int{i})
	}
	if got := form([1]int{2*mostForms - 1}); got != nil {
		t.Errorf("more than %d forms: got %v", mostForms, got)
	}
	var none *Kept
	if got := none.Form(1, func() any { return 1 }); got != nil {
		t.Errorf("of nothing: got %v", got)
	}
	c := Call{Kept: []*Kept{nil, &k}}
	for i, want := range []*Kept{nil, &k, nil} {
		if got := c.KeptOf(i); got != want {
			t.Errorf("beside operand %d: got %p, want %p", i, got, want)
		}
	}
}
