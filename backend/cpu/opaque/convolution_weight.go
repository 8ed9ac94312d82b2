package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

var gradWeights = table[convFunc]{ir.Float32: gradWeight[float32], ir.Float64: gradWeight[float64]}

// ConvolutionGradWeight returns the gradient of a convolution with respect to its
// weight, from the gradient g of its result and the input x. Attributes: kernel,
// the weight's shape, then those of Convolution.
func ConvolutionGradWeight(c *ir.Call) error {
	c = lean(c, 1)
	return convolve(c, &gradWeights, newConvolution(c, c.In[1].Shape, c.Out[0].Shape, c.In[0].Shape, 1))
}

const (
	// parts is how many sums over images are kept apart at most, so that
	// processors can share the work: a constant, so that rounding is too.
	parts = 16
	// partElements bounds the memory of these sums.
	partElements = 4 << 20
	// sparseSums is how many sums a group has at most where they are products of
	// vectors.
	sparseSums = 320
	// plainWindows is how many windows of one element an image has at least that is
	// multiplied as it lies in memory.
	plainWindows = 512
	// chunkTerms is how many terms such products have about.
	chunkTerms = 256
)

func gradWeight[T float](v *convolution, g, x, out ir.View) {
	if g.NumElements() == 0 || x.NumElements() == 0 {
		clear(tile.Elements[T](out))
		return
	}
	if u := v.unfold(); u != nil {
		gradWeight[T](u.to, g, unfolded[T](u, x, out.DType), out)
		return
	}
	s := weightSum[T]{v: v, dtype: out.DType, terms: v.terms(), g: tile.Dense(g, out.DType).Ptr}
	switch {
	case v.direct && v.outSize >= plainWindows:
		s.multiply(tile.Dense(x, out.DType).Ptr, out)
	case v.outs*s.terms <= sparseSums:
		s.dots(x, tile.Elements[T](out))
	default:
		s.tiles(x, tile.Elements[T](out))
	}
}

// A weightSum is the sum over images that the gradient of a weight is made of.
type weightSum[T float] struct {
	v     *convolution
	dtype ir.DType
	terms int            // of a group
	g     unsafe.Pointer // contiguous
}

// A weightProduct is the sum as products of matrices, of which rows lie in memory as
// they are multiplied.
type weightProduct[T float] struct {
	weightSum[T]
	x       unsafe.Pointer
	upright bool // the result is [groups, outs, terms]; else terms come before outs
	stretch int  // of products
}

// multiply sets out to the sum over images in memory.
func (s *weightSum[T]) multiply(x unsafe.Pointer, out ir.View) {
	v := s.v
	p := weightProduct[T]{weightSum: *s, x: x, upright: s.terms <= v.outs} // what products have for columns is copied
	if p.upright {
		p.run(tile.Elements[T](out))
		return
	}
	room := scratch.Get(out.NumElements() * out.DType.Size())
	defer room.Put()
	p.run(scratch.Slice[T](room, out.NumElements()))
	flat := ir.View{Ptr: out.Ptr, DType: out.DType, Shape: []int{v.groups, v.outs, s.terms}}
	flat.Strides = ir.ContiguousStrides(flat.Shape)
	across := ir.View{Ptr: room.Ptr(), DType: out.DType, Shape: flat.Shape, Strides: []int{s.terms * v.outs, 1, v.outs}}
	tile.Copy(flat, across)
}

