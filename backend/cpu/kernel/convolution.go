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

// A convolution is the geometry shared by a convolution and its gradients. For
// every group of every image it is a product of the group's weight, [out,
// channels * places of the kernel], with the image's windows, which are packed
// for the product straight from a copy of the image with its padding.
type convolution struct {
	in, out, kernel           []int // extents along each spatial axis
	stride, padding, dilation []int
	images, groups            int
	channels, outs            int // in each group
	places                    int // in the kernel
	inSize                    int // elements of one channel of the input
	outSize                   int // windows: elements of one channel of the result
	direct                    bool
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

// framed is how many bytes of images are laid out at once, so that a cache holds
// them.
const framed = 4 << 20

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
// spatial...].
func newLayout(frame *conv.Frame, view ir.View, dtype ir.DType) *layout {
	l := &layout{frame: frame, view: view, channels: view.Shape[1], dtype: dtype}
	l.source = conv.Source{DType: view.DType, Want: dtype, Strides: view.Strides[2:]}
	l.images = min(view.Shape[0], max(1, framed/max(1, l.image())))
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
		for ; lo < hi; lo++ {
			at := (first+lo/l.channels)*l.view.Strides[0] + lo%l.channels*l.view.Strides[1]
			l.frame.Fill(unsafe.Add(data, lo*size), unsafe.Add(l.view.Ptr, at*l.view.DType.Size()), &l.source)
		}
	})
}

// windowsOf returns the layout of the convolution's input, and where the terms of
// a window lie in the channels of a group, in bytes.
func (v *convolution) windowsOf(x ir.View, dtype ir.DType) (l *layout, terms []int) {
	places := placesOf(v.kernel, v.dilation)
	f := conv.NewFrame(v.in, v.padding, v.out, v.stride, places, dtype.Size())
	terms = make([]int, 0, v.terms())
	offsets := offsetsOf(f, places)
	for c := range v.channels {
		for _, o := range offsets {
			terms = append(terms, (c*f.Size+o)*f.Elem)
		}
	}
	return newLayout(f, x, dtype), terms
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

var convolutions = table[convFunc]{ir.Float32: forward[float32], ir.Float64: forward[float64]}

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...]. Attributes: stride, padding, dilation
// and groups.
func Convolution(c *ir.Call) error {
	return convolve(c, &convolutions, newConvolution(c, c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape, 0))
}

