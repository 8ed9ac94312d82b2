package launch

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// copyModule is the module of the kernels that copy.
const copyModule = "copy"

// convertModules are where the conversions are, by the result's category.
const (
	toIntsModule   = "convert"
	toFloatsModule = "convert_b"
)

// memcpyBytes is the size from which a copy without gaps is the driver's.
const memcpyBytes = 1 << 20

// moveKernels are the kernels of copy.cu, by the logarithm of the element's size.
var moveKernels = [5]struct{ fill, copy, strided, transpose, narrow, spread string }{
	{"fill_b1", "copy_b1", "copy_b1_strided", "transpose_b1", "narrow_b1", "spread_b1"},
	{"fill_b2", "copy_b2", "copy_b2_strided", "transpose_b2", "narrow_b2", "spread_b2"},
	{"fill_b4", "copy_b4", "copy_b4_strided", "transpose_b4", "narrow_b4", "spread_b4"},
	{"fill_b8", "copy_b8", "copy_b8_strided", "transpose_b8", "narrow_b8", "spread_b8"},
	{"fill_b16", "copy_b16", "copy_b16_strided", "transpose_b16", "narrow_b16", ""},
}

func log2(size int64) int {
	n := 0
	for size > 1 {
		size, n = size/2, n+1
	}
	return n
}

// Store writes src, which is like dst but for strides and dtype, to dst. An src in
// host memory has one element, however often it is repeated.
func (x *Context) Store(dst, src ir.View) error {
	if ir.NumElements(dst.Shape) == 0 {
		return nil
	}
	if src.Ptr == nil && src.Addr == dst.Addr && src.DType == dst.DType {
		return nil // memory that overlaps is the same elements
	}
	if src.Ptr != nil {
		n := readNumber(src.Ptr, src.DType, dst.DType)
		if dst.IsContiguous() {
			return x.fill(dst.Addr, int64(dst.NumElements()), dst.DType, n)
		}
		addr, err := x.uploadNumber(n, dst.DType)
		if err != nil {
			return err
		}
		src.Ptr, src.Addr, src.DType = nil, addr, dst.DType
	}
	x.order = natural(x.order, dst.Shape)
	x.strides = append(x.strides[:0], dst.Strides, src.Strides)
	nearest(x.order, x.strides...)
	l := &x.space
	l.set(dst.Shape, x.order, x.strides)
	m := move{dst: dst.Addr, src: src.Addr, to: dst.DType, from: src.DType}
	if !sameBits(src.DType, dst.DType) {
		return x.convert(l, m)
	}
	m.size = int64(dst.DType.Size())
	return x.move(l, m)
}

// sameBits reports whether a conversion keeps the bits.
func sameBits(from, to ir.DType) bool {
	return from == to || from.Size() == 1 && to.Size() == 1 && to != ir.Bool
}

// A move is a copy of elements of a size, or between dtypes.
type move struct {
	dst, src uint64
	size     int64 // bytes of an element
	to, from ir.DType
}

// fill writes count elements n of a dtype to addr.
func (x *Context) fill(addr uint64, count int64, dt ir.DType, n number) error {
	size := dt.Size()
	x.params.Reset()
	x.params.Int64(count)
	x.params.Uint64(addr)
	x.params.Struct(n[:size], size)
	return x.start(copyModule, moveKernels[log2(int64(size))].fill, (count*int64(size)+elementwiseThreads*64-1)/(elementwiseThreads*64))
}

// start launches a standard kernel of blocks of 256 threads.
func (x *Context) start(module, name string, blocks int64) error {
	k, err := x.device.kernel(standard, module, name)
	if err != nil {
		return err
	}
	return x.enqueue(k, name, driver.Dim3{X: uint32(min(blocks, space.Limit-1)), Y: 1, Z: 1}, driver.Dim3{X: elementwiseThreads, Y: 1, Z: 1})
}

// gridRows is the largest extent of a grid but along its first axis.
const gridRows = 65535

// startPlanes launches a standard kernel with blocks for each plane of a batch, of
// which a block does more than one where there are many.
func (x *Context) startPlanes(module, name string, blocks, planes int64) error {
	k, err := x.device.kernel(standard, module, name)
	if err != nil {
		return err
	}
	return x.enqueue(k, name, driver.Dim3{X: uint32(blocks), Y: uint32(min(planes, gridRows)), Z: 1}, driver.Dim3{X: elementwiseThreads, Y: 1, Z: 1})
}

