package convert

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// useVectors replaces conversions by those of a level, where it has them.
func useVectors(t *[ir.NumDTypes][ir.NumDTypes]Func, level simd.Level) {
	whole, partial := move.At(level), move.PartialsAt(level)
	for to := range t {
		for from := range t[to] {
			v := whole[to][from]
			if p := partial[to][from]; p != nil {
				v = completed(p, t[to][from], ir.DType(to).Size(), ir.DType(from).Size())
			}
			if v != nil {
				c := &vectors{
					v, t[to][from], ir.DType(to).Size(), ir.DType(from).Size(),
					Copy(ir.DType(from).Size()), Copy(ir.DType(to).Size()),
				}
				t[to][from] = c.run
			}
		}
	}
}

// completed returns the conversion by p, and by plain where p stops.
func completed(p move.Partial, plain Func, toSize, srcSize int) move.Converter {
	return func(dst, src *byte, n int) {
		for n >= move.Step {
			left := p(dst, src, n)
			if left == 0 {
				return
			}
			to, from := unsafe.Add(unsafe.Pointer(dst), (n-left)*toSize), unsafe.Add(unsafe.Pointer(src), (n-left)*srcSize)
			plain(move.Step, to, 1, from, 1)
			n = left - move.Step
			if n > 0 {
				dst, src = move.Bytes(unsafe.Add(to, move.Step*toSize)), move.Bytes(unsafe.Add(from, move.Step*srcSize))
			}
		}
		plain(n, unsafe.Pointer(dst), 1, unsafe.Pointer(src), 1)
	}
}

// vectors is a conversion by vectors, where both sides have no gaps.
type vectors struct {
	convert         move.Converter
	plain           Func // for few elements
	toSize, srcSize int
	gather, scatter Func // copies of either side's elements
}

func (c *vectors) run(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	switch {
	case n < move.Step:
		c.plain(n, dst, dstStep, src, srcStep)
	case srcStep == 0:
		c.plain(1, dst, 1, src, 1)
		c.scatter(n-1, unsafe.Add(dst, dstStep*c.toSize), dstStep, dst, 0)
	case dstStep == 1 && srcStep == 1:
		c.contiguous(n, dst, src)
	default:
		c.strided(n, dst, dstStep, src, srcStep)
	}
}

// contiguous converts n elements, which are move.Step or more. A converter takes the last
// ones twice where they are no whole step: not of what is written where it is read.
func (c *vectors) contiguous(n int, dst, src unsafe.Pointer) {
	rest := 0
	if dst == src {
		rest = n % move.Step
	}
	n -= rest
	for n > move.Chunk+move.Step {
		c.convert(move.Bytes(dst), move.Bytes(src), move.Chunk)
		n -= move.Chunk
		dst, src = unsafe.Add(dst, move.Chunk*c.toSize), unsafe.Add(src, move.Chunk*c.srcSize)
	}
	c.convert(move.Bytes(dst), move.Bytes(src), n)
	if rest > 0 {
		c.plain(rest, unsafe.Add(dst, n*c.toSize), 1, unsafe.Add(src, n*c.srcSize), 1)
	}
}

// pieceSize is how many elements strided gathers before it converts them.
const (
	pieceSize  = 64
	pieceBytes = 8 * pieceSize // of the widest elements that are converted so
)

// strided converts by way of buffers without gaps.
func (c *vectors) strided(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	room := scratch.Get(2 * pieceBytes)
	in, out := room.Ptr(), unsafe.Add(room.Ptr(), pieceBytes)
	for at := 0; at < n; at += pieceSize {
		m := min(pieceSize, n-at)
		from, to := unsafe.Add(src, at*srcStep*c.srcSize), unsafe.Add(dst, at*dstStep*c.toSize)
		piece, result := from, to
		if srcStep != 1 {
			piece = in
			c.gather(m, in, 1, from, srcStep)
		}
		if dstStep != 1 {
			result = out
		}
		if m < move.Step {
			c.plain(m, result, 1, piece, 1)
		} else {
			c.convert(move.Bytes(result), move.Bytes(piece), m)
		}
		if dstStep != 1 {
			c.scatter(m, to, dstStep, out, 1)
		}
	}
	room.Put()
}
