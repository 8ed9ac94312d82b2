package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// Channels is a reduction of row-major images to one result for each channel, axis 1, that is
// given its elements part by part, by any goroutines. Its results are to the bit those of the
// reduction as one call: it has the folds of all blocks, and merges them as that does.
type Channels struct {
	loops   *vector.FoldFuncs
	scalars []ir.Scalar
	count   int            // of channels
	size    int            // elements of a channel of an image
	blocks  int            // of a channel
	all     int            // elements of a channel
	accs    *scratch.Block // of all blocks of each channel
}

// FoldsChannels reports whether there are Channels of a reduction for images of a shape and parts
// that begin at multiples of step elements of a channel: rows of images have a multiple of as many
// elements as the loops have accumulators, and parts are whole blocks.
func FoldsChannels(k *ir.Kernel, shape []int, step int) bool {
	loops := codes.Of(k).fold
	if loops == nil || loops.Grid == nil || loops.Lines == nil || loops.Acc != k.Compute || k.DType != k.Compute || loops.Out != k.Out[0].DType {
		return false
	}
	n := ir.NumElements(shape[2:])
	return ir.NumElements(shape) > 0 && n%fold.LanesOf(k.Compute) == 0 && (step%block == 0 || step >= shape[0]*n)
}

// NewChannels returns those of a reduction for images of a shape; nil where there are none.
func NewChannels(k *ir.Kernel, shape []int, step int, scalars []ir.Scalar) *Channels {
	if !FoldsChannels(k, shape, step) {
		return nil
	}
	f := &Channels{loops: codes.Of(k).fold, scalars: scalars, count: shape[1], size: ir.NumElements(shape[2:])}
	f.all = shape[0] * f.size
	f.blocks = (f.all + block - 1) / block
	f.accs = scratch.Get(f.count * f.blocks * f.loops.Acc.Size())
	return f
}

// Release gives its memory back.
func (f *Channels) Release() { f.accs.Put() }

// acc returns where the fold of a block is.
func (f *Channels) acc(channel, block int) unsafe.Pointer {
	return unsafe.Add(f.accs.Ptr(), (channel*f.blocks+block)*f.loops.Acc.Size())
}

// Adds reports whether Each is of use: elements are added to accumulators as they are.
func (f *Channels) Adds() bool { return fold.Adds(f.loops) }

// Part folds rows rows of n elements of a channel, which follow each other stride elements apart
// from x on: those from element window of an image on.
func (f *Channels) Part(channel, image, window, rows, n, stride int, x unsafe.Pointer) {
	lanes, size := fold.LanesOf(f.loops.Acc), f.loops.Acc.Size()
	f.Each(channel, image, window, rows, n, stride, func(rows, n, at int, acc unsafe.Pointer) {
		from := unsafe.Add(x, at*size)
		if n == lanes {
			f.loops.Grid(rows, lanes, stride*size, acc, from, f.scalars)
			return
		}
		for i := range rows {
			f.loops.Grid(n/lanes, lanes, lanes*size, acc, unsafe.Add(from, i*stride*size), f.scalars)
		}
	})
}

// Each is Part of elements that add adds to accumulators: as many as fold.LanesOf says, of rows
// rows of a multiple of n elements, the first of which is at elements behind the part's.
func (f *Channels) Each(channel, image, window, rows, n, stride int, add func(rows, n, at int, acc unsafe.Pointer)) {
	s := tile.Borrow(1)
	defer s.Return()
	lanes, size, acc := fold.LanesOf(f.loops.Acc), f.loops.Acc.Size(), s.Buffer(0).Ptr()
	first := (image*f.size + window) / block
	for done, all := 0, rows*n; done < all; done += block {
		f.loops.Init(lanes, acc, f.scalars)
		for at, end := done, min(done+block, all); at < end; {
			some, tall := min(n-at%n, end-at), 1 // of a row, and whole rows
			if some == n {
				tall = (end - at) / n
			}
			add(tall, some, at/n*stride+at%n, acc)
			at += tall * some
		}
		f.loops.Lines(1, lanes, lanes*size, f.acc(channel, first+done/block), acc, f.scalars)
	}
}

// Finish writes the results, one for each channel, without gaps.
func (f *Channels) Finish(out unsafe.Pointer) {
	t := newTree(f.loops, f.scalars, 1, f.blocks)
	defer t.release()
	move := convert.Copy(f.loops.Acc.Size())
	for ch := range f.count {
		for b := range f.blocks {
			move(1, t.top(), 1, f.acc(ch, b), 1)
			t.push(1)
		}
		f.loops.Finish(1, unsafe.Add(out, ch*f.loops.Out.Size()), t.root(), f.scalars, int64(f.all))
	}
}
