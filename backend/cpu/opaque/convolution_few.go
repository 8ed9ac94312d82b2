package opaque

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A convolution of very few windows reads each weight for some of them alone: what it takes is
// the time to read the weights once, where they lie. Its windows are put side by side.

const (
	// fewWindows is how many windows of all images these are at most: products of few rows
	// read the weights twice then.
	fewWindows = 6
	// fewWindowRows is how many windows a product has, so that gemm takes it for one of few rows.
	fewWindowRows = 3
	// fewWeights is how many weights a group has at least: a product of less is over before it
	// has begun.
	fewWeights = 1024
)

// few reports whether there are so few windows, which are not the elements of the image.
// Padding is multiplied like elements.
func (v *convolution) few() bool {
	return !v.direct && v.images*v.outSize <= fewWindows && v.outs*v.terms() >= fewWeights
}

const (
	// narrowWindows is how many windows each of many images has at most that are put side by
	// side: to lay out such an image in a frame takes as long as to multiply it.
	narrowWindows = 8
	// narrowBytes is how many bytes of windows are put side by side at once.
	narrowBytes = 512 << 10
)

// narrow reports whether many images have few windows each, which are not the elements of the
// image. Padding is multiplied like elements.
func (v *convolution) narrow() bool {
	return !v.direct && v.groups == 1 && v.outSize <= narrowWindows && v.images > narrowWindows && v.outs >= narrowWindows && v.outs*v.terms() >= fewWeights
}

// convolveNarrow sets out to the convolution of many images of few windows: some images'
// windows, one below the other, times the weight.
func convolveNarrow[T float](v *convolution, x ir.View, weight unsafe.Pointer, out ir.View) {
	size, depth := int(unsafe.Sizeof(T(0))), v.terms()
	image, to := tile.Elements[T](tile.Dense(x, out.DType)), tile.Elements[T](out)
	f := factors{m: v.images * v.outSize, n: v.outs, k: depth, b: gemm.Matrix{Ptr: weight, Row: 1, Col: depth}}
	f.keep(v.keptOf(weight), out.DType)
	whole := gemm.Product[T]{M: f.m, N: f.n, K: f.k, A: gemm.Matrix{Row: depth, Col: 1}, B: f.b, C: gemm.Matrix{Row: v.outs, Col: 1}}
	stretch, lists := whole.BestStretch(), v.pieces()
	some := min(v.images, max(1, narrowBytes/(v.outSize*(depth+v.outs)*size)))
	tasks := (v.images + some - 1) / some
	pool.For(tasks, max(1, mulWork/(some*v.outSize*depth*v.outs)), func(lo, hi int) {
		block := scratch.Get(some * v.outSize * (depth + v.outs) * size)
		defer block.Put()
		windows := unsafe.Slice((*T)(block.Ptr()), some*v.outSize*depth)
		sums := unsafe.Slice((*T)(unsafe.Add(block.Ptr(), len(windows)*size)), some*v.outSize*v.outs)
		for ; lo < hi; lo++ {
			first, images := lo*some, min(some, v.images-lo*some)
			for i := range images {
				channels := image[(first+i)*v.channels*v.inSize:][:v.channels*v.inSize]
				for w, pieces := range lists {
					fillWindow(windows[(i*v.outSize+w)*depth:][:depth], channels, pieces, v.places, v.inSize)
				}
			}
			p := gemm.Product[T]{M: images * v.outSize, N: v.outs, K: depth, B: f.b, Packed: f.packed, Stretch: stretch, Serial: true}
			p.A = gemm.Matrix{Ptr: unsafe.Pointer(&windows[0]), Row: depth, Col: 1}
			p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sums[0]), Row: v.outs, Col: 1}
			p.Run()
			for i := range images {
				into, from := unsafe.Pointer(&to[(first+i)*v.outs*v.outSize]), unsafe.Pointer(&sums[i*v.outSize*v.outs])
				turn(simd.Active(), size, into, from, v.outSize*size, v.outs*size, v.outSize, v.outs)
			}
			v.finish(Block{first, images, 0, v.outs, 0, v.outSize})
		}
	})
}

