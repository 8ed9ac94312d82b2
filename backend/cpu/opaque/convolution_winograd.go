package opaque

import (
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/offheap"
)

// A convolution of 3 x 3 places over many channels is computed as Winograd's, F(2 x 2, 3 x 3): for
// every tile of 2 x 2 windows there are 16 products of a channel instead of 36. Products of
// matrices sum them up over channels, one for each of 16 planes. Where a window is infinite or not
// a number its row of tiles is computed again as the others are, so that an infinite element
// changes no window but those that read it.

const (
	// winogradChannels is how many channels an image and a result have at least.
	winogradChannels = 12
	// winogradTiles is how many tiles there are at least: kernels take some time to prepare.
	winogradTiles = 20
	// winogradBytes is how many bytes the planes of a block's tiles have about, so that they stay in
	// the second cache, and leastColumns how many tiles a block may have whatever their bytes.
	winogradBytes = 768 << 10
	leastColumns  = 64
	// winogradRows is how many channels of the result are computed at once.
	winogradRows = 32
	// winogradStretch is how many channels of an image are summed up at once.
	winogradStretch = 512
	// kernelColumns is how many tiles take as long to multiply as it takes to read kernels for a
	// block, and planeRows how many channels of the result as long as it takes to make planes.
	kernelColumns, planeRows = 9, 4
)

// winograd reports whether the convolution is computed so. It does not depend on how many images
// there are, nor on processors.
func (v *convolution) winograd(dtype ir.DType) bool {
	if dtype != ir.Float32 || len(v.kernel) != 2 || v.groups != 1 || !conv.HasWinograd(simd.Active()) {
		return false
	}
	for a, n := range v.kernel {
		if n != 3 || v.stride[a] != 1 || v.dilation[a] != 1 {
			return false
		}
	}
	return min(v.channels, v.outs) >= winogradChannels && (v.out[0]+1)/2*((v.out[1]+1)/2) >= winogradTiles
}

// A winograd is such a convolution under way, in blocks of tiles: some rows of tiles of an image,
// or some images.
type winograd struct {
	v          *convolution
	level      simd.Level
	x          ir.View
	weight     unsafe.Pointer
	kernels    unsafe.Pointer // their planes, [outs, channels] each
	out        unsafe.Pointer
	tall, wide int  // tiles of an image
	groups     int  // images, unless blocks are of some
	blocks     int  // of a group
	down       int  // pieces of the result's channels
	images     bool // blocks are of images
}

func convolveWinograd(v *convolution, x ir.View, weight unsafe.Pointer, out unsafe.Pointer) {
	w := winograd{v: v, level: simd.Active(), x: x, weight: weight, out: out, tall: (v.out[0] + 1) / 2, wide: (v.out[1] + 1) / 2}
	key := winogradPacking{weight, v.outs, v.channels}
	kernels, done := v.prepared(weight, key, conv.WinogradPlanes*w.plane()*4, w.prepare)
	defer done()
	w.kernels = kernels
	w.cut()
	pool.For(w.groups*w.blocks*w.down, 1, w.run)
}

// prepared returns what prepare makes of a weight, of so many bytes: what is kept beside the weight
// under a key, where it is kept, else memory until done is called.
func (v *convolution) prepared(weight unsafe.Pointer, key any, bytes int, prepare func(dst unsafe.Pointer)) (at unsafe.Pointer, done func()) {
	kept, ok := v.keptOf(weight).Form(key, func() any {
		b := offheap.New(bytes)
		prepare(b.Ptr())
		return b
	}).(*offheap.Block)
	if ok {
		return kept.Ptr(), func() { runtime.KeepAlive(kept) }
	}
	block := scratch.Get(bytes)
	prepare(block.Ptr())
	return block.Ptr(), block.Put
}

// A winogradPacking says which weight was prepared.
type winogradPacking struct {
	weight         unsafe.Pointer
	outs, channels int
}

// prepare sets the planes at dst to those of the weight.
func (w *winograd) prepare(dst unsafe.Pointer) {
	n := w.v.outs * w.v.channels
	kernels, planes := unsafe.Slice((*float32)(w.weight), 9*n), unsafe.Slice((*float32)(dst), conv.WinogradPlanes*w.plane())
	pool.For(n, moveWork/64, func(lo, hi int) { conv.WinogradKernels(planes[lo:], w.plane(), kernels[9*lo:9*hi]) })
}

