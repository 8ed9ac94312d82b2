package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

var gradInputs = table[convFunc]{ir.Float32: scattered[float32], ir.Float64: scattered[float64]}

// ConvolutionGradInput returns the gradient of a convolution with respect to its
// input, from the gradient g of its result and the weight. Attributes: input, the
// input's shape, then those of Convolution.
func ConvolutionGradInput(c *ir.Call) error {
	c = lean(c, 1)
	return convolve(c, &gradInputs, newConvolution(c, c.Out[0].Shape, c.In[1].Shape, c.In[0].Shape, 1))
}

// A residue is the elements of an input whose coordinates leave certain remainders
// when divided by the strides: their gradients are sums over the same places of the
// kernel, with neighbouring elements of the result's gradient.
type residue struct {
	first   []int   // the first of the elements, along each axis
	extent  []int   // how many there are
	kernel  [][]int // the places of the kernel along each axis
	sources [][]int // the element of g that each place is multiplied with, for the first element
}

// places returns how many places of the kernel the residue's sums are over: all where
// strides are 1, fewer where an extent below the stride leaves one residue.
func (r *residue) places() int {
	n := 1
	for _, kernel := range r.kernel {
		n *= len(kernel)
	}
	return n
}

// residues returns all that have elements, those that differ in the last axis only
// one after the other, and the smallest source along each axis.
func (v *convolution) residues() (list []residue, lowest []int) {
	list, lowest = []residue{{}}, make([]int, len(v.in))
	for a, s := range v.stride {
		turns := min(s, v.in[a])
		kernel, sources := make([][]int, turns), make([][]int, turns)
		for r := range turns {
			for k := range v.kernel[a] {
				if at := r + v.padding[a] - k*v.dilation[a]; at%s == 0 {
					kernel[r], sources[r] = append(kernel[r], k), append(sources[r], at/s)
					lowest[a] = min(lowest[a], at/s)
				}
			}
		}
		var next []residue
		for _, l := range list {
			for r := range turns {
				next = append(next, residue{
					append(l.first[:a:a], r), append(l.extent[:a:a], (v.in[a]-r-1)/s+1),
					append(l.kernel[:a:a], kernel[r]), append(l.sources[:a:a], sources[r]),
				})
			}
		}
		list = next
	}
	return list, lowest
}

func gradInput[T float](v *convolution, g, weight, out ir.View) {
	if g.NumElements() == 0 || v.terms() == 0 {
		clear(tile.Elements[T](out))
		return
	}
	if u := v.unfold(); u != nil {
		image := tile.NewDense(out.DType, append([]int{v.images, v.groups * v.channels}, u.to.in...))
		gradInput[T](u.to, g, weight, image)
		folded[T](u, image, out)
		return
	}
	if v.plain(out.DType) {
		w := tile.Dense(weight, out.DType)
		s := correlation{rows: v.channels, groups: v.groups, depth: v.outs, weight: w.Ptr, places: 1, windows: v.in}
		correlateRows[T](&s, tile.Dense(g, out.DType).Ptr, v.images, out.Ptr)
		return
	}
	list, lowest := v.residues()
	// One layout serves all residues: that of windows which reach as far as any does.
	places, ones, lead := make([][]int, len(v.in)), make([]int, len(v.in)), make([]int, len(v.in))
	most := make([]int, len(v.in))
	for a := range v.in {
		ones[a], lead[a] = 1, -lowest[a]
		for _, r := range list {
			most[a] = max(most[a], r.extent[a])
			for _, s := range r.sources[a] {
				places[a] = append(places[a], s-lowest[a])
			}
		}
	}
	w := tile.Dense(weight, out.DType)
	l := newLayout(conv.NewFrame(v.out, lead, most, ones, places, out.DType.Size()), g, out.DType, v.room(runtime.GOMAXPROCS(0), out.DType))
	if len(list) == 1 && list[0].places() == v.places {
		s, block := v.wholeCorrelation(&list[0], l.frame, lowest, w)
		defer block.Put()
		sums := newCorrelator[T](s, l)
		defer sums.end()
		image := v.groups * v.channels * v.inSize * out.DType.Size()
		l.each(func(data unsafe.Pointer, first, images int) { sums.run(data, images, unsafe.Add(out.Ptr, first*image)) })
		return
	}
	sums, block := v.correlations(list, l.frame, lowest, w)
	defer block.Put()
	correlators := make([]correlator, len(sums))
	for i := range sums {
		if len(sums[i].terms) > 0 {
			correlators[i] = newCorrelator[T](&sums[i], l)
			defer correlators[i].end()
		}
	}
	turns := min(v.stride[len(v.in)-1], v.in[len(v.in)-1])
	l.each(func(data unsafe.Pointer, first, images int) {
		to := unsafe.Add(out.Ptr, first*v.groups*v.channels*v.inSize*out.DType.Size())
		for i := 0; i < len(list); i += turns {
			interleave[T](v, list[i:i+turns], correlators[i:i+turns], data, images, to)
		}
	})
}