func forward[T float](v *convolution, x, weight, out ir.View) {
	if v.terms() == 0 {
		clear(tile.Elements[T](out))
		return
	}
	if u := v.unfold(); u != nil {
		forward[T](u.to, unfolded[T](u, x, out.DType), weight, out)
		return
	}
	w := tile.Dense(weight, out.DType)
	s := correlation{rows: v.outs, groups: v.groups, depth: v.terms(), weight: w.Ptr, windows: v.out}
	if v.plain(out.DType) {
		correlate[T](&s, nil, tile.Dense(x, out.DType).Ptr, v.images, out.Ptr)
		return
	}
	var l *layout
	l, s.terms = v.windowsOf(x, out.DType)
	l.each(func(data unsafe.Pointer, first, images int) {
		correlate[T](&s, l, data, images, unsafe.Add(out.Ptr, first*v.groups*v.outs*v.outSize*out.DType.Size()))
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

// A correlation is products of weights with the windows over frames: of each
// group's weight, [rows, terms], with those over the group's channels.
type correlation struct {
	rows, groups int
	depth        int            // terms
	weight       unsafe.Pointer // [groups, rows, terms], contiguous
	transposed   bool           // it is [groups, terms, rows]
	swapped      *conv.Swapped  // or that of the first group, the others following
	terms        []int          // where they lie in a group's frames, in bytes
	windows      []int          // along each axis
}

const (
	// chunkWindows is how many windows a product has about: their panels stay in the
	// second cache, between being packed and being multiplied. Of windows with few
	// terms there are more, up to mostWindows, that have as many bytes.
	chunkWindows = 256
	chunkBytes   = 256 * 1024
	mostWindows  = 1024
	// largeWeight is how many bytes of a weight products copy.
	largeWeight = 512 * 1024
	// deepTerms is how many rows of an image in memory a cache holds, where their
	// distance is not in its favour.
	deepTerms = 128
	// fewRows is how many rows a product has at least: packing takes a small part of
	// its time.
	fewRows = 64
)

// A multiplication is how a correlation is cut into products, each of some rows and
// of windows that are neighbours, of one image or where an image has few of them of
// several.
type multiplication[T float] struct {
	correlation
	l       *layout
	data    unsafe.Pointer // the frames
	out     unsafe.Pointer // of the first image
	images  int
	size    int // windows of an image
	units   int // images, or one for all
	across  int // pieces of the windows of a unit
	down    int // pieces of the rows
	columns int // windows of a unit
}

// correlate sets out, [images, groups, rows, windows], to the correlation over
// images that are laid out, or, without a layout, are [groups, terms, windows].
func correlate[T float](s *correlation, l *layout, data unsafe.Pointer, images int, out unsafe.Pointer) {
	if l != nil && s.sparse(int(unsafe.Sizeof(T(0)))) {
		sumUp[T](s, l, data, images, out)
		return
	}
	m := multiplication[T]{correlation: *s, l: l, data: data, out: out, images: images, size: ir.NumElements(s.windows)}
	m.units, m.columns = images, m.size
	if l != nil && ragged(m.size, int(unsafe.Sizeof(T(0)))) {
		m.units, m.columns = 1, images*m.size
	}
	m.cut()
	work := s.rows * s.depth * m.columns / (m.across * m.down)
	pool.For(m.units*s.groups*m.across*m.down, max(1, mulWork/max(1, work)), m.run)
}

// cut chooses the pieces.
func (m *multiplication[T]) cut() {
	size := int(unsafe.Sizeof(T(0)))
	chunk := min(max(chunkWindows, chunkBytes/(m.depth*size)), mostWindows)
	if m.rows*m.depth*size > largeWeight && simd.Active() >= simd.AVX512 {
		chunk *= 2 // the weight is copied for each
	}
	m.across, m.down = (m.columns+chunk-1)/chunk, 1
	procs, units := runtime.GOMAXPROCS(0), m.units*m.groups
	if procs == 1 {
		return
	}
	panels := m.columns / (4 * gemm.PanelColumns[T]())
	if units*m.across < 3*procs {
		m.across = max(m.across, min((3*procs+units-1)/units, panels))
	}
	if units*m.across < 8*procs && units%procs != 0 { // as much for all
		m.across = max(m.across, min((m.across+procs-1)/procs*procs, panels))
	}
	m.down = max(1, min(2*procs/(units*m.across), m.rows/fewRows))
}

// run computes pieces [from, to).
func (m *multiplication[T]) run(from, to int) {
	size, panel := int(unsafe.Sizeof(T(0))), gemm.PanelColumns[T]()
	p := gemm.Product[T]{K: m.depth, Serial: true}
	cols, image, group := m.laidOut(size)
	if cols != nil {
		p.PackB = cols.Pack
	}
	for ; from < to; from++ {
		u := from / (m.across * m.down)
		g := u % m.groups
		r, x := from%m.down, from/m.down%m.across
		first, last := r*m.rows/m.down, (r+1)*m.rows/m.down
		lo, hi := portion(m.columns, panel, m.across, x)
		p.M, p.N = last-first, hi-lo
		if data := unsafe.Add(m.data, u/m.groups*image+g*group); cols != nil {
			cols.Data, cols.First = data, lo
		} else {
			p.B = gemm.Matrix{Ptr: unsafe.Add(data, lo*size), Row: m.size, Col: 1}
		}
		p.A, p.PackA = m.rowsOf(g, first, size)
		if m.columns == m.size {
			p.C = gemm.Matrix{Ptr: unsafe.Add(m.out, ((u*m.rows+first)*m.size+lo)*size), Row: m.size, Col: 1}
			p.Run()
			continue
		}
		block := scratch.Get(p.M * p.N * size)
		p.C = gemm.Matrix{Ptr: block.Ptr(), Row: p.N, Col: 1}
		p.Run()
		m.part(scratch.Slice[T](block, p.M*p.N), g, first, lo, hi)
		block.Put()
	}
}

// laidOut returns the columns that products pack, nil if they read them in memory,
// and the bytes of an image and of a group's part of it.
func (m *multiplication[T]) laidOut(size int) (cols *conv.Columns, image, group int) {
	if m.l != nil {
		cols = conv.NewColumns(m.l.frame, nil, m.l.image(), m.terms, m.windows)
		return cols, m.l.image(), m.l.channels / m.groups * m.l.frame.Size * size
	}
	if m.depth >= deepTerms && m.rows >= fewRows {
		cols = conv.NewRows(m.depth, m.size, size)
	}
	group = m.depth * m.size * size
	return cols, m.groups * group, group
}

// rowsOf returns a group's weight from a row on.
func (m *multiplication[T]) rowsOf(group, first, size int) (gemm.Matrix, func(dst unsafe.Pointer, ld, i0, i1, p0, p1 int)) {
	switch {
	case m.swapped != nil:
		w := *m.swapped
		w.Weight = unsafe.Add(w.Weight, group*m.rows*m.depth*size)
		return gemm.Matrix{}, func(dst unsafe.Pointer, ld, i0, i1, p0, p1 int) { w.Pack(dst, ld, first+i0, first+i1, p0, p1) }
	case m.transposed:
		return gemm.Matrix{Ptr: unsafe.Add(m.weight, (group*m.rows*m.depth+first)*size), Row: 1, Col: m.rows}, nil
	}
	return gemm.Matrix{Ptr: unsafe.Add(m.weight, (group*m.rows+first)*m.depth*size), Row: m.depth, Col: 1}, nil
}

// part copies the rows from first on of windows [lo, hi) of all images to these.
func (m *multiplication[T]) part(product []T, group, first, lo, hi int) {
	out := unsafe.Slice((*T)(m.out), m.images*m.groups*m.rows*m.size)
	for at := lo; at < hi; {
		u, w := at/m.size, at%m.size
		n := min(m.size-w, hi-at)
		to := out[((u*m.groups+group)*m.rows+first)*m.size+w:]
		for i := 0; i*(hi-lo) < len(product); i++ {
			copy(to[i*m.size:i*m.size+n], product[i*(hi-lo)+at-lo:])
		}
		at += n
	}
}

// sparse reports whether a product has so few rows that packing its windows would
// take longer than reading them where they are, with vectors that end with rows.
func (s *correlation) sparse(size int) bool {
	switch waste := conv.Waste(simd.Active(), size, s.windows[len(s.windows)-1]); {
	case s.rows <= sparseRows:
		return true
	case s.rows > fewRows || s.rows*s.depth > sparseWeights:
		return false
	case simd.Active() >= simd.AVX512:
		return waste*float64(s.rows) < 10
	default:
		return waste*float64(s.rows) < 4
	}
}

const (
	sparseRows = 4
	// sparseWeights is how many weights stay in a cache, while windows are read.
	sparseWeights = 40 * 1024
)

// sumUp is correlate where each product is computed from the frames themselves.
func sumUp[T float](s *correlation, l *layout, data unsafe.Pointer, images int, out unsafe.Pointer) {
	size := int(unsafe.Sizeof(T(0)))
	p := conv.Product[T]{Plane: conv.NewPlane(l.frame, s.windows, simd.Active()), Rows: s.rows, Terms: s.terms}
	n := ir.NumElements(s.windows)
	group := l.channels / s.groups * l.frame.Size * size
	parts := 1 // of the windows
	if procs := runtime.GOMAXPROCS(0); images*s.groups < 4*procs {
		parts = min(p.Plane.Pieces(), (4*procs+images*s.groups-1)/(images*s.groups))
	}
	pool.For(images*s.groups*parts, max(1, mulWork/max(1, s.rows*s.depth*n/parts)), func(from, to int) {
		for ; from < to; from++ {
			u := from / parts
			weight := unsafe.Add(s.weight, u%s.groups*s.rows*s.depth*size)
			p.Run(unsafe.Add(out, u*s.rows*n*size), weight, unsafe.Add(data, u*group), from%parts, parts)
		}
	})
}

// portion returns the i-th of so many portions of n columns, each of whole panels.
func portion(n, panel, portions, i int) (lo, hi int) {
	panels := (n + panel - 1) / panel
	return min(i*panels/portions*panel, n), min((i+1)*panels/portions*panel, n)
}
