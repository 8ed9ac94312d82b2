package opaque

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A convolution is the geometry shared by a convolution and its gradients. For
// every group of every image it is a product of the group's weight, [out,
// channels * places of the kernel], with the image's windows, which are read where
// they lie: in a copy of the image with its padding.
type convolution struct {
	in, out, kernel           []int // extents along each spatial axis
	stride, padding, dilation []int
	images, groups            int
	channels, outs            int // in each group
	places                    int // in the kernel
	inSize                    int // elements of one channel of the input
	outSize                   int // windows: elements of one channel of the result
	direct                    bool

	kept   *ir.Kept       // beside the weight, or nil
	weight unsafe.Pointer // that it is kept of
	then   func(Block)    // nil where nothing follows
}

// newConvolution reads the geometry: shapes of x, weight and result, and
// attributes stride, padding, dilation and groups from attribute first on.
func newConvolution(c *ir.Call, x, weight, out []int, first int) *convolution {
	a := c.Attrs[first:]
	v := &convolution{
		in: x[2:], out: out[2:], kernel: weight[2:], padding: a[1].Ints, dilation: a[2].Ints,
		images: x[0], groups: int(a[3].Int),
		channels: weight[1], places: ir.NumElements(weight[2:]),
		inSize: ir.NumElements(x[2:]), outSize: ir.NumElements(out[2:]),
	}
	v.stride = stridesOf(v.out, v.kernel, a[0].Ints, v.dilation)
	v.outs = weight[0] / max(v.groups, 1)
	v.direct = v.places == 1
	for i := range v.in {
		v.direct = v.direct && v.in[i] == v.out[i] && v.padding[i] == 0
	}
	return v
}

// lean returns c without the axes along which there is one place of the image, of the
// kernel and of the result, but for one of them: to the others they are rows of one
// window each. Stride, padding and dilation are attributes from first on.
func lean(c *ir.Call, first int) *ir.Call {
	views := [3]*ir.View{&c.In[0], &c.In[1], &c.Out[0]}
	var kept []int
	for a, p := range c.Attrs[first+1].Ints {
		if p != 0 || views[0].Shape[2+a] != 1 || views[1].Shape[2+a] != 1 || views[2].Shape[2+a] != 1 {
			kept = append(kept, a)
		}
	}
	if n := len(views[0].Shape) - 2; len(kept) == n || n == 1 {
		return c
	}
	if len(kept) == 0 {
		kept = []int{0}
	}
	of := func(list []int, lead int) []int {
		out := append(make([]int, 0, lead+len(kept)), list[:lead]...)
		for _, a := range kept {
			out = append(out, list[lead+a])
		}
		return out
	}
	l := *c
	l.Attrs = slices.Clone(c.Attrs)
	for i := first; i < first+3; i++ {
		l.Attrs[i].Ints = of(c.Attrs[i].Ints, 0)
	}
	l.In, l.Out = slices.Clone(c.In), slices.Clone(c.Out)
	for _, v := range []*ir.View{&l.In[0], &l.In[1], &l.Out[0]} {
		v.Shape, v.Strides = of(v.Shape, 2), of(v.Strides, 2)
	}
	return &l
}

// terms returns how many products an element of the result is the sum of.
func (v *convolution) terms() int { return v.channels * v.places }

// A convFunc computes a convolution or a gradient of one. The result is contiguous
// and of the compute dtype; operands are of any layout and floating dtype.
type convFunc func(v *convolution, a, b, out ir.View)

// convolve runs f on c's operands in the compute dtype.
func convolve(c *ir.Call, t *table[convFunc], v *convolution) error {
	f, err := t.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(v, c.In[0], c.In[1], d)
	tile.Finish(c.Out[0], d)
	return nil
}

// framed is how many bytes of images are laid out at once for a processor, so that its
// cache holds them.
const framed = 1 << 20

// room returns how many bytes of images are laid out at once for so many processors. The
// weight, where it is larger, takes longer to read again for every part of them.
func (v *convolution) room(procs int, dtype ir.DType) int {
	return max(procs*framed, v.groups*v.outs*v.terms()*dtype.Size())
}