// run computes the sum, apart for some images at a time where there is little else
// to share among processors.
func (s *weightProduct[T]) run(dst []T) {
	v := s.v
	chunks := max(1, s.terms/chunkTerms)
	whole := s.product(dst, 0, 0, 0, (s.terms+chunks-1)/chunks)
	s.stretch = whole.BestStretch() // whatever processors there are
	n := 1
	if v.groups*chunks < parts {
		n = max(1, min(v.images, parts/(v.groups*chunks), partElements/len(dst)))
	}
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		panels := max(1, s.terms/(2*gemm.PanelColumns[T]()))
		chunks = min(panels, max(chunks, 4*procs/(v.groups*n)))
		if v.groups*n%procs != 0 { // as much for all
			chunks = min(panels, (chunks+procs-1)/procs*procs)
		}
	}
	sums := make([][]T, n)
	sums[0] = dst
	block := scratch.Get((n - 1) * len(dst) * int(unsafe.Sizeof(T(0))))
	defer block.Put()
	for p := 1; p < n; p++ {
		sums[p] = scratch.Slice[T](block, (n-1)*len(dst))[(p-1)*len(dst) : p*len(dst)]
	}
	work := v.outs * s.terms * v.outSize * v.images / (chunks * n)
	pool.For(n*v.groups*chunks, max(1, mulWork/max(1, work)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			p, group := lo/(v.groups*chunks), lo/chunks%v.groups
			from, to := portion(s.terms, gemm.PanelColumns[T](), chunks, lo%chunks)
			s.add(sums[p][group*v.outs*s.terms:], group, from, to, p*v.images/n, (p+1)*v.images/n)
		}
	})
	pool.For(len(dst), moveWork, func(lo, hi int) {
		for _, sum := range sums[1:] {
			conv.Add(simd.Active(), sum[lo:hi], dst[lo:hi])
		}
	})
}

// add sets sum to what images [first, last) give to terms [from, to) of a group's
// weight.
func (s *weightProduct[T]) add(sum []T, group, from, to, first, last int) {
	for u := first; u < last; u++ {
		p := s.product(sum, group, u, from, to)
		p.Add = u > first
		p.Run()
	}
}

// product returns what an image gives to terms [from, to) of a group's weight, sum.
func (s *weightProduct[T]) product(sum []T, group, image, from, to int) gemm.Product[T] {
	v, n, size := s.v, s.v.outSize, int(unsafe.Sizeof(T(0)))
	x := gemm.Matrix{Ptr: unsafe.Add(s.x, ((image*v.groups+group)*v.channels+from)*n*size), Row: n, Col: 1}
	g := gemm.Matrix{Ptr: unsafe.Add(s.g, (image*v.groups+group)*v.outs*n*size), Row: n, Col: 1}
	p := gemm.Product[T]{M: v.outs, N: to - from, K: n, A: g, B: x.T(), Stretch: s.stretch, Serial: true}
	p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from]), Row: s.terms, Col: 1}
	if !s.upright {
		p.M, p.N, p.A, p.B = to-from, v.outs, x, g.T()
		p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from*v.outs]), Row: v.outs, Col: 1}
	}
	return p
}

// dots sets dst to the sum for groups with few terms and outputs.
func (s *weightSum[T]) dots(x ir.View, dst []T) {
	v, size := s.v, int(unsafe.Sizeof(T(0)))
	l, places := v.windowsOf(x, s.dtype, 1)
	d := conv.NewDots[T](conv.NewPlane(l.frame, v.out, simd.Active()), places)
	terms := s.terms
	l.each(func(data unsafe.Pointer, first, images int) {
		pool.For(v.groups*v.outs, max(1, mulWork/max(1, terms*v.outSize*images)), func(lo, hi int) {
			block := scratch.Get((d.Len() + terms) * size)
			defer block.Put()
			partial := scratch.Slice[T](block, d.Len()+terms)
			partial, sums := partial[:d.Len()], partial[d.Len():]
			for i := lo; i < hi; i++ {
				clear(partial)
				for u := range images {
					g := unsafe.Add(s.g, ((first+u)*v.groups*v.outs+i)*v.outSize*size)
					d.Add(partial, g, unsafe.Add(data, u*l.image()+i/v.outs*v.channels*l.frame.Size*size))
				}
				d.Sums(sums, partial)
				for t, sum := range sums {
					if first > 0 {
						sum += dst[i*terms+t]
					}
					dst[i*terms+t] = sum
				}
			}
		})
	})
}
