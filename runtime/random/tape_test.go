package random

import "testing"

func TestTape(t *testing.T) {
	a, b := New(5), New(9)
	a.Next()
	var tape Tape
	if !tape.Empty() {
		t.Error("a new tape is not empty")
	}
	var places []int64
	if err := tape.Record(func() error {
		for _, g := range []*Generator{a, b, a} {
			With(g, func() error {
				_, at := Next()
				places = append(places, at)
				return nil
			})
		}
		done := make(chan State)
		go func() { // another goroutine draws as ever
			seed, offset := b.Next()
			done <- State{seed, offset}
		}()
		if got := <-done; got != (State{9, 0}) {
			t.Errorf("another goroutine drew %v", got)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if a.State() != (State{5, 1}) || b.State() != (State{9, 1}) {
		t.Errorf("recording moved the generators to %v and %v", a.State(), b.State())
	}
	check := func(want ...State) {
		t.Helper()
		tape.Advance()
		for i, p := range places {
			if !IsPlace(p) {
				t.Errorf("%d is no place", p)
			}
			if seed, offset, ok := tape.Find(p); !ok || (State{seed, offset}) != want[i] {
				t.Errorf("draw %d is %d, %d, %t; want %v", i, seed, offset, ok, want[i])
			}
		}
	}
	check(State{5, 1}, State{9, 1}, State{5, 2})
	check(State{5, 3}, State{9, 2}, State{5, 4})
	b.SetState(State{Seed: 70})
	check(State{5, 5}, State{70, 0}, State{5, 6})
	if a.State() != (State{5, 7}) || b.State() != (State{70, 1}) {
		t.Errorf("the generators are at %v and %v", a.State(), b.State())
	}
	tape.Advance()
	b.Next()
	tape.Retract() // but for b, which somebody drew of since
	if a.State() != (State{5, 7}) || b.State() != (State{70, 3}) {
		t.Errorf("taken back, the generators are at %v and %v", a.State(), b.State())
	}
	if _, _, ok := (*Tape)(nil).Find(placeBit); ok {
		t.Error("there is a place on no tape")
	}
	for _, p := range []int64{0, 3, -1, placeBit | 7<<drawBits} {
		if _, _, ok := tape.Find(p); ok {
			t.Errorf("%#x is a place on the tape", p)
		}
	}
	if seed, offset := a.Next(); seed != 5 || offset != 7 {
		t.Errorf("drew %d, %d after the tape", seed, offset)
	}
}
