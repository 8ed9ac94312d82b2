package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/tile"
)

// aloneBytes is how much of an operand each state takes in before the next one does: what
// the first cache still holds then.
const aloneBytes = 16 << 10

// foldAlone is fold where each state takes in the elements by itself: pieces of them one
// state after the other. The i-th accumulators of the bank are set.
func (k *folding) foldAlone(lo, hi int, to bank, i int) {
	accs := k.lists.take(len(to))
	for s, size := range k.sizes {
		accs[s] = unsafe.Add(to[s], i*size)
	}
	call(k.start, 1, accs, k.scalars)
	most := tile.Size
	if k.folded[0].Contiguous() {
		most = aloneBytes / k.reads[0]
	}
	for n := 0; lo < hi; lo += n {
		n = min(most, hi-lo)
		x := k.folded[0].LoadFrom(k.places[0], lo, n, k.s.Buffer(0))
		for s, loops := range k.alone {
			loops.Fold(n, accs[s], x, k.scalars)
		}
	}
	k.lists.used -= len(accs)
}

// rowsAlone takes rows [lo, hi) of n columns into the next bank as foldAlone does.
func (k *folding) rowsAlone(from, n, lo, hi int) {
	to, x := k.banks[k.depth], &k.kept[0]
	tall := max(1, aloneBytes/(n*k.reads[0]))
	for rows := 0; lo < hi; lo += rows {
		rows = min(tall, hi-lo)
		_, down, even := k.folded[0].Rows(lo, 1, rows, 1)
		if rows = min(rows, hi-lo); !even || !x.Contiguous() {
			rows = 1
		}
		first := x.LoadFrom(k.folded[0].At(lo), from, n, k.s.Buffer(0))
		for s, loops := range k.alone {
			if loops.Grid != nil {
				loops.Grid(rows, n, down*x.Size(), to[s], first, k.scalars)
				continue
			}
			for i := range rows {
				loops.Rows(n, to[s], unsafe.Add(first, i*down*x.Size()), k.scalars)
			}
		}
	}
}
