package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// runs is how the elements of a result lie where they are several runs of one length, and each
// run has as many elements as Fold has accumulators, or a multiple. Then a run is rows of
// elements of which each row is folded into these accumulators, and runs of neighbouring
// results that follow one another are folded together.
type runs struct {
	lanes  int // the accumulators of Fold for a result; 0 where elements do not lie so
	length int // of a run
	beside int // results whose runs follow one another
}

// runsOf returns how the count elements lie that are folded into each result. Loops that have
// Grid and Lines are those of package fold.
func runsOf(loops *vector.FoldFuncs, compute ir.DType, kept, folded *axes, count int) runs {
	last := len(folded.shape) - 1
	if loops.Grid == nil || loops.Lines == nil || loops.Acc != compute || last < 1 || folded.steps[last] != 1 || count == 0 || count > block {
		return runs{}
	}
	r := runs{lanes: fold.LanesOf(compute), length: folded.shape[last], beside: 1}
	if r.length%r.lanes != 0 {
		return runs{}
	}
	if k := len(kept.shape) - 1; k >= 0 && kept.steps[k] == r.length {
		r.beside = kept.shape[k]
	}
	return r
}

// closed reports whether the runs of neighbouring results, all of one place, are followed by those
// of the next place.
func (r *runs) closed(folded *axes) bool {
	return len(folded.shape) == 2 && folded.steps[0] == r.beside*r.length
}

// foldRuns sets the n accumulators of the results from kept position lo on.
func (r *reduction) foldRuns(lo, n int, accs unsafe.Pointer, buf, lanes *tile.Buffer, e *elements) {
	for done := 0; done < n; {
		x, _ := r.kept.offsets(lo + done)
		m := min(n-done, r.beside-(lo+done)%r.beside, r.room()/r.length)
		r.someRuns(m, x, unsafe.Add(accs, done*r.loops.Acc.Size()), buf.Ptr(), lanes.Ptr(), e)
		done += m
	}
}

// someRuns is foldRuns for m results whose runs follow one another, the first x elements into
// the operand. Lanes is room for the accumulators of Fold of all of them.
func (r *reduction) someRuns(m, x int, accs, buf, lanes unsafe.Pointer, e *elements) {
	size, row := r.compute.Size(), m*r.length
	r.loops.Init(m*r.lanes, lanes, r.scalars)
	if e == nil && r.length == r.lanes && len(r.folded.shape) == 2 {
		r.loops.Grid(r.folded.shape[0], row, r.folded.steps[0]*size, lanes, r.at(x), r.scalars)
	} else {
		tall := 1 // places whose runs are folded at once
		if e != nil && m == r.beside && r.closed(&r.folded) {
			tall = r.room() / row
		}
		for lo, places := r.runsInto(m, x, lanes, buf, e), r.count/r.length; lo < places; lo += tall {
			some, from := min(tall, places-lo), buf
			off, _ := r.folded.offsets(lo * r.length)
			if e != nil {
				e.compute(x+off, some*row, buf)
			} else {
				from = r.at(x + off)
			}
			if r.length == r.lanes {
				r.loops.Grid(some, row, row*size, lanes, from, r.scalars)
				continue
			}
			for i := range some * m {
				r.loops.Grid(r.length/r.lanes, r.lanes, r.lanes*size, unsafe.Add(lanes, i%m*r.lanes*size), unsafe.Add(from, i*r.length*size), r.scalars)
			}
		}
	}
	r.loops.Lines(m, r.lanes, r.lanes*size, accs, lanes, r.scalars)
}

// runsInto folds the runs of m neighbouring results by code that computes them, as far as there is
// some, and returns at how many places.
func (r *reduction) runsInto(m, x int, lanes, buf unsafe.Pointer, e *elements) int {
	last, places, size := len(r.folded.shape)-2, r.count/r.length, r.compute.Size()
	if e == nil || e.into == nil {
		return 0
	}
	for lo := 0; lo < places; {
		off, _ := r.folded.offsets(lo * r.length)
		if r.length == r.lanes {
			some := min(places-lo, r.folded.shape[last]-lo%r.folded.shape[last])
			if !e.fold(some, m*r.length, x+off, r.folded.steps[last], lanes) {
				return lo
			}
			lo += some
			continue
		}
		for i := range m {
			at, acc := x+off+i*r.length, unsafe.Add(lanes, i*r.lanes*size)
			if !e.fold(r.length/r.lanes, r.lanes, at, r.lanes, acc) {
				e.compute(at, r.length, buf)
				r.loops.Grid(r.length/r.lanes, r.lanes, r.lanes*size, acc, buf, r.scalars)
			}
		}
		lo++
	}
	return places
}
