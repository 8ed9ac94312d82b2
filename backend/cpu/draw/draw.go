// Package draw writes random numbers to memory, those of ir/num.Uniform to the bit. A loop over
// lanes draws a block of four words in each lane and takes one of them; here a block is drawn
// once. The package knows nothing of what the numbers are for.
package draw

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/num"
)

const (
	blockNumbers = 4                // of a block of words
	groupNumbers = 8 * blockNumbers // that vector code draws at once
	pieceNumbers = 1 << 10          // that are drawn before a loop reads them: the first cache holds them
)

// Numbers says what is drawn.
type Numbers struct{ Seed, Offset int64 }

// Uniform sets to to numbers in [0, 1), those of index and of the next ones.
func (d Numbers) Uniform(level simd.Level, to []float32, index int64) {
	for len(to) > 0 && index%blockNumbers != 0 {
		to[0] = num.Uniform[float32](d.Seed, d.Offset, index)
		to, index = to[1:], index+1
	}
	if f := uniformAt(level); f != nil {
		for len(to) >= groupNumbers {
			groups := min(len(to), loop.Longest) / groupNumbers
			f(&to[0], groups, d.Seed, d.Offset, index/blockNumbers)
			to, index = to[groups*groupNumbers:], index+int64(groups*groupNumbers)
		}
	}
	for i := range to {
		to[i] = num.Uniform[float32](d.Seed, d.Offset, index+int64(i))
	}
}

// A piece is the memory for numbers of one, and where a loop's arrays are.
type piece struct {
	numbers [pieceNumbers]float32
	at      []unsafe.Pointer
}

var pieces = sync.Pool{New: func() any { return new(piece) }}

// Loop runs a loop that reads numbers as its last array. The elements of its other arrays, which are
// at p, have so many bytes. It runs where vector code does.
func (d Numbers) Loop(n int, p []unsafe.Pointer, sizes []uint8, s []ir.Scalar, index int64, f vector.Func) {
	b := pieces.Get().(*piece)
	for lo := 0; lo < n; lo += pieceNumbers {
		m := min(pieceNumbers, n-lo)
		d.Uniform(simd.AVX2, b.numbers[:m], index+int64(lo))
		b.at = b.at[:0]
		for i, size := range sizes {
			b.at = append(b.at, unsafe.Add(p[i], lo*int(size)))
		}
		b.at = append(b.at, unsafe.Pointer(&b.numbers))
		f(m, b.at, s, index+int64(lo))
	}
	clear(b.at)
	pieces.Put(b)
}
