package opaque

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A convolution along one axis over many channels is computed as Winograd's, two windows at a time.
// A kernel is cut into parts of three places, for which there are four products of a channel instead
// of six, F(2, 3), and a rest of two, with three instead of four, or of one. All that is added up
// for a window is in four planes:
//
//	first window  = planes 0 + 1 + 2
//	second window = planes 1 - 2 + 3
//
// so that products of matrices sum up parts and channels at once. Where a window is infinite or not a
// number those of some tiles are computed again as others are, so that an infinite element changes no
// window but those that read it.

const (
	// lineChannels is how many channels an image and a result have at least.
	lineChannels = 32
	// lineUnit is how many tiles are computed again together: blocks are whole numbers of them.
	lineUnit = conv.WinogradUnit
	// linePlaces is how many places a kernel has at most.
	linePlaces = 9
	linePlanes = 4
)

// winogradLine reports whether the convolution is computed so. It does not depend on how many images
// there are, nor on processors.
func (v *convolution) winogradLine(dtype ir.DType) bool {
	if dtype != ir.Float32 || len(v.kernel) != 1 || v.groups != 1 || v.stride[0] != 1 || v.dilation[0] != 1 || !conv.HasWinograd(simd.Active()) {
		return false
	}
	return v.kernel[0] >= 3 && v.kernel[0] <= linePlaces && min(v.channels, v.outs) >= lineChannels && (v.out[0]+1)/2 >= winogradTiles
}

// A winogradLine is such a convolution under way, in blocks of tiles of an image.
type winogradLine struct {
	v       *convolution
	level   simd.Level
	x       ir.View
	weight  unsafe.Pointer
	kernels unsafe.Pointer // of each plane [outs, terms]
	out     unsafe.Pointer
	terms   [linePlanes]int // of an element of a plane
	tiles   int             // of an image
	blocks  int             // of an image
	down    int             // pieces of the result's channels
}

func convolveWinogradLine(v *convolution, x ir.View, weight unsafe.Pointer, out unsafe.Pointer) {
	w := &winogradLine{v: v, level: simd.Active(), x: x, weight: weight, out: out, tiles: (v.out[0] + 1) / 2}
	for _, n := range lineParts(v.kernel[0]) {
		for p := range linePlanes {
			if lineUses(n, p) {
				w.terms[p] += v.channels
			}
		}
	}
	key := winogradLinePacking{weight, v.outs, v.channels, v.kernel[0]}
	kernels, done := v.prepared(weight, key, w.bytes(), w.prepare)
	defer done()
	w.kernels = kernels
	units := (w.tiles + lineUnit - 1) / lineUnit
	most := max(leastColumns, winogradBytes/(w.first(linePlanes)*4)) / lineUnit
	w.blocks, w.down = winogradCut(v.images, units, lineUnit, min(most, mostSpan), v.outs)
	pool.For(v.images*w.blocks*w.down, 1, w.run)
}

// A winogradLinePacking says which weight was prepared.
type winogradLinePacking struct {
	weight                 unsafe.Pointer
	outs, channels, places int
}

// lineParts returns the places of the parts of a kernel.
func lineParts(places int) (parts []int) {
	for ; places >= 3; places -= 3 {
		parts = append(parts, 3)
	}
	if places > 0 {
		parts = append(parts, places)
	}
	return parts
}

// lineUses reports whether a part of n places has terms in a plane.
func lineUses(n, plane int) bool { return plane != 2 && plane != 1 || plane == 1 && n > 1 || n == 3 }

// first returns how many terms the planes before p have.
func (w *winogradLine) first(p int) (n int) {
	for _, t := range w.terms[:p] {
		n += t
	}
	return n
}

// bytes returns how many bytes the planes of kernels have.
func (w *winogradLine) bytes() int { return w.first(linePlanes) * w.v.outs * 4 }

// prepare sets the planes at dst to those of the weight.
func (w *winogradLine) prepare(dst unsafe.Pointer) {
	v, places := w.v, w.v.kernel[0]
	kernels := unsafe.Slice((*float32)(w.weight), v.outs*v.terms())
	all := unsafe.Slice((*float32)(dst), w.first(linePlanes)*v.outs)
	pool.For(v.outs, max(1, moveWork/(8*v.terms())), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			var rows [linePlanes][]float32
			for p := range rows {
				rows[p] = all[w.first(p)*v.outs+o*w.terms[p]:][:w.terms[p]]
			}
			at := 0
			for _, n := range lineParts(places) {
				for c := range v.channels {
					lineKernel(&rows, c, kernels[(o*v.channels+c)*places+at:][:n])
				}
				for p := range rows {
					if lineUses(n, p) {
						rows[p] = rows[p][v.channels:]
					}
				}
				at += n
			}
		}
	})
}