// A layout is how images of so many channels are laid out for windows.
type layout struct {
	frame    *conv.Frame
	source   conv.Source
	view     ir.View
	channels int // of an image
	images   int // laid out at once
	dtype    ir.DType
}

// newLayout returns the layout of the images in view, [images, channels,
// spatial...], of about so many bytes at once.
func newLayout(frame *conv.Frame, view ir.View, dtype ir.DType, room int) *layout {
	l := &layout{frame: frame, view: view, channels: view.Shape[1], dtype: dtype}
	l.source = conv.Source{DType: view.DType, Want: dtype, Strides: view.Strides[2:]}
	l.images = min(view.Shape[0], max(1, room/max(1, l.image())))
	return l
}

// image returns how many bytes the frames of an image have.
func (l *layout) image() int { return l.channels * l.frame.Size * l.frame.Elem }

// each lays out images, as many at a time as it has room for, and calls f with
// those there are: from first on, at data.
func (l *layout) each(f func(data unsafe.Pointer, first, images int)) {
	block := scratch.Get(l.images * l.image())
	defer block.Put()
	for first := 0; first < l.view.Shape[0]; first += l.images {
		n := min(l.images, l.view.Shape[0]-first)
		l.fill(block.Ptr(), first, n)
		f(block.Ptr(), first, n)
	}
}

// fill lays out n images at data.
func (l *layout) fill(data unsafe.Pointer, first, n int) {
	size := l.frame.Size * l.frame.Elem
	pool.For(n*l.channels, max(1, moveWork/max(1, l.frame.Size)), func(lo, hi int) {
		for lo < hi {
			u, c := lo/l.channels, lo%l.channels
			planes := min(hi-lo, l.channels-c)
			at := (first+u)*l.view.Strides[0] + c*l.view.Strides[1]
			l.frame.Fill(unsafe.Add(data, lo*size), unsafe.Add(l.view.Ptr, at*l.view.DType.Size()), &l.source, planes, l.view.Strides[1])
			lo += planes
		}
	})
}

// windowsOf returns the layout of the convolution's input, and where the terms of a
// window lie in the channels of a group, in bytes. Which images are laid out at once
// depends on procs: sums over them ask for those of one processor.
func (v *convolution) windowsOf(x ir.View, dtype ir.DType, procs int) (l *layout, terms []int) {
	f, terms := v.frameOf(placesOf(v.kernel, v.dilation), dtype)
	return newLayout(f, x, dtype, v.room(procs, dtype)), terms
}

// frameOf returns the frame of a channel of the input, whose kernel has the given places, and
// where the terms of a window lie in the channels of a group, in bytes.
func (v *convolution) frameOf(places [][]int, dtype ir.DType) (f *conv.Frame, terms []int) {
	f = conv.NewFrame(v.in, v.padding, v.out, v.stride, places, dtype.Size())
	terms = make([]int, 0, v.terms())
	offsets := offsetsOf(f, places)
	for c := range v.channels {
		for _, o := range offsets {
			terms = append(terms, (c*f.Size+o)*f.Elem)
		}
	}
	return f, terms
}

// offsetsOf returns the offsets of a kernel's places in a frame, in row-major
// order.
func offsetsOf(f *conv.Frame, places [][]int) []int {
	n := 1
	for _, p := range places {
		n *= len(p)
	}
	offsets, place := make([]int, n), make([]int, len(places))
	for i := range offsets {
		at := i
		for a := len(places) - 1; a >= 0; a-- {
			place[a] = places[a][at%len(places[a])]
			at /= len(places[a])
		}
		offsets[i] = f.Offset(place)
	}
	return offsets
}

var convolutions = table[convFunc]{ir.Float32: padded[float32], ir.Float64: padded[float64]}

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...]. Attributes: stride, padding, dilation
// and groups.
func Convolution(c *ir.Call) error {
	return ConvolutionThen(c, nil)
}

// keeping returns the geometry of a convolution whose weight may be kept in other forms.
func keeping(c *ir.Call) *convolution {
	v := newConvolution(c, c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape, 0)
	v.kept, v.weight = c.KeptOf(1), c.In[1].Ptr
	return v
}

