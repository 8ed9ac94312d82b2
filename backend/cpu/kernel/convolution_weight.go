package kernel

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
	return convolve(c, &gradWeights, newConvolution(c, c.In[1].Shape, c.Out[0].Shape, c.In[0].Shape, 1))
}

const (
	// parts is how many sums over images are kept apart at most, so that
	// processors can share the work: a constant, so that rounding is too.
	parts = 16
	// partElements bounds the memory of these sums.
	partElements = 4 << 20
	// sparseSums is how many sums a group has at most where they are products of
	// vectors, and not of matrices.
	sparseSums = 320
	// fewOuts is how many outputs a group has at most where the windows, of which
	// there is a row for each term, are what products have for rows. It takes less
	// time to pack them so, and the product is transposed in the end.
	fewOuts = 192
	// plainWindows is how many windows of one element an image has at least that is
	// multiplied as it lies in memory.
	plainWindows = 512
	// chunkTerms is how many terms products have about.
	chunkTerms = 256
)

func gradWeight[T float](v *convolution, g, x, out ir.View) {
	dst := tile.Elements[T](out)
	if g.NumElements() == 0 || x.NumElements() == 0 {
		clear(dst)
		return
	}
	if u := v.unfold(); u != nil {
		gradWeight[T](u.to, g, unfolded[T](u, x, out.DType), out)
		return
	}
	s := weightSum[T]{v: v, terms: v.terms()}
	plain := v.direct && v.outSize >= plainWindows
	s.upright = v.outs > fewOuts || v.outs*s.terms <= sparseSums
	if plain {
		s.upright = s.terms <= v.outs // what products have for columns is copied
	}
	sum := dst
	if !s.upright {
		room := scratch.Get(len(dst) * out.DType.Size())
		defer room.Put()
		sum = scratch.Slice[T](room, len(dst))
	}
	if plain {
		s.images = v.images
		s.xData, s.gData = tile.Dense(x, out.DType).Ptr, tile.Dense(g, out.DType).Ptr
		s.run(sum)
	} else {
		s.layOut(x, g, out.DType, sum)
	}
	if s.upright {
		return
	}
	flat := ir.View{Ptr: out.Ptr, DType: out.DType, Shape: []int{v.groups, v.outs, s.terms}}
	flat.Strides = ir.ContiguousStrides(flat.Shape)
	across := ir.View{Ptr: unsafe.Pointer(&sum[0]), DType: out.DType, Shape: flat.Shape, Strides: []int{s.terms * v.outs, 1, v.outs}}
	tile.Copy(flat, across)
}

// layOut computes the sum over images that are laid out for it.
func (s *weightSum[T]) layOut(x, g ir.View, dtype ir.DType, sum []T) {
	v := s.v
	s.x, s.places = v.windowsOf(x, dtype)
	ones, none := make([]int, len(v.out)), make([]int, len(v.out))
	zero := make([][]int, len(v.out))
	for a := range ones {
		ones[a], zero[a] = 1, []int{0}
	}
	s.g = newLayout(conv.NewFrame(v.out, none, v.out, ones, zero, dtype.Size()), g, dtype)
	s.g.images = s.x.images
	block := scratch.Get(s.g.images * s.g.image())
	defer block.Put()
	s.gData = block.Ptr()
	s.x.each(func(data unsafe.Pointer, first, images int) {
		s.g.fill(s.gData, first, images)
		s.xData, s.images, s.add = data, images, first > 0
		s.run(sum)
	})
}

// A weightSum is the sum over some images that the gradient of a weight is made
// of.
type weightSum[T float] struct {
	v            *convolution
	terms        int
	x, g         *layout // nil where both are contiguous
	places       []int   // where the terms lie in a group's frames, in bytes
	xData, gData unsafe.Pointer
	images       int
	upright      bool // [groups, outs, terms]; else terms come before outs
	add          bool // to what is there
}

// run computes the sum, apart for some images at a time where there is little else
// to share among processors.
func (s *weightSum[T]) run(dst []T) {
	v := s.v
	if s.x != nil && v.outs*s.terms <= sparseSums {
		s.dots(dst)
		return
	}
	chunks := max(1, s.terms/chunkTerms)
	n := 1
	if v.groups*chunks < parts {
		n = max(1, min(s.images, parts/(v.groups*chunks), partElements/len(dst)))
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
	work := v.outs * s.terms * v.outSize * s.images / (chunks * n)
	pool.For(n*v.groups*chunks, max(1, mulWork/max(1, work)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			p, group := lo/(v.groups*chunks), lo/chunks%v.groups
			from, to := portion(s.terms, gemm.PanelColumns[T](), chunks, lo%chunks)
			s.product(sums[p], group, from, to, p*s.images/n, (p+1)*s.images/n, s.add && p == 0)
		}
	})
	pool.For(len(dst), moveWork, func(lo, hi int) {
		for _, sum := range sums[1:] {
			conv.Add(simd.Active(), sum[lo:hi], dst[lo:hi])
		}
	})
}

