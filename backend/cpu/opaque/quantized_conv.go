package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A byteConvolution is a convolution of bytes. Images are laid out in frames: with the
// channels of a group side by side, and padding around them. Each window is a row of
// bytes, whose product with the weight is the result at its place for all channels.
type byteConvolution struct {
	images, groups             int
	in, out                    [2]int // height and width
	channels, outs             int    // of a group
	kernel                     [2]int
	stride, padding, dilation  [2]int
	x, sums                    unsafe.Pointer
	weights                    []*gemm.Bytes // of each group
	zeros                      []byteZeros
	frames                     unsafe.Pointer
	frame                      [2]int // height and width
	zero                       uint8  // of x
	direct                     bool   // windows are read where they are in frames
	windows, chunk, chunks, at int    // of an image, of a task, tasks of an image; bytes of a window
}

// A byteWeight says which weight of a convolution was packed, and for which kernels.
type byteWeight struct {
	ptr     unsafe.Pointer
	shape   [4]int
	strides [4]int
	groups  int
	moved   bool
	level   simd.Level
}

// Int8Convolution returns the cross-correlation of x [n, channels, height, width], uint8
// less its zero, with weight [out, channels/groups, kernel...], int8 less its zero, which is
// one number or one for each of out. Attributes: stride, padding, dilation and groups.
func Int8Convolution(c *ir.Call) error {
	x, w, out := c.In[0], c.In[1], c.Out[0]
	if out.NumElements() == 0 {
		return nil
	}
	two := func(list []int) [2]int { return [2]int{list[0], list[1]} }
	v := &byteConvolution{
		images: x.Shape[0], groups: int(c.Attrs[3].Int), in: two(x.Shape[2:]), out: two(out.Shape[2:]), kernel: two(w.Shape[2:]),
		stride: two(c.Attrs[0].Ints), padding: two(c.Attrs[1].Ints), dilation: two(c.Attrs[2].Ints),
	}
	v.channels, v.outs = w.Shape[1], w.Shape[0]/v.groups
	v.weights = v.packed(w, c.KeptOf(1))
	d := tile.TargetOf(out, ir.Int32)
	v.x, v.sums, v.zero = tile.Dense(x, ir.Uint8).Ptr, d.Ptr, tile.Elements[uint8](c.In[2])[0]
	v.setZeros(c.In[2], tile.Dense(c.In[3], c.In[3].DType))
	v.run()
	tile.Finish(out, d)
	return nil
}

// terms is how many bytes a window has.
func (v *byteConvolution) terms() int { return v.kernel[0] * v.kernel[1] * v.channels }

// packed returns the weights of each group, whose terms are in the order of windows: places
// of the kernel, then channels.
func (v *byteConvolution) packed(w ir.View, kept *ir.Kept) []*gemm.Bytes {
	key := byteWeight{ptr: w.Ptr, shape: [4]int(w.Shape), strides: [4]int(w.Strides), groups: v.groups, moved: w.DType == ir.Uint8, level: simd.Active()}
	pack := func() any {
		list := make([]*gemm.Bytes, v.groups)
		for g := range list {
			part := ir.View{Ptr: unsafe.Add(w.Ptr, g*v.outs*w.Strides[0]), DType: w.DType,
				Shape:   []int{v.outs, v.kernel[0], v.kernel[1], v.channels},
				Strides: []int{w.Strides[0], w.Strides[2], w.Strides[3], w.Strides[1]}}
			d := tile.Dense(part, w.DType)
			list[g] = gemm.PackBytes(gemm.Matrix{Ptr: d.Ptr, Row: 1, Col: v.terms()}, v.terms(), v.outs, key.moved)
		}
		return list
	}
	if list, ok := kept.Form(key, pack).([]*gemm.Bytes); ok {
		return list
	}
	return pack().([]*gemm.Bytes)
}

// setZeros sets what the zeros of x and of the weight take away.
func (v *byteConvolution) setZeros(x, w ir.View) {
	for g, b := range v.weights {
		part := w
		if w.NumElements() > 1 {
			part = ir.View{Ptr: unsafe.Add(w.Ptr, g*v.outs), DType: w.DType, Shape: []int{v.outs}, Strides: []int{1}}
		}
		v.zeros = append(v.zeros, newByteZeros(x, part, v.terms(), b.Sums(), make([]int32, v.outs)))
	}
}

// windowBytes is how many bytes of windows and their sums a task has at once.
const windowBytes = 256 << 10