// keptOf returns what is kept beside a weight, nil where it is a copy.
func (v *convolution) keptOf(weight unsafe.Pointer) *ir.Kept {
	if weight != v.weight {
		return nil
	}
	return v.kept
}

// ConvolutionBias is Convolution with a third operand, of one axis, that is added to each
// channel before the result is rounded.
func ConvolutionBias(c *ir.Call) error { return ConvolutionThen(c, nil) }

func forward[T float](v *convolution, x, weight, out ir.View) {
	if v.terms() == 0 {
		clear(tile.Elements[T](out))
		v.finish(v.whole())
		return
	}
	if v.few() {
		convolveFew[T](v, x, tile.Dense(weight, out.DType).Ptr, out)
		return
	}
	if v.narrow() {
		convolveNarrow[T](v, x, tile.Dense(weight, out.DType).Ptr, out)
		return
	}
	if u := v.unfold(); u != nil {
		forward[T](u.to, unfolded[T](u, x, out.DType), weight, out)
		return
	}
	w := tile.Dense(weight, out.DType)
	if v.winograd(out.DType) {
		convolveWinograd(v, x, w.Ptr, out.Ptr)
		return
	}
	if v.winogradLine(out.DType) {
		convolveWinogradLine(v, x, w.Ptr, out.Ptr)
		return
	}
	if v.plain(out.DType) {
		s := correlation{rows: v.outs, groups: v.groups, depth: v.terms(), weight: w.Ptr, windows: v.out, then: v.then}
		correlateRows[T](&s, tile.Dense(x, out.DType).Ptr, v.images, out.Ptr)
		return
	}
	if bands := v.bands(out.DType); bands > 1 {
		banded[T](v, x, w.Ptr, out, bands)
		return
	}
	correlateFrames[T](v, x, w.Ptr, out.DType, out.Ptr, v.outSize)
}

// correlateFrames sets out, whose channels are pitch elements apart, to the convolution of
// images that are laid out in frames.
func correlateFrames[T float](v *convolution, x ir.View, weight unsafe.Pointer, dtype ir.DType, out unsafe.Pointer, pitch int) {
	g := geometryOf(v, dtype)
	l := newLayout(g.frame, x, dtype, v.room(runtime.GOMAXPROCS(0), dtype))
	s := correlation{rows: v.outs, groups: v.groups, depth: v.terms(), weight: weight, terms: g.terms, windows: v.out, pitch: pitch}
	s.kernel, s.repeat, s.geometry, s.kept, s.then = g.kernel, 1, g, v.keptOf(weight), v.then
	correlate := newCorrelator[T](&s, l)
	defer correlate.end()
	l.each(func(data unsafe.Pointer, first, images int) {
		s.first = first
		correlate.run(data, images, unsafe.Add(out, first*v.groups*v.outs*pitch*dtype.Size()))
	})
}

// plain reports whether windows are the elements of the image, which is then
// multiplied as it lies in memory.
func (v *convolution) plain(dtype ir.DType) bool {
	return v.direct && (v.images == 1 || !ragged(v.outSize, dtype.Size()))
}

// ragged reports whether so many windows waste more than a thirty-second part of
// the vectors that they end in.
func ragged(windows, size int) bool {
	vector := 32 / size
	if simd.Active() >= simd.AVX512 {
		vector *= 2
	}
	return 32*((windows+vector-1)/vector*vector-windows) > windows
}

// A correlation is sums of products of weights with the windows over images: of each
// group's weight, [rows, terms], with those over the group's channels.
type correlation struct {
	rows, groups int
	depth        int            // terms
	weight       unsafe.Pointer // [groups, rows, terms], contiguous
	places       int            // unless 0 it is [groups, terms/places, rows, places]
	terms        []int          // where they lie in a group's frames, in bytes; nil where there are none
	kernel       [][]int        // the places along each axis that they are of
	repeat       int            // terms of a place that follow one another
	windows      []int          // along each axis
	pitch        int            // elements of out from a row to the next; 0: those of the windows
	geometry     *geometry      // which keeps how it is cut into tiles; nil where nothing does
	kept         *ir.Kept       // beside the weight; nil where nothing is
	then         func(Block)    // called for each finished block; may be nil
	first        int            // which image the first one is to it
}

