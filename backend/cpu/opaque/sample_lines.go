package opaque

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/lines"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Where samples have several channels, these lie together for each place of x and
// each point: what is found out about a point serves all channels, and they are read
// and written side by side. Every sum has the same order as without.

// lined reports whether it is worth the copies to have channels together.
func (s *sampling) lined() bool { return s.channels >= 4 && s.inSize <= 4*s.points }

// turned returns v, which is contiguous, as [images, inner, outer] from
// [images, outer, inner].
func turned(v ir.View, images, outer, inner int) ir.View {
	v.Shape, v.Strides = []int{images, inner, outer}, []int{outer * inner, 1, inner}
	return v
}

// A space is memory for channels that lie together, used again by later calls.
type space struct{ memory []uint64 }

var spaces = sync.Pool{New: func() any { return new(space) }}

// view returns [images, places, channels] of a dtype, with whatever numbers.
func (m *space) view(s *sampling, dtype ir.DType, places int) ir.View {
	shape := []int{s.images, places, s.channels}
	if n := (ir.NumElements(shape)*dtype.Size() + 7) / 8; len(m.memory) < n {
		m.memory = make([]uint64, n)
	}
	return ir.View{Ptr: unsafe.Pointer(&m.memory[0]), DType: dtype, Shape: shape, Strides: []int{places * s.channels, s.channels, 1}}
}

// take returns elements of v [images, channels, places...] with the channels of a place
// together.
func take[T float](s *sampling, m *space, v ir.View, places int) []T {
	d := m.view(s, v.DType, places)
	tile.Copy(d, turned(v, s.images, s.channels, places))
	return tile.Elements[T](d)
}

// put copies from, [images, places, channels], to v.
func put(s *sampling, v, from ir.View, places int) {
	tile.Copy(turned(v, s.images, s.channels, places), from)
}

func borrow() *space     { return spaces.Get().(*space) }
func (m *space) giveUp() { spaces.Put(m) }

// sampleLines is samplePoints by lines of channels.
func sampleLines[T float](s *sampling, in []ir.View, out ir.View) {
	read, write := borrow(), borrow()
	defer read.giveUp()
	defer write.giveUp()
	w := write.view(s, out.DType, s.points)
	x, grid, dst := take[T](s, read, in[0], s.inSize), tile.Elements[T](in[1]), tile.Elements[T](w)
	c, funcs := s.channels, lines.Of[T](simd.Active())
	pool.For(s.images*s.points, max(1, sampleWork/c), func(lo, hi int) {
		var set tapSet[T]
		list, run := make([]tap[T], 0, maxTaps*maxTaps), newInnerRun[T](s, c, c)
		for lo < hi {
			image, end := x[lo/s.points*s.inSize*c:], min(hi, (lo/s.points+1)*s.points)
			first := lo
			lo = run.find(grid, lo, end, false)
			funcs.Mix(&run.Points, dst[first*c:], image)
			if lo < end && !run.full() {
				place(s, grid[lo*s.axes:], &set)
				list = set.taps(list[:0])
				sampleLine(dst[lo*c:][:c], image, list)
				lo++
			}
		}
	})
	put(s, out, w, s.points)
}

// sampleLine computes all channels of a point from the lines of an image.
func sampleLine[T float](to, image []T, list []tap[T]) {
	c := len(to)
	if len(list) == 4 {
		p, q, r, t := image[list[0].at*c:][:c], image[list[1].at*c:][:c], image[list[2].at*c:][:c], image[list[3].at*c:][:c]
		a, b, d, e := list[0].weight, list[1].weight, list[2].weight, list[3].weight
		for ch := range to {
			to[ch] = T(p[ch]*a) + T(q[ch]*b) + T(r[ch]*d) + T(t[ch]*e)
		}
		return
	}
	if len(list) == 1 {
		p, a := image[list[0].at*c:][:c], list[0].weight
		for ch := range to {
			sum := T(0) // as in a sum of several: -0 becomes 0
			sum += T(p[ch] * a)
			to[ch] = sum
		}
		return
	}
	clear(to)
	for i := range list {
		p, a := image[list[i].at*c:][:c], list[i].weight
		for ch := range to {
			to[ch] += T(p[ch] * a)
		}
	}
}

