// Package librarytest gives tests of library bindings a GPU over the driver alone:
// no tensors, no allocator, no kernels of our own.
package librarytest

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// A GPU is device 0 of this machine and a stream of it. Memory is taken from one
// arena and given back together. Views are rearranged on the host.
type GPU struct {
	t      testing.TB
	api    driver.API
	stream driver.Stream
	arena  driver.Ptr
	size   int64
	used   int64
}

var _ library.GPU = (*GPU)(nil)

// New returns a GPU with that much memory, or skips the test where there is none.
func New(t testing.TB, bytes int64) *GPU {
	t.Helper()
	api, err := driver.Open()
	if err != nil {
		t.Skip(err)
	}
	return NewOn(t, api, bytes)
}

// NewFor is New, and skips the test too where the library that open opens is not there.
func NewFor(t testing.TB, bytes int64, open func(*GPU) error) *GPU {
	t.Helper()
	g := New(t, bytes)
	if err := open(g); errors.Is(err, library.ErrUnusable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return g
}

// Must ends the test where there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NewOn is New over a driver of the test's own.
func NewOn(t testing.TB, api driver.API, bytes int64) *GPU {
	t.Helper()
	g := &GPU{t: t, api: api, size: bytes}
	var err error
	g.stream, err = api.StreamCreate(0, driver.StreamNonBlocking, 0)
	g.must(err)
	g.arena, err = api.MemAlloc(0, bytes)
	g.must(err)
	t.Cleanup(func() {
		g.must(api.MemFree(0, g.arena))
		g.must(api.StreamDestroy(0, g.stream))
	})
	return g
}

func (g *GPU) must(err error) {
	g.t.Helper()
	Must(g.t, err)
}

// Reset gives all memory back.
func (g *GPU) Reset() { g.used = 0 }

// Mark says how much memory is taken, Release gives back what was taken since.
func (g *GPU) Mark() int64 { return g.used }

// Release gives memory back down to a mark.
func (g *GPU) Release(mark int64) { g.used = mark }

// Alloc returns memory, aligned to 512 bytes.
func (g *GPU) Alloc(bytes int64) uint64 {
	const granule = 512
	at := g.used
	g.used += (bytes + granule - 1) / granule * granule
	if g.used > g.size {
		g.t.Fatalf("the test's %d bytes are used up", g.size)
	}
	return uint64(g.arena) + uint64(at)
}

// Sync waits for the stream.
func (g *GPU) Sync() {
	g.t.Helper()
	g.must(g.api.StreamSynchronize(0, g.stream))
}

// Put returns device memory that holds data.
func (g *GPU) Put(data []byte) uint64 {
	g.t.Helper()
	addr := g.Alloc(int64(len(data)))
	if len(data) > 0 {
		g.must(g.api.MemcpyHtoDAsync(0, driver.Ptr(addr), unsafe.Pointer(&data[0]), int64(len(data)), g.stream))
		g.Sync()
	}
	return addr
}

// Get reads device memory.
func (g *GPU) Get(addr uint64, bytes int64) []byte {
	g.t.Helper()
	data := make([]byte, bytes)
	if bytes > 0 {
		g.must(g.api.MemcpyDtoHAsync(0, unsafe.Pointer(&data[0]), driver.Ptr(addr), bytes, g.stream))
		g.Sync()
	}
	return data
}

// Tensor returns a view over memory that holds the values, in the order of the
// memory, whose extent the layout may not exceed.
func (g *GPU) Tensor(dt ir.DType, values []complex128, shape, strides []int) ir.View {
	g.t.Helper()
	return ir.View{Addr: g.Put(Encode(dt, values)), DType: dt, Shape: shape, Strides: strides}
}

// Values reads a view's elements in row-major order.
func (g *GPU) Values(v ir.View) []complex128 {
	g.t.Helper()
	_, end := ir.Layout{Shape: v.Shape, Strides: v.Strides}.Span()
	memory := Decode(v.DType, g.Get(v.Addr, int64(end*v.DType.Size())))
	var out []complex128
	Each(v.Shape, func(at []int) { out = append(out, memory[Offset(at, v.Strides)]) })
	return out
}

// Each calls f with every place of a shape, the last axis fastest.
func Each(shape []int, f func(at []int)) {
	if ir.NumElements(shape) == 0 {
		return
	}
	at := make([]int, len(shape))
	for {
		f(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// Offset returns the distance of a place, in elements.
func Offset(at, strides []int) int {
	n := 0
	for i, a := range at {
		n += a * strides[i]
	}
	return n
}

// Encode returns the values as memory of a float or complex dtype.
func Encode(dt ir.DType, values []complex128) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, len(values)*dt.Size())
	for _, v := range values {
		re, im := real(v), imag(v)
		switch dt {
		case ir.Float16:
			b = le.AppendUint16(b, uint16(ir.HalfFrom(float32(re))))
		case ir.BFloat16:
			b = le.AppendUint16(b, uint16(ir.BF16From(float32(re))))
		case ir.Float32:
			b = le.AppendUint32(b, math.Float32bits(float32(re)))
		case ir.Float64:
			b = le.AppendUint64(b, math.Float64bits(re))
		case ir.Complex64:
			b = le.AppendUint32(b, math.Float32bits(float32(re)))
			b = le.AppendUint32(b, math.Float32bits(float32(im)))
		case ir.Complex128:
			b = le.AppendUint64(b, math.Float64bits(re))
			b = le.AppendUint64(b, math.Float64bits(im))
		}
	}
	return b
}

// Decode is the inverse of Encode.
func Decode(dt ir.DType, b []byte) []complex128 {
	le := binary.LittleEndian
	float := func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }
	double := func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }
	out := make([]complex128, len(b)/dt.Size())
	for i := range out {
		e := b[i*dt.Size():]
		switch dt {
		case ir.Float16:
			out[i] = complex(float64(ir.Half(le.Uint16(e)).Float32()), 0)
		case ir.BFloat16:
			out[i] = complex(float64(ir.BF16(le.Uint16(e)).Float32()), 0)
		case ir.Float32:
			out[i] = complex(float(e), 0)
		case ir.Float64:
			out[i] = complex(double(e), 0)
		case ir.Complex64:
			out[i] = complex(float(e), float(e[4:]))
		case ir.Complex128:
			out[i] = complex(double(e), double(e[8:]))
		}
	}
	return out
}