func (v *byteConvolution) run() {
	v.frame = [2]int{v.in[0] + 2*v.padding[0], v.in[1] + 2*v.padding[1]}
	v.at = v.weights[0].Row()
	size := v.frame[0] * v.frame[1] * v.channels
	block := scratch.Get(v.images*v.groups*size + 1)
	defer block.Put()
	v.frames = block.Ptr()
	v.windows = v.out[0] * v.out[1]
	v.direct = v.kernel == [2]int{1, 1} && v.stride == [2]int{1, 1} && v.channels == v.at
	v.chunk = max(8, windowBytes/(v.at+4*v.outs))
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		v.chunk = min(v.chunk, max(8, (v.images*v.groups*v.windows+2*procs-1)/(2*procs)))
	}
	v.chunks = (v.windows + v.chunk - 1) / v.chunk
	if v.channels > 0 {
		pool.For(v.images*v.groups*v.in[0], max(1, moveWork/max(1, v.in[1]*v.channels)), v.layOut)
		if v.padding != [2]int{} {
			pool.For(v.images*v.groups, 1, v.pad)
		}
	}
	pool.For(v.images*v.groups*v.chunks, max(1, 4*mulWork/max(1, v.chunk*v.at*v.outs)), v.tasks)
}

// frameOf returns a place in the frame of a group of an image.
func (v *byteConvolution) frameOf(i, row, column int) unsafe.Pointer {
	return unsafe.Add(v.frames, ((i*v.frame[0]+row)*v.frame[1]+column)*v.channels)
}

// layOut takes rows [lo, hi) of all groups of all images to their frames.
func (v *byteConvolution) layOut(lo, hi int) {
	for ; lo < hi; lo++ {
		i, row := lo/v.in[0], lo%v.in[0]
		from := unsafe.Add(v.x, (i*v.channels*v.in[0]+row)*v.in[1])
		turn(simd.Active(), 1, v.frameOf(i, row+v.padding[0], v.padding[1]), from, v.channels, v.in[0]*v.in[1], v.channels, v.in[1])
	}
}

// pad fills what is around groups [lo, hi) of all images.
func (v *byteConvolution) pad(lo, hi int) {
	fill := func(i, row, column, n int) {
		list := unsafe.Slice((*uint8)(v.frameOf(i, row, column)), n*v.channels)
		for j := range list {
			list[j] = v.zero
		}
	}
	for ; lo < hi; lo++ {
		for row := range v.frame[0] {
			if row < v.padding[0] || row >= v.padding[0]+v.in[0] {
				fill(lo, row, 0, v.frame[1])
				continue
			}
			fill(lo, row, 0, v.padding[1])
			fill(lo, row, v.padding[1]+v.in[1], v.padding[1])
		}
	}
}

// tasks computes tasks [lo, hi): some windows of a group of an image each.
func (v *byteConvolution) tasks(lo, hi int) {
	block := scratch.Get(v.chunk * (v.at + 4*v.outs))
	defer block.Put()
	for ; lo < hi; lo++ {
		i, first := lo/v.chunks, lo%v.chunks*v.chunk
		v.some(i, first, min(first+v.chunk, v.windows), block.Ptr(), unsafe.Add(block.Ptr(), v.chunk*4*v.outs))
	}
}

// some computes windows [lo, hi) of a group of an image, with room for sums and windows.
func (v *byteConvolution) some(i, lo, hi int, sums, room unsafe.Pointer) {
	g, n := i%v.groups, hi-lo
	if v.direct {
		room = v.frameOf(i, 0, lo)
	} else {
		v.unfold(i, lo, hi, room)
	}
	v.weights[g].MulSerial(n, room, v.at, gemm.Matrix{Ptr: sums, Row: v.outs, Col: 1}, v.zeros[g].bias)
	if z := &v.zeros[g]; z.rows != nil {
		for w := range n {
			z.finish(unsafe.Slice((*int32)(unsafe.Add(sums, w*v.outs*4)), v.outs), unsafe.Slice((*uint8)(unsafe.Add(room, w*v.at)), v.terms()))
		}
	}
	to := unsafe.Add(v.sums, (i*v.outs*v.windows+lo)*4)
	turn(simd.Active(), 4, to, sums, v.windows*4, v.outs*4, n, v.outs)
}

// unfold copies windows [lo, hi) of a group of an image to rows.
func (v *byteConvolution) unfold(i, lo, hi int, room unsafe.Pointer) {
	run, runs, step := v.kernel[1]*v.channels, 1, 0
	if v.dilation[1] > 1 {
		run, runs, step = v.channels, v.kernel[1], v.dilation[1]
	}
	for w := lo; w < hi; w++ {
		to := unsafe.Slice((*uint8)(unsafe.Add(room, (w-lo)*v.at)), v.at)
		row, column := w/v.out[1]*v.stride[0], w%v.out[1]*v.stride[1]
		for k := range v.kernel[0] {
			for r := range runs {
				from := unsafe.Slice((*uint8)(v.frameOf(i, row+k*v.dilation[0], column+r*step)), run)
				to = to[copy(to, from):]
			}
		}
		clear(to)
	}
}