func (x *Context) enqueue(k *kernel, name string, grid, block driver.Dim3) error {
	if !x.Due() {
		return nil
	}
	err := x.device.api.LaunchKernel(x.device.dev, driver.Launch{Function: k.function, Grid: grid, Block: block, Stream: x.stream, Params: x.params.Bytes(), Frame: x.frame})
	if err != nil {
		return fmt.Errorf("kernel %s: %w", name, err)
	}
	return nil
}

// move copies elements as they are. l has the strides of dst, then src, and its
// axes go from dst's nearest out.
func (x *Context) move(l *layout, m move) error {
	w := l.width(vectorBytes/m.size, false)
	for w > 1 && (m.dst|m.src)%uint64(w*m.size) != 0 {
		w /= 2
	}
	if w > 1 {
		l.widen(w)
		m.size *= w
	}
	if l.contiguous() {
		return x.moveRun(l.count, m)
	}
	names := &moveKernels[log2(m.size)]
	if n := vectorBytes / m.size; n > 1 && m.dst%vectorBytes == 0 && l.spread(n) {
		x.params.Reset()
		l.encode(&x.params, 0)
		x.params.Uint64(m.dst)
		x.params.Uint64(m.src)
		return x.start(copyModule, names.spread, (l.count/n+elementwiseThreads-1)/elementwiseThreads)
	}
	if a := l.transposed(); a > 0 {
		return x.transpose(l, m, a)
	}
	return x.eachPiece(l, func(p *layout, first int64, dst, src int64) error {
		x.params.Reset()
		p.encode(&x.params, first)
		x.pair(m.dst+uint64(dst*m.size), m.src+uint64(src*m.size))
		return x.start(copyModule, names.strided, (p.count+elementwiseThreads*stridedEach-1)/(elementwiseThreads*stridedEach))
	})
}

// spread reports whether l's operand repeats elements along axis 0, and n neighbours of the
// result lie next to each other, at a multiple of n, in the plane of axes 0 and 1.
func (l *layout) spread(n int64) bool {
	if l.rank() < 2 || l.stride(0, 0) != 1 || l.stride(0, 1) != 0 || !l.fits(true) {
		return false
	}
	plane, from := l.extents[0], 1 // where vectors do not cross lines
	if plane%n != 0 && l.stride(1, 0) == plane {
		plane, from = plane*l.extents[1], 2
	}
	for d := from; d < l.rank(); d++ {
		plane |= l.stride(d, 0)
	}
	return plane%n == 0
}

// pair adds the struct Operands of one result and one operand, and an empty functor.
func (x *Context) pair(dst, src uint64) {
	x.params.Uint64(dst)
	x.params.Uint64(src)
	x.params.Uint64(0)
	x.params.Uint8(0)
}

// moveRun copies count neighbouring elements.
func (x *Context) moveRun(count int64, m move) error {
	if bytes := count * m.size; bytes >= memcpyBytes {
		return x.Copy(m.dst, m.src, bytes)
	}
	x.params.Reset()
	x.params.Int64(count)
	x.pair(m.dst, m.src)
	width, unroll := vectorsOf(int(m.size))
	each := elementwiseThreads * width * unroll
	return x.start(copyModule, moveKernels[log2(m.size)].copy, (count+each-1)/each)
}

// eachPiece calls f for the pieces of l that a kernel of 32-bit offsets takes.
func (x *Context) eachPiece(l *layout, f func(p *layout, first, dst, src int64) error) error {
	if l.fits(true) {
		return f(l, 0, 0, 0)
	}
	return l.pieces(true, func(p *piece) error { return f(&p.layout, p.first, p.offsets[0], p.offsets[1]) })
}

// shortTile is the extent below which tiles would be mostly empty.
const shortTile = 8

// transposed returns the axis along which neighbours are next to each other in
// the operand while those of the result are along axis 0; 0 where there is none.
func (l *layout) transposed() int {
	if l.rank() < 2 || l.stride(0, 0) != 1 || l.stride(0, 1) == 1 || l.extents[0] < shortTile {
		return 0
	}
	for d := 1; d < l.rank(); d++ {
		if l.stride(d, 1) == 1 && l.extents[d] >= shortTile {
			return d
		}
	}
	return 0
}

// transposeSides are the sides of the tiles of copy.cuh, by the logarithm of the
// element's size. As a side of a plane is at least shortTile, a plane has fewer
// than space.Limit tiles in any memory there is.
var transposeSides = [5]int64{128, 128, 64, 32, 32}

const (
	// narrowTile is how many bytes of a plane with few rows or columns a block has at once.
	narrowTile = 16384
	// narrowSide is how many rows or columns are few: tiles would be mostly empty.
	narrowSide = 16
)