// lineKernel sets the terms of channel c to what is made of a part of its kernel.
func lineKernel(rows *[linePlanes][]float32, c int, g []float32) {
	rows[0][c], rows[3][c] = g[0], g[len(g)-1]
	switch len(g) {
	case 3:
		rows[1][c], rows[2][c] = 0.5*(g[0]+g[2]+g[1]), 0.5*(g[0]+g[2]-g[1])
	case 2:
		rows[1][c] = g[0] + g[1]
	}
}

// run computes tasks [from, to): a piece of the channels of a block each.
func (w *winogradLine) run(from, to int) {
	units := (w.tiles + lineUnit - 1) / lineUnit
	for ; from < to; from++ {
		r0, r1 := winogradPiece(from%w.down, w.down, w.v.outs)
		image, at := from/w.down/w.blocks, from/w.down%w.blocks
		w.compute(image, at*units/w.blocks*lineUnit, min((at+1)*units/w.blocks*lineUnit, w.tiles), r0, r1)
	}
}

// compute computes channels [r0, r1) of the result for tiles [t0, t1) of an image.
func (w *winogradLine) compute(image, t0, t1, r0, r1 int) {
	n := t1 - t0
	pitch := (n + lineUnit - 1) / lineUnit * lineUnit // of whole units, as products of few columns have another order
	terms := w.first(linePlanes)
	block := scratch.Get((terms*pitch + linePlanes*winogradRows*pitch) * 4)
	defer block.Put()
	tiles := unsafe.Slice((*float32)(block.Ptr()), terms*pitch)
	sums := unsafe.Slice((*float32)(unsafe.Add(block.Ptr(), terms*pitch*4)), linePlanes*winogradRows*pitch)
	w.spread(tiles, image, t0, pitch)
	for r := r0; r < r1; r += winogradRows {
		last := min(r+winogradRows, r1)
		for p := range linePlanes {
			w.multiply(p, r, last, pitch, tiles, sums)
		}
		w.gather(image, t0, n, r, last, pitch, sums)
		w.v.finish(Block{image, 1, r, last - r, 2 * t0, min(2*t1, w.v.out[0]) - 2*t0})
	}
}

// spread sets the planes to what is made of n tiles from t0 on, those behind the image's of zeros.
func (w *winogradLine) spread(tiles []float32, image, t0, n int) {
	v := w.v
	places := v.kernel[0] + 1
	from := 2*t0 - v.padding[0]
	lo := min(max(from, 0), v.in[0]-1)
	hi := max(min(from+2*n+places-2, v.in[0]), lo+1)
	all := make([]int, places)
	for j := range all {
		all[j] = j
	}
	frame := conv.NewFrame([]int{hi - lo}, []int{lo - from}, []int{n}, []int{2}, [][]int{all}, 4)
	source := conv.Source{DType: w.x.DType, Want: ir.Float32, Strides: w.x.Strides[2:]}
	block := scratch.Get(frame.Size * 4)
	defer block.Put()
	var d [linePlaces + 1][]float32
	for j := range places {
		d[j] = unsafe.Slice((*float32)(unsafe.Add(block.Ptr(), frame.Offset([]int{j})*4)), n)
	}
	for c := range v.channels {
		at := image*w.x.Strides[0] + c*w.x.Strides[1] + lo*w.x.Strides[2]
		frame.Fill(block.Ptr(), unsafe.Add(w.x.Ptr, at*w.x.DType.Size()), &source, 1, 0)
		var next [linePlanes]int // terms that are set
		j := 0
		for _, part := range lineParts(v.kernel[0]) {
			var rows [linePlanes][]float32
			for p := range rows {
				if lineUses(part, p) {
					rows[p] = tiles[(w.first(p)+next[p]+c)*n:][:n]
					next[p] += v.channels
				}
			}
			w.lineTiles(&rows, d[j:j+part+1])
			j += part
		}
	}
}