const (
	// chunkWindows is how many windows a product has about, which reads them where they
	// are. Of windows with few terms there are more, up to mostWindows, that have as many
	// bytes.
	chunkWindows = 256
	chunkBytes   = 256 * 1024
	mostWindows  = 1024
	// thenBytes is how many bytes of the result a product has about where something follows it,
	// so that these stay in the second cache. It has fewer rows then: long pieces of rows are
	// read faster from memory than many short ones.
	thenBytes = 256 * 1024
	// fewRows is how many rows a product has at least where there are more of them.
	fewRows = 64
)

// A multiplication is how a correlation over images in memory, [images, groups, terms,
// windows], is cut into products, each of some rows and of neighbouring windows.
type multiplication[T float] struct {
	*correlation
	data, out unsafe.Pointer
	size      int // windows of an image
	across    int // pieces of these
	down      int // pieces of the rows
	stretch   int // of products
}

// correlateRows sets out, [images, groups, rows, windows], to the correlation over images
// in memory.
func correlateRows[T float](s *correlation, data unsafe.Pointer, images int, out unsafe.Pointer) {
	m := multiplication[T]{correlation: s, data: data, out: out, size: ir.NumElements(s.windows)}
	units := images * s.groups
	m.cut(units)
	work := s.rows * s.depth * m.size / (m.across * m.down)
	pool.For(units*m.across*m.down, max(1, mulWork/max(1, work)), m.run)
}

// cut chooses the pieces of so many images and groups.
func (m *multiplication[T]) cut(units int) {
	size := int(unsafe.Sizeof(T(0)))
	chunk := min(max(chunkWindows, chunkBytes/(m.depth*size)), mostWindows)
	m.across, m.down = (m.size+chunk-1)/chunk, 1
	whole := m.product(0, 0, m.rows, 0, min(m.size, chunk))
	m.stretch = whole.BestStretch() // whatever processors there are
	if m.size <= fewWindowRows {
		return // how its sums round depends on where it is cut, which it knows itself
	}
	m.spread(units, runtime.GOMAXPROCS(0))
	if m.then != nil {
		m.down = max(m.down, min((m.rows*m.size*size/m.across+thenBytes-1)/thenBytes, m.rows/fewRows))
	}
}

// spread makes as many pieces of so many images and groups as so many processors need.
func (m *multiplication[T]) spread(units, procs int) {
	if procs == 1 {
		return
	}
	panels := m.size / (4 * gemm.PanelColumns[T]())
	if units*m.across < 3*procs {
		m.across = max(m.across, min((3*procs+units-1)/units, panels))
	}
	if units*m.across < 8*procs && units%procs != 0 {
		m.across = evenly(m.across, panels, procs)
	}
	pieces := units * m.across
	if m.down = max(1, min(2*procs/pieces, m.rows/fewRows)); pieces*m.down < 8*procs && pieces%procs != 0 {
		m.down = evenly(m.down, max(m.down, min(procs, 2*m.rows/fewRows)), procs)
	}
}

// product returns that of rows [first, last) with windows [lo, hi) of an image's group.
func (m *multiplication[T]) product(unit, first, last, lo, hi int) gemm.Product[T] {
	size := int(unsafe.Sizeof(T(0)))
	p := gemm.Product[T]{M: last - first, N: hi - lo, K: m.depth, Stretch: m.stretch, Serial: m.size > fewWindowRows}
	p.A = gemm.Matrix{Ptr: unsafe.Add(m.weight, (unit%m.groups*m.rows+first)*m.depth*size), Row: m.depth, Col: 1}
	if m.places > 0 {
		p.A = gemm.Matrix{Ptr: unsafe.Add(m.weight, (unit%m.groups*m.rows*m.depth+first)*size), Row: 1, Col: m.rows}
	}
	p.B = gemm.Matrix{Ptr: unsafe.Add(m.data, (unit*m.depth*m.size+lo)*size), Row: m.size, Col: 1}
	p.C = gemm.Matrix{Ptr: unsafe.Add(m.out, ((unit*m.rows+first)*m.size+lo)*size), Row: m.size, Col: 1}
	return p
}