// plane returns how many elements apart the planes of kernels are, so that they begin at places of
// their own in a cache.
func (w *winograd) plane() int { return ((w.v.outs*w.v.channels+15)/16 | 1) * 16 }

// cut chooses the blocks and pieces that take the least time.
func (w *winograd) cut() {
	v := w.v
	most := max(leastColumns, winogradBytes/(conv.WinogradPlanes*4*v.channels))
	count, size, groups := w.tall, w.wide, v.images // rows of tiles
	if w.images = 2*w.tall*w.wide <= most && w.tall <= mostSpan; w.images {
		count, size, groups = v.images, w.tall*w.wide, 1
	}
	w.groups = groups
	w.blocks, w.down = winogradCut(groups, count, size, min(max(1, most/size), mostSpan), v.outs)
}

// winogradCut returns into how many blocks each of groups of count rows, of size tiles, is cut, which
// have at most so many rows, and into how many pieces the channels of the result, so that all of it
// takes the least time.
func winogradCut(groups, count, size, most, outs int) (blocks, down int) {
	procs, units := runtime.GOMAXPROCS(0), (outs+winogradRows-1)/winogradRows
	least, first := 0, (count+min(count, most)-1)/min(count, most)
	for b := first; b <= min(count, first+8); b++ {
		each := (count + b - 1) / b
		for d := 1; d <= min(units, procs); d++ {
			turns := (groups*b*d + procs - 1) / procs
			columns := (each*size+15)/16*16 + kernelColumns
			time := turns * (columns*((units+d-1)/d)*winogradRows + each*size*planeRows)
			if least == 0 || time < least {
				least, blocks, down = time, b, d
			}
		}
	}
	return blocks, down
}

// mostSpan is how many rows of tiles are gathered at once at most.
const mostSpan = 64

// A span is rows [first, end) of tiles of an image.
type span struct{ image, first, end int }

// run computes tasks [from, to): a piece of the channels of a block each.
func (w *winograd) run(from, to int) {
	for ; from < to; from++ {
		r0, r1 := winogradPiece(from%w.down, w.down, w.v.outs)
		w.compute(w.spans(from/w.down), r0, r1)
	}
}

// winogradPiece returns the channels [r0, r1) of a piece of those of the result.
func winogradPiece(i, pieces, outs int) (r0, r1 int) {
	units := (outs + winogradRows - 1) / winogradRows
	return i * units / pieces * winogradRows, min((i+1)*units/pieces*winogradRows, outs)
}

// spans returns those of a block, which have as many rows.
func (w *winograd) spans(block int) (spans []span) {
	at := block % w.blocks
	if !w.images {
		return []span{{block / w.blocks, at * w.tall / w.blocks, (at + 1) * w.tall / w.blocks}}
	}
	for u := at * w.v.images / w.blocks; u < (at+1)*w.v.images/w.blocks; u++ {
		spans = append(spans, span{u, 0, w.tall})
	}
	return spans
}

// A planes is matrices in planes, whose rows are pitch bytes apart.
type planes struct {
	at           unsafe.Pointer
	pitch, plane int // bytes
}

// size returns how many bytes planes of so many rows have, which begin at places of their own in a
// cache.
func (p *planes) size(rows int) int {
	p.plane = (rows*p.pitch/64 | 1) * 64
	return conv.WinogradPlanes * p.plane
}

