package exec

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/tile"
)

// apart is the state of a reduction whose results have few elements each, which do not lie
// side by side, or two that do: over the axes of 2 of 32 x 2 x 32 x 2, say. They are brought
// together for many results at once, by a pass over neighbouring results for each element.
type apart struct {
	places []int // of a result's elements, from the first; or none
	across bool  // element k of many results is a row
}

// mostPlaces is how many elements a result has at most, mostBeside how many where they lie side
// by side, for which there are loops, and leastResults how many neighbours are worth a pass.
const (
	mostPlaces   = 64
	mostBeside   = 2
	leastResults = 4
)

// place finds the places of elements that are few and apart.
func (r *reduction) place() {
	r.places, r.across = r.places[:0], false
	most := mostPlaces
	if r.inPlace || r.dense() {
		most = mostBeside
	}
	last := len(r.kept.shape) - 1
	if r.from != nil || r.loops.Lines == nil || r.count < 2 || r.count > most || last < 0 || r.kept.shape[last] < leastResults {
		return
	}
	for k := range r.count {
		off, _ := r.folded.offsets(k)
		r.places = append(r.places, off)
	}
	r.across = r.loops.Rows != nil && batch*r.count*r.loops.Acc.Size() <= tile.Bytes
}

// acrossResults folds the elements of n results from kept position lo on. It has an accumulator
// for each element of a result, as the loops for blocks of them have, and so keeps their order;
// those that such a loop has besides hold the identity. There is room at accs for all.
func (r *reduction) acrossResults(lo, n int, accs, buf unsafe.Pointer) {
	last := len(r.kept.shape) - 1
	extent, step, size := r.kept.shape[last], r.kept.steps[last], r.x.DType.Size()
	row := func(k int) unsafe.Pointer { return unsafe.Add(accs, k*n*r.loops.Acc.Size()) }
	r.loops.Init(n*r.count, accs, r.scalars)
	for k, off := range r.places {
		for i, m := 0, 0; i < n; i += m {
			m = min(n-i, extent-(lo+i)%extent)
			x, _ := r.kept.offsets(lo + i)
			r.load(m, unsafe.Add(buf, i*r.compute.Size()), 1, unsafe.Add(r.at(x), off*size), step)
		}
		r.loops.Rows(n, row(k), buf, r.scalars)
	}
	for rows, half := r.count, 1<<bits.Len(uint(r.count-1))/2; half > 0; rows, half = half, half/2 {
		if rows > half {
			r.loops.Merge((rows-half)*n, row(0), row(half), r.scalars)
		}
	}
}
