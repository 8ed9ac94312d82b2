package random

import (
	"errors"
	"slices"

	"github.com/sinter-go/sinter/runtime/local"
)

// A Tape gives out places for numbers that are drawn later, and more than once:
// those of work that is recorded and not done. A place looks like an offset,
// and is one that no generator reaches; what stands in it is decided by Advance.
// The zero Tape is empty. It is for one goroutine at a time.
type Tape struct {
	draws []draws
}

// Clone returns a tape with the same places, which Advance draws apart from t's.
func (t *Tape) Clone() *Tape {
	if t == nil {
		return nil
	}
	return &Tape{slices.Clone(t.draws)}
}

// Replace has what was drawn of one generator be drawn of another.
func (t *Tape) Replace(old, by *Generator) {
	if t == nil {
		return
	}
	for i := range t.draws {
		if t.draws[i].from == old {
			t.draws[i].from = by
		}
	}
}

// draws is what is drawn of one generator each time.
type draws struct {
	from  *Generator
	count int64
	State // where the latest Advance found the generator
}

// A place is placeBit, the index of the generator on the tape, and that of the
// draw.
const (
	placeBit  = 1 << 62
	drawBits  = 40
	drawsMask = 1<<drawBits - 1
)

var taping = local.NewKey[*Tape]()

// Record calls f; what the calling goroutine draws meanwhile with Next are places on
// the tape, and no generator advances. It returns f's error.
func (t *Tape) Record(f func() error) error {
	if t == nil {
		return errors.New("random: a nil *random.Tape")
	}
	return taping.Try(t, f)
}

// draw returns the next place, and the seed of now, which stands for nothing.
func (t *Tape) draw(g *Generator) (seed, offset int64) {
	i := 0
	for i < len(t.draws) && t.draws[i].from != g {
		i++
	}
	if i == len(t.draws) {
		t.draws = append(t.draws, draws{from: g})
	}
	d := &t.draws[i]
	d.count++
	return g.State().Seed, placeBit | int64(i)<<drawBits | (d.count - 1)
}

// Empty reports whether nothing is drawn.
func (t *Tape) Empty() bool { return t == nil || len(t.draws) == 0 }

// Advance draws once more all that is on the tape: each generator goes on by as
// many calls as were recorded of it, from where it is now, with the seed that it
// has now.
func (t *Tape) Advance() {
	if t == nil {
		return
	}
	for i := range t.draws {
		d := &t.draws[i]
		d.from.mu.Lock()
		d.State = d.from.state
		d.from.state.Offset += d.count
		d.from.mu.Unlock()
	}
}

// Retract takes back the latest Advance, where nobody drew of a generator since.
func (t *Tape) Retract() {
	if t == nil {
		return
	}
	for i := range t.draws {
		d := &t.draws[i]
		d.from.mu.Lock()
		if after := (State{d.Seed, d.Offset + d.count}); d.from.state == after {
			d.from.state = d.State
		}
		d.from.mu.Unlock()
	}
}

// IsPlace reports whether an offset is a place on some tape.
func IsPlace(offset int64) bool { return offset&placeBit != 0 && offset > 0 }

// Find returns the seed and offset that the latest Advance gave a place; false
// where it is none of the tape.
func (t *Tape) Find(place int64) (seed, offset int64, ok bool) {
	i := place &^ placeBit >> drawBits
	if t == nil || !IsPlace(place) || i >= int64(len(t.draws)) {
		return 0, 0, false
	}
	d := &t.draws[i]
	return d.Seed, d.Offset + place&drawsMask, true
}