// narrow returns by how many blocks a plane is copied that has few columns and no gaps in the
// operand, or few rows and no gaps in the result; 0 for others.
func narrow(rows, columns, outStep, xStep, size int64) int64 {
	few, many := min(rows, columns), max(rows, columns)
	if few > narrowSide || rows < columns && outStep != rows || rows >= columns && xStep != columns {
		return 0
	}
	most := narrowTile / size / few
	return (many + most - 1) / most
}

// transpose copies planes of axis 0 and axis a through shared memory.
func (x *Context) transpose(l *layout, m move, a int) error {
	rows, columns := l.extents[0], l.extents[a]
	outStep, xStep := l.stride(a, 0), l.stride(0, 1)
	l.remove(a)
	l.remove(0)
	power := log2(m.size)
	side := transposeSides[power]
	tiles, kernel := (rows+side-1)/side*((columns+side-1)/side), moveKernels[power].transpose
	if n := narrow(rows, columns, outStep, xStep, m.size); n > 0 {
		tiles, kernel = n, moveKernels[power].narrow
	}
	launch := func(p *layout, _, dst, src int64) error {
		x.params.Reset()
		p.encode(&x.params, 0)
		for _, v := range [4]int64{rows, columns, outStep, xStep} {
			x.params.Int64(v)
		}
		x.params.Uint64(m.dst + uint64(dst*m.size))
		x.params.Uint64(m.src + uint64(src*m.size))
		return x.startPlanes(copyModule, kernel, tiles, p.count)
	}
	if l.fits(false) {
		return launch(l, 0, 0, 0)
	}
	return l.pieces(false, func(p *piece) error { return launch(&p.layout, 0, p.offsets[0], p.offsets[1]) })
}

// convert copies elements to another dtype.
func (x *Context) convert(l *layout, m move) error {
	from, module := m.from, toIntsModule
	if from == ir.Bool {
		from = ir.Uint8 // stored as 0 and 1
	}
	if m.to.Category() >= ir.CategoryFloat {
		module = toFloatsModule
	}
	widest := max(m.to.Size(), from.Size())
	if l.contiguous() {
		x.params.Reset()
		x.params.Int64(l.count)
		x.pair(m.dst, m.src)
		width, unroll := vectorsOf(widest)
		each := elementwiseThreads * width * unroll
		return x.start(module, convertNames()[from][m.to][0], (l.count+each-1)/each)
	}
	if l.transposed() > 0 && l.count*int64(m.from.Size()) >= memcpyBytes {
		return x.convertTransposed(l, m)
	}
	return x.eachPiece(l, func(p *layout, first, dst, src int64) error {
		x.params.Reset()
		p.encode(&x.params, first)
		x.pair(m.dst+uint64(dst*int64(m.to.Size())), m.src+uint64(src*int64(m.from.Size())))
		return x.start(module, convertNames()[from][m.to][1], (p.count+elementwiseThreads*stridedEach-1)/(elementwiseThreads*stridedEach))
	})
}

// convertTransposed moves the elements to where the result's axes are in order,
// then converts them.
func (x *Context) convertTransposed(l *layout, m move) error {
	size := int64(m.from.Size())
	addr, err := x.Scratch(l.count * size)
	if err != nil {
		return err
	}
	after := layout{operands: 2, count: l.count, extents: append([]int64(nil), l.extents...)}
	dense := int64(1)
	for d, n := range l.extents {
		after.strides = append(after.strides, l.stride(d, 0), dense)
		l.setStride(d, 0, dense)
		dense *= n
	}
	if err := x.move(l, move{dst: addr, src: m.src, size: size}); err != nil {
		return err
	}
	m.src = addr
	after.rejoin()
	return x.convert(&after, m)
}

// rejoin joins neighbouring axes that are one run in every operand.
func (l *layout) rejoin() {
	for d := 1; d < l.rank(); {
		one := true
		for k := range l.operands {
			one = one && l.stride(d, k) == l.extents[d-1]*l.stride(d-1, k)
		}
		if !one {
			d++
			continue
		}
		l.extents[d-1] *= l.extents[d]
		count := l.count
		l.remove(d)
		l.count = count
	}
}

// convertNames are the kernels of the conversions: of runs, of any layout.
var convertNames = sync.OnceValue(func() *[ir.NumDTypes][ir.NumDTypes][2]string {
	var names [ir.NumDTypes][ir.NumDTypes][2]string
	for _, from := range ir.ClassAll.List() {
		for _, to := range ir.ClassAll.List() {
			name := "convert_" + from.String() + "_" + to.String()
			names[from][to] = [2]string{name, name + "_strided"}
		}
	}
	return &names
})