// lineTiles sets a channel's rows, of whole units, to what is made of the elements that a part of its
// kernel reads.
func (w *winogradLine) lineTiles(rows *[linePlanes][]float32, d [][]float32) {
	switch len(d) {
	case 4:
		var to, from [linePlanes]unsafe.Pointer
		for p := range to {
			to[p], from[p] = unsafe.Pointer(unsafe.SliceData(rows[p])), unsafe.Pointer(unsafe.SliceData(d[p]))
		}
		conv.SpreadLine(w.level, &to, &from, len(rows[0]))
	case 3:
		subtract(rows[0], d[0], d[1])
		copy(rows[1], d[1])
		subtract(rows[3], d[2], d[1])
	default:
		copy(rows[0], d[0])
		copy(rows[3], d[1])
	}
}

func subtract(to, x, y []float32) {
	x, y = x[:len(to)], y[:len(to)]
	for i := range to {
		to[i] = x[i] - y[i]
	}
}

// multiply sets the rows of a plane of sums to channels [r0, r1) of the result, for n tiles.
func (w *winogradLine) multiply(p, r0, r1, n int, tiles, sums []float32) {
	k := w.terms[p]
	g := gemm.Product[float32]{M: r1 - r0, N: n, K: k, Stretch: min(k, winogradStretch), Serial: true}
	g.A, g.B, g.C = gemm.Matrix{Row: k, Col: 1}, gemm.Matrix{Row: n, Col: 1}, gemm.Matrix{Row: n, Col: 1}
	g.Each(1, func(int) (a, b, c unsafe.Pointer) {
		return unsafe.Add(w.kernels, (w.first(p)*w.v.outs+r0*k)*4), unsafe.Pointer(&tiles[w.first(p)*n]), unsafe.Pointer(&sums[p*winogradRows*n])
	})
}

// gather takes channels [r0, r1) of n tiles from t0 on to the result.
func (w *winogradLine) gather(image, t0, n, r0, r1, pitch int, sums []float32) {
	v, bad := w.v, uint64(0)
	first, end := 2*t0, min(2*(t0+n), v.out[0])
	for r := range r1 - r0 {
		var s [linePlanes][]float32
		for p := range s {
			s[p] = sums[(p*winogradRows+r)*pitch:][:n]
		}
		to := unsafe.Slice((*float32)(unsafe.Add(w.out, ((image*v.outs+r0+r)*v.outSize+first)*4)), end-first)
		units := len(to) / (2 * lineUnit)
		bad |= conv.GatherLine(w.level, unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(&s[0][0]), winogradRows*pitch*4, units)
		if whole := units * lineUnit; 2*whole < len(to) {
			for p := range s {
				s[p] = s[p][whole:]
			}
			bad |= lineWindows(to[2*whole:], &s) << units
		}
	}
	for ; bad != 0; bad &= bad - 1 {
		at := first + 2*lineUnit*bits.TrailingZeros64(bad)
		w.again(image, at, min(at+2*lineUnit, end), r0, r1)
	}
}

// lineWindows sets windows of less than a unit to what planes have of them, and returns 1 where one of
// them is infinite or not a number.
func lineWindows(to []float32, s *[linePlanes][]float32) (bad uint64) {
	n := len(to) / 2
	if len(to)%2 != 0 {
		to[2*n] = s[0][n] + s[1][n] + s[2][n]
	}
	a, b, c, d := s[0][:n], s[1][:n], s[2][:n], s[3][:n]
	for i := range a {
		to[2*i], to[2*i+1] = a[i]+b[i]+c[i], b[i]-c[i]+d[i]
	}
	zero := float32(0)
	for _, y := range to {
		zero += y - y
	}
	if zero != 0 { // it is NaN
		return 1
	}
	return 0
}

// again computes windows [first, end) of channels [r0, r1) of an image's result by themselves.
func (w *winogradLine) again(image, first, end, r0, r1 int) {
	v := w.v
	b, x := v.band(w.x, image, first, end)
	b.outs, b.kept, b.then = r1-r0, nil, nil
	to := unsafe.Add(w.out, ((image*v.outs+r0)*v.outSize+first)*4)
	correlateFrames[float32](b, x, unsafe.Add(w.weight, r0*v.terms()*4), ir.Float32, to, v.outSize)
}