// A piece is neighbouring elements of a window that are neighbours in the image: where they go
// in the window's part for a channel, and where they come from in the channel.
type piece struct{ to, from, n int }

// convolveFew sets out to the convolution of few windows.
func convolveFew[T float](v *convolution, x ir.View, weight unsafe.Pointer, out ir.View) {
	image, to, depth := tile.Elements[T](tile.Dense(x, out.DType)), tile.Elements[T](out), v.terms()
	weights := unsafe.Slice((*T)(weight), v.groups*v.outs*depth)
	block := scratch.Get(v.outSize * depth * int(unsafe.Sizeof(T(0))))
	defer block.Put()
	windows := unsafe.Slice((*T)(block.Ptr()), v.outSize*depth)
	lists := v.pieces()
	for u := range v.images * v.groups {
		channels := image[u*v.channels*v.inSize:][:v.channels*v.inSize]
		for w, pieces := range lists {
			fillWindow(windows[w*depth:][:depth], channels, pieces, v.places, v.inSize)
		}
		for w := 0; w < v.outSize; w += fewWindowRows {
			p := gemm.Product[T]{M: min(fewWindowRows, v.outSize-w), N: v.outs, K: depth}
			p.A = gemm.Matrix{Ptr: unsafe.Pointer(&windows[w*depth]), Row: depth, Col: 1}
			p.B = gemm.Matrix{Ptr: unsafe.Pointer(&weights[u%v.groups*v.outs*depth]), Row: 1, Col: depth}
			p.C = gemm.Matrix{Ptr: unsafe.Pointer(&to[u*v.outs*v.outSize+w]), Row: 1, Col: v.outSize}
			p.Run()
		}
	}
	v.finish(v.whole())
}

// fillWindow sets a window of all channels, each of so many places, to the elements of the
// channels, each of size elements, and to zero where there are none.
func fillWindow[T float](window, channels []T, pieces []piece, places, size int) {
	covered := 0
	for _, r := range pieces {
		covered += r.n
	}
	if covered < places {
		clear(window)
	}
	for len(window) > 0 {
		for _, r := range pieces {
			if r.n < 8 { // less than a call takes
				for i := range r.n {
					window[r.to+i] = channels[r.from+i]
				}
				continue
			}
			copy(window[r.to:r.to+r.n], channels[r.from:r.from+r.n])
		}
		window, channels = window[places:], channels[size:]
	}
}

// pieces returns, for each window, where its elements lie in a channel, without the padding.
func (v *convolution) pieces() [][]piece {
	last := len(v.in) - 1
	row, width := v.kernel[last], v.in[last]
	most := v.places / row // rows of the kernel, whose places follow one another where they are not dilated
	if v.dilation[last] > 1 {
		most = v.places
	}
	lists, all := make([][]piece, v.outSize), make([]piece, 0, v.outSize*most)
	place, window := make([]int, last), make([]int, last+1)
	for w := range lists {
		split(w, v.out, window)
		first := len(all)
		for k := range v.places / row {
			split(k, v.kernel[:last], place)
			at, inside := 0, true
			for a, n := range v.in[:last] {
				p := window[a]*v.stride[a] - v.padding[a] + place[a]*v.dilation[a]
				inside = inside && p >= 0 && p < n
				at = at*n + p
			}
			if inside {
				all = v.along(all, k*row, at*width, window[last]*v.stride[last]-v.padding[last])
			}
		}
		lists[w] = all[first:len(all):len(all)]
	}
	return lists
}

// along appends the pieces of a row of the kernel, whose first place goes to to and lies at
// place first of the row of the channel that begins at from.
func (v *convolution) along(all []piece, to, from, first int) []piece {
	last := len(v.in) - 1
	n, step := v.in[last], v.dilation[last]
	if step == 1 {
		lo, hi := max(0, -first), min(v.kernel[last], n-first)
		if lo < hi {
			all = append(all, piece{to + lo, from + first + lo, hi - lo})
		}
		return all
	}
	for k := range v.kernel[last] {
		if p := first + k*step; p >= 0 && p < n {
			all = append(all, piece{to + k, from + p, 1})
		}
	}
	return all
}