// run computes pieces [from, to).
func (m *multiplication[T]) run(from, to int) {
	panel := gemm.PanelColumns[T]()
	for ; from < to; from++ {
		r := from % m.down
		lo, hi := portion(m.size, panel, m.across, from/m.down%m.across)
		unit, first, last := from/(m.across*m.down), r*m.rows/m.down, (r+1)*m.rows/m.down
		p := m.product(unit, first, last, lo, hi)
		p.Run()
		m.finish(unit, first, last, lo, hi)
	}
}

// isSparse reports whether it takes less time to compute rows one by one, with windows
// for lanes, than blocks of them.
func (s *correlation) isSparse(size int) bool {
	level := simd.Active()
	lanes := conv.Lanes(level, size) / 2
	waste := conv.Waste(level, size, s.windows[len(s.windows)-1])
	idle := float64((s.rows+lanes-1)/lanes*lanes)/float64(s.rows) - 1
	return s.rows <= sparseRows || s.rows*s.depth <= sparseWeights && (waste < idle || waste*float64(s.depth) < turning)
}

const (
	// sparseRows is how many rows a block has at least.
	sparseRows = 4
	// sparseWeights is how many weights stay in a cache, while windows are read.
	sparseWeights = 40 * 1024
	// bandBytes is how much of images is read for all rows before the rest is, so that it
	// stays in the second cache.
	bandBytes = 384 * 1024
	// turning is how many terms take as long as turning the sums of a block.
	turning = 16
)

// A correlator sets out, [images, groups, rows, windows], to a correlation over images
// that are laid out at data. End gives back its memory.
type correlator interface {
	run(data unsafe.Pointer, images int, out unsafe.Pointer)
	end()
}

func newCorrelator[T float](s *correlation, l *layout) correlator {
	if s.isSparse(int(unsafe.Sizeof(T(0)))) {
		p := conv.Product[T]{Plane: conv.NewPlane(l.frame, s.windows, simd.Active()), Rows: s.rows, Terms: s.terms}
		p.Pitch, p.Band = s.pitch, max(1, bandBytes*p.Plane.Pieces()/max(1, l.image()/s.groups))
		return &sparse[T]{s, l, p}
	}
	return newTiling[T](s, l)
}

// A sparse correlation is computed row by row.
type sparse[T float] struct {
	*correlation
	l       *layout
	product conv.Product[T]
}

func (s *sparse[T]) end() {}

func (s *sparse[T]) run(data unsafe.Pointer, images int, out unsafe.Pointer) {
	size := int(unsafe.Sizeof(T(0)))
	n := ir.NumElements(s.windows)
	group := s.l.channels / s.groups * s.l.frame.Size * size
	parts := 1 // of the windows
	if procs := runtime.GOMAXPROCS(0); images*s.groups < 4*procs {
		parts = min(s.product.Plane.Pieces(), (4*procs+images*s.groups-1)/(images*s.groups))
	}
	pool.For(images*s.groups*parts, max(1, mulWork/max(1, s.rows*s.depth*n/parts)), func(from, to int) {
		var g gathered
		defer g.flush(s.correlation)
		for ; from < to; from++ {
			u := from / parts
			weight := unsafe.Add(s.weight, u%s.groups*s.rows*s.depth*size)
			s.product.Run(unsafe.Add(out, u*s.rows*max(n, s.pitch)*size), weight, unsafe.Add(data, u*group), from%parts, parts, func(r0, r1, w0, w1 int) {
				if r1-r0 < s.rows || w1-w0 < n {
					s.finish(u, r0, r1, w0, w1)
				} else {
					g.add(s.correlation, u, n)
				}
			})
		}
	})
}

// portion returns the i-th of so many portions of n columns, each of whole panels.
func portion(n, panel, portions, i int) (lo, hi int) {
	panels := (n + panel - 1) / panel
	return min(i*panels/portions*panel, n), min((i+1)*panels/portions*panel, n)
}