// wholeCorrelation returns what gives the gradients of the only residue, of all places: channels as
// sums over all outputs and places. Its weight may lie in the block.
func (v *convolution) wholeCorrelation(r *residue, f *conv.Frame, lowest []int, w ir.View) (*correlation, *scratch.Block) {
	s := v.correlationOf(r, w.Ptr)
	s.depth = v.outs * v.places
	s.kernel, s.repeat = r.from(lowest), 1
	offsets := offsetsOf(f, s.kernel)
	for out := range v.outs {
		for _, o := range offsets {
			s.terms = append(s.terms, (out*f.Size+o)*f.Elem)
		}
	}
	if s.places = v.places; !s.isSparse(w.DType.Size()) {
		return &s, scratch.Get(0)
	}
	block := scratch.Get(w.NumElements() * w.DType.Size())
	to := ir.View{Ptr: block.Ptr(), DType: w.DType, Shape: []int{v.groups, v.channels, v.outs, v.places}}
	to.Strides = ir.ContiguousStrides(to.Shape)
	from := ir.View{Ptr: w.Ptr, DType: w.DType, Shape: to.Shape, Strides: []int{v.outs * v.terms(), v.places, v.terms(), 1}}
	tile.Copy(to, from)
	s.weight, s.places = block.Ptr(), 0
	return &s, block
}

// correlations returns what gives the gradients of several residues: channels as sums
// over the residue's places of the kernel and all outputs. Their weights lie in the
// block.
func (v *convolution) correlations(list []residue, f *conv.Frame, lowest []int, w ir.View) ([]correlation, *scratch.Block) {
	n, size := w.NumElements(), w.DType.Size()
	// Outputs come last, so that those of a place lie side by side.
	block := scratch.Get(2*n*size + 1) // a residue without places lies behind the others
	all := ir.View{Ptr: block.Ptr(), DType: w.DType, Shape: []int{v.groups, v.terms(), v.outs}, Strides: []int{v.terms() * v.outs, v.outs, 1}}
	tile.Copy(all, ir.View{Ptr: w.Ptr, DType: w.DType, Shape: all.Shape, Strides: []int{v.outs * v.terms(), 1, v.terms()}})
	sums, used := make([]correlation, len(list)), n*size
	for i := range list {
		r, at := &list[i], unsafe.Add(block.Ptr(), used)
		sums[i] = v.correlationOf(r, at)
		sums[i].kernel, sums[i].repeat = r.from(lowest), v.outs
		for _, o := range offsetsOf(f, sums[i].kernel) {
			for out := range v.outs {
				sums[i].terms = append(sums[i].terms, (out*f.Size+o)*f.Elem)
			}
		}
		sums[i].depth = len(sums[i].terms)
		from := v.selected(r, all)
		to := ir.View{Ptr: at, DType: w.DType, Shape: from.Shape, Strides: ir.ContiguousStrides(from.Shape)}
		tile.Copy(to, from)
		used += from.NumElements() * size
	}
	return sums, block
}

func (v *convolution) correlationOf(r *residue, weight unsafe.Pointer) correlation {
	return correlation{rows: v.channels, groups: v.groups, weight: weight, windows: r.extent, terms: make([]int, 0, v.outs*v.places)}
}

// from returns the sources of a residue's places, counted from the lowest one.
func (r *residue) from(lowest []int) [][]int {
	list := make([][]int, len(r.sources))
	for a, sources := range r.sources {
		for _, s := range sources {
			list[a] = append(list[a], s-lowest[a])
		}
	}
	return list
}

// selected returns the places of a residue of the transposed weight all, [groups,
// channels * places, outs].
func (v *convolution) selected(r *residue, all ir.View) ir.View {
	from := ir.View{Ptr: all.Ptr, DType: all.DType, Shape: []int{v.groups * v.channels}, Strides: []int{v.places * v.outs}}
	step := v.places * v.outs
	for a, k := range r.kernel {
		step /= v.kernel[a]
		stride := step
		if len(k) > 0 {
			from.Ptr = unsafe.Add(from.Ptr, k[0]*step*all.DType.Size())
		}
		if len(k) > 1 {
			stride *= k[1] - k[0]
		}
		from.Shape, from.Strides = append(from.Shape, len(k)), append(from.Strides, stride)
	}
	from.Shape, from.Strides = append(from.Shape, v.outs), append(from.Strides, 1)
	return from
}

// interleave computes residues that differ in the last axis, whose elements lie in
// turns in rows of out. One that has no places of the kernel has no correlator.
func interleave[T float](v *convolution, list []residue, sums []correlator, data unsafe.Pointer, images int, out unsafe.Pointer) {
	size, last := int(unsafe.Sizeof(T(0))), len(v.in)-1
	planes, elements := images*v.groups*v.channels, 0
	parts := make([]unsafe.Pointer, len(list))
	for i := range list {
		elements += planes * ir.NumElements(list[i].extent)
	}
	block := scratch.Get(elements * size)
	defer block.Put()
	used := 0
	for i := range list {
		n := planes * ir.NumElements(list[i].extent)
		parts[i] = unsafe.Add(block.Ptr(), used)
		if used += n * size; sums[i] == nil {
			clear(unsafe.Slice((*T)(parts[i]), n))
			continue
		}
		sums[i].run(data, images, parts[i])
	}
	extent, width := list[0].extent[:last], v.in[last]
	rows := ir.NumElements(extent)
	pool.For(planes*rows, max(1, moveWork/width), func(lo, hi int) {
		from := make([]unsafe.Pointer, len(list))
		for ; lo < hi; lo++ {
			row, step, rest := 0, 1, lo%rows
			for a := last - 1; a >= 0; a-- {
				row += (list[0].first[a] + rest%extent[a]*v.stride[a]) * step
				rest, step = rest/extent[a], step*v.in[a]
			}
			for i := range from {
				from[i] = unsafe.Add(parts[i], lo*list[i].extent[last]*size)
			}
			to := unsafe.Add(out, (lo/rows*v.inSize+row*width)*size)
			conv.Interleave(unsafe.Slice((*T)(to), width), from)
		}
	})
}