// product computes what images [first, last) give to terms [from, to) of a group's
// weight.
func (s *weightSum[T]) product(sum []T, group, from, to, first, last int, add bool) {
	v, size := s.v, int(unsafe.Sizeof(T(0)))
	terms := s.terms
	sum = sum[group*v.outs*terms:]
	if s.x == nil {
		s.rows(sum, group, from, to, first, last, add)
		return
	}
	x := conv.NewColumns(s.x.frame, nil, s.x.image(), s.places[from:to], v.out)
	x.Data = unsafe.Add(s.xData, first*s.x.image()+group*v.channels*s.x.frame.Size*size)
	plane := s.g.frame.Size * size
	outs := make([]int, v.outs)
	for o := range outs {
		outs[o] = o * plane
	}
	g := conv.NewColumns(s.g.frame, nil, s.g.image(), outs, v.out)
	g.Data = unsafe.Add(s.gData, first*s.g.image()+group*v.outs*plane)
	p := gemm.Product[T]{K: v.outSize * (last - first), Serial: true, Add: add}
	if s.upright {
		p.M, p.N = v.outs, to-from
		p.PackB = x.PackT
		p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from]), Row: terms, Col: 1}
		if p.PackA = g.PackRows; last-first == 1 {
			p.A, p.PackA = gemm.Matrix{Ptr: g.Data, Row: s.g.frame.Size, Col: 1}, nil
		}
	} else {
		p.M, p.N = to-from, v.outs
		p.PackA, p.PackB = x.PackRows, g.PackT
		p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from*v.outs]), Row: v.outs, Col: 1}
	}
	p.Run()
}

// rows is product where the rows of both lie in memory as they are multiplied.
func (s *weightSum[T]) rows(sum []T, group, from, to, first, last int, add bool) {
	v, n, size := s.v, s.v.outSize, int(unsafe.Sizeof(T(0)))
	for u := first; u < last; u++ {
		x := gemm.Matrix{Ptr: unsafe.Add(s.xData, ((u*v.groups+group)*v.channels+from)*n*size), Row: n, Col: 1}
		g := gemm.Matrix{Ptr: unsafe.Add(s.gData, (u*v.groups+group)*v.outs*n*size), Row: n, Col: 1}
		p := gemm.Product[T]{M: v.outs, N: to - from, K: n, A: g, B: x.T(), Serial: true, Add: add || u > first}
		p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from]), Row: s.terms, Col: 1}
		if !s.upright {
			p.M, p.N, p.A, p.B = to-from, v.outs, x, g.T()
			p.C = gemm.Matrix{Ptr: unsafe.Pointer(&sum[from*v.outs]), Row: v.outs, Col: 1}
		}
		p.Run()
	}
}

// dots computes the sum for groups with few terms and outputs.
func (s *weightSum[T]) dots(dst []T) {
	v, size := s.v, int(unsafe.Sizeof(T(0)))
	d := conv.NewDots[T](conv.NewPlane(s.x.frame, v.out, simd.Active()), s.places)
	terms := s.terms
	pool.For(v.groups*v.outs, max(1, mulWork/max(1, terms*v.outSize*s.images)), func(lo, hi int) {
		block := scratch.Get((d.Len() + terms) * size)
		defer block.Put()
		partial := scratch.Slice[T](block, d.Len()+terms)
		partial, sums := partial[:d.Len()], partial[d.Len():]
		for i := lo; i < hi; i++ {
			clear(partial)
			for u := range s.images {
				g := unsafe.Add(s.gData, u*s.g.image()+i*s.g.frame.Size*size)
				d.Add(partial, g, unsafe.Add(s.xData, u*s.x.image()+i/v.outs*v.channels*s.x.frame.Size*size))
			}
			d.Sums(sums, partial)
			for t, sum := range sums {
				if s.add {
					sum += dst[i*terms+t]
				}
				dst[i*terms+t] = sum
			}
		}
	})
}