// sampleLinesGradInput is samplePointsGradInput by lines of channels.
func sampleLinesGradInput[T float](s *sampling, in []ir.View, out ir.View) {
	read, write := borrow(), borrow()
	defer read.giveUp()
	defer write.giveUp()
	w := write.view(s, out.DType, s.inSize)
	g, grid, dst := take[T](s, read, in[0], s.points), tile.Elements[T](in[1]), tile.Elements[T](w)
	clear(dst)
	c, funcs := s.channels, lines.Of[T](simd.Active())
	blocks := (c + lineBlock - 1) / lineBlock
	pool.For(s.images*blocks, max(1, sampleWork/max(1, s.points*lineBlock)), func(lo, hi int) {
		var set tapSet[T]
		list := make([]tap[T], 0, maxTaps*maxTaps)
		for ; lo < hi; lo++ {
			n, first := lo/blocks, lo%blocks*lineBlock
			last := min(first+lineBlock, c)
			image := dst[n*s.inSize*c:]
			run := newInnerRun[T](s, last-first, c)
			for p, end := n*s.points, (n+1)*s.points; p < end; p++ {
				own := g[p*c+first:]
				p = run.find(grid, p, end, false)
				funcs.Spread(&run.Points, own, image[first:])
				if p == end {
					break
				}
				if run.full() {
					p--
					continue
				}
				place(s, grid[p*s.axes:], &set)
				if list = set.taps(list[:0]); nowhere(list) {
					continue
				}
				from := g[p*c+first : p*c+last]
				for i := range list {
					to, a := image[list[i].at*c+first:][:len(from)], list[i].weight
					for ch, v := range from {
						to[ch] += T(v * a)
					}
				}
			}
		}
	})
	put(s, out, w, s.inSize)
}

// lineBlock is how many channels share the search for the taps.
const lineBlock = 32

// sampleLinesGradGrid is samplePointsGradGrid by lines of channels.
func sampleLinesGradGrid[T float](s *sampling, in []ir.View, out ir.View) {
	first, second := borrow(), borrow()
	defer first.giveUp()
	defer second.giveUp()
	g, x := take[T](s, first, in[0], s.points), take[T](s, second, in[1], s.inSize)
	grid, dst := tile.Elements[T](in[2]), tile.Elements[T](out)
	c, funcs := s.channels, lines.Of[T](simd.Active())
	pool.For(s.images*s.points, max(1, sampleWork/c), func(lo, hi int) {
		var set tapSet[T]
		list, slopes := make([]tap[T], 0, maxTaps*maxTaps), make([][3]T, 0, maxTaps*maxTaps)
		run := newInnerRun[T](s, c, c)
		products := make([]T, cap(run.List))
		for ; lo < hi; lo++ {
			end, from := min(hi, (lo/s.points+1)*s.points), lo
			lo = run.find(grid, lo, end, true)
			funcs.Dots(&run.Points, g[from*c:], x[from/s.points*s.inSize*c:], products)
			for i := range run.list {
				sums := run.list[i].gradient(s, products[i*run.Taps:][:run.Taps])
				copy(dst[(from+i)*2:], sums[:])
			}
			if lo == end || run.full() {
				lo--
				continue
			}
			place(s, grid[lo*s.axes:], &set)
			list, slopes = set.taps(list[:0]), set.slopes(slopes[:0])
			line, image := g[lo*c:][:c], x[lo/s.points*s.inSize*c:]
			var sums [3]T
			for i := 0; i < len(list); i += 2 {
				dots := [2]T{}
				if i+1 < len(list) {
					dots[0], dots[1] = twoDots(line, image[list[i].at*c:][:c], image[list[i+1].at*c:][:c])
				} else {
					dots[0], _ = twoDots(line, image[list[i].at*c:][:c], line)
				}
				for k := range min(2, len(list)-i) {
					for a := range s.axes {
						sums[a] += T(dots[k] * slopes[i+k][a])
					}
				}
			}
			copy(dst[lo*s.axes:(lo+1)*s.axes], sums[:])
		}
	})
}

// twoDots returns two products with a, each summed from the first element on: neither
// waits for the other.
func twoDots[T float](a, x, y []T) (p, q T) {
	x, y = x[:len(a)], y[:len(a)]
	for i, v := range a {
		p += T(v * x[i])
		q += T(v * y[i])
	}
	return p, q
}
