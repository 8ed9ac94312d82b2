package librarytest

import (
	"errors"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// The methods of library.GPU.

func (g *GPU) Device() int { return 0 }

func (g *GPU) Stream() driver.Stream { return g.stream }

func (g *GPU) API() driver.API { return g.api }

var errKernel = errors.New("this GPU has no kernels of its own")

func (g *GPU) Launch(string, string, [3]int, [3]int, int, []byte) error { return errKernel }

func (g *GPU) Scratch(bytes int64) (uint64, error) {
	if bytes == 0 {
		return 0, nil
	}
	return g.Alloc(bytes), nil
}

func (g *GPU) Keep(bytes int64) (uint64, func() error, error) {
	addr, err := g.api.MemAlloc(0, bytes)
	return uint64(addr), func() error { return g.api.MemFree(0, addr) }, err
}

func (g *GPU) Recording() bool { return false }

func (g *GPU) Due() bool { return true }

// Ahead does nothing: memory is there at once.
func (g *GPU) Ahead() {}

func (g *GPU) Repeat(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

func (g *GPU) Upload(data []byte) (uint64, error) { return g.Put(data), nil }

func (g *GPU) Zero(addr uint64, bytes int64) error {
	return g.api.MemsetD8Async(0, driver.Ptr(addr), 0, bytes, g.stream)
}

func (g *GPU) Copy(dst, src uint64, bytes int64) error {
	return g.api.MemcpyDtoDAsync(0, driver.Ptr(dst), driver.Ptr(src), bytes, g.stream)
}

func (g *GPU) Dense(v ir.View, dt ir.DType) (ir.View, error) {
	if v.DType != dt {
		return v, errKernel
	}
	if v.IsContiguous() {
		return v, nil
	}
	return g.Tensor(dt, g.Values(v), v.Shape, ir.ContiguousStrides(v.Shape)), nil
}

func (g *GPU) Store(dst, src ir.View) error {
	values := g.Values(src)
	_, end := ir.Layout{Shape: dst.Shape, Strides: dst.Strides}.Span()
	bytes := int64(end * dst.DType.Size())
	memory := Decode(dst.DType, g.Get(dst.Addr, bytes))
	i := 0
	Each(dst.Shape, func(at []int) {
		memory[Offset(at, dst.Strides)] = values[i]
		i++
	})
	return g.Copy(dst.Addr, g.Put(Encode(dst.DType, memory)), bytes)
}

func (g *GPU) Multiprocessors() int { return 1 }

func (g *GPU) Capability() int { return 0 }

func (g *GPU) SharedLimit() int { return 0 }

func (g *GPU) Trap() uint64 { return 0 }