// compute computes channels [r0, r1) of the result for tiles.
func (w *winograd) compute(spans []span, r0, r1 int) {
	v, lanes, rows := w.v, conv.Lanes(w.level, 4)/2, spans[0].end-spans[0].first
	n := len(spans) * rows * w.wide
	whole := n - w.wide + (w.wide+lanes-1)/lanes*lanes // with those of the last vector
	pitch := (whole + 15) / 16 * 64
	tiles, sums := planes{pitch: pitch}, planes{pitch: pitch}
	frame, lead := w.frame(spans[0])
	bytes := tiles.size(v.channels)
	block := scratch.Get(bytes + sums.size(winogradRows) + frame.Size*4)
	defer block.Put()
	tiles.at, sums.at = block.Ptr(), unsafe.Add(block.Ptr(), bytes)
	room := unsafe.Add(sums.at, sums.size(winogradRows))
	source := conv.Source{DType: w.x.DType, Want: ir.Float32, Strides: w.x.Strides[2:]}
	for c := range v.channels {
		for i, s := range spans {
			at := s.image*w.x.Strides[0] + c*w.x.Strides[1] + lead*w.x.Strides[2]
			frame.Fill(room, unsafe.Add(w.x.Ptr, at*w.x.DType.Size()), &source, 1, 0)
			conv.Spread(w.level, unsafe.Add(tiles.at, c*pitch+i*rows*w.wide*4), tiles.plane, frame, room, rows, w.wide)
		}
	}
	for r := r0; r < r1; r += winogradRows {
		last := min(r+winogradRows, r1)
		w.multiply(r, last, n, &tiles, &sums)
		for i, s := range spans {
			w.finish(s, r, last, unsafe.Add(sums.at, i*rows*w.wide*4), &sums)
		}
		w.tell(spans, r, last)
	}
}

// multiply sets the rows of sums to channels [r0, r1) of the result, for n tiles.
func (w *winograd) multiply(r0, r1, n int, tiles, sums *planes) {
	v := w.v
	p := gemm.Product[float32]{M: r1 - r0, N: n, K: v.channels, Stretch: min(v.channels, winogradStretch), Serial: true}
	p.A, p.B, p.C = gemm.Matrix{Row: v.channels, Col: 1}, gemm.Matrix{Row: tiles.pitch / 4, Col: 1}, gemm.Matrix{Row: sums.pitch / 4, Col: 1}
	p.Each(conv.WinogradPlanes, func(i int) (a, b, c unsafe.Pointer) {
		return unsafe.Add(w.kernels, (i*w.plane()+r0*v.channels)*4), unsafe.Add(tiles.at, i*tiles.plane), unsafe.Add(sums.at, i*sums.plane)
	})
}

// frame returns the frame of a span, and the row of the image where it begins.
func (w *winograd) frame(s span) (*conv.Frame, int) {
	v := w.v
	from := 2*s.first - v.padding[0]
	lo := min(max(from, 0), v.in[0]-1)
	hi := max(min(2*s.end+2-v.padding[0], v.in[0]), lo+1)
	return conv.WinogradFrame([]int{hi - lo, v.in[1]}, []int{lo - from, v.padding[1]}, s.end-s.first, w.wide), lo
}

// finish takes channels [r0, r1) of a span to the result, from sums that begin at from.
func (w *winograd) finish(s span, r0, r1 int, from unsafe.Pointer, sums *planes) {
	v, bad := w.v, uint64(0)
	first, end := 2*s.first, min(2*s.end, v.out[0])
	for r := range r1 - r0 {
		to := unsafe.Add(w.out, ((s.image*v.outs+r0+r)*v.outSize+first*v.out[1])*4)
		bad |= conv.Gather(w.level, to, end-first, v.out[1], unsafe.Add(from, r*sums.pitch), sums.plane)
	}
	for ; bad != 0; bad &= bad - 1 {
		line := first + 2*bits.TrailingZeros64(bad)
		w.again(s.image, line, min(line+2, end), r0, r1)
	}
}

// again computes lines [first, end) of channels [r0, r1) of an image's result from its windows.
func (w *winograd) again(image, first, end, r0, r1 int) {
	v := w.v
	b, x := v.band(w.x, image, first, end)
	b.outs, b.kept, b.then = r1-r0, nil, nil
	to := unsafe.Add(w.out, ((image*v.outs+r0)*v.outSize+first*v.out[1])*4)
	correlateFrames[float32](b, x, unsafe.Add(w.weight, r0*v.terms()*4), ir.Float32, to, v.outSize)
}

// tell tells what follows that channels [r0, r1) of spans are finished.
func (w *winograd) tell(spans []span, r0, r1 int) {
	s, width := spans[0], w.v.out[1]
	first, end := 2*s.first, min(2*s.end, w.v.out[0])
	w.v.finish(Block{s.image, len(spans), r0, r1 - r0, first * width, (end - first) * width})
}
