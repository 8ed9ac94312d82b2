//go:build cu && cgo

package driver

import (
	"unsafe"

	"gorgonia.org/cu"
)

func (b cuBinding) MemGetInfo(dev int) (free, total int64, err error) {
	err = b.call(cuMemGetInfo, dev, func() (e error) {
		free, total, e = cu.MemInfo()
		return e
	})
	return free, total, err
}

func (b cuBinding) MemAlloc(dev int, bytes int64) (p Ptr, err error) {
	if err := b.checkSize(cuMemAlloc, dev, bytes); err != nil {
		return 0, err
	}
	err = b.call(cuMemAlloc, dev, func() error {
		got, e := cu.MemAlloc(bytes)
		p = PtrOf(got)
		return e
	})
	return p, detailed(err, "%d bytes", bytes)
}

func (b cuBinding) MemFree(dev int, p Ptr) error {
	return b.call(cuMemFree, dev, func() error { return cu.MemFree(p.CUPtr()) })
}

func (b cuBinding) MemFreeHost(dev int, p unsafe.Pointer) error {
	return b.call(cuMemFreeHost, dev, func() error { return cu.MemFreeHost(p) })
}

func (b cuBinding) MemcpyHtoDAsync(dev int, dst Ptr, src unsafe.Pointer, bytes int64, s Stream) error {
	return b.sized(cuMemcpyHtoDAsync, dev, bytes, func() error {
		return cu.MemcpyHtoDAsync(dst.CUPtr(), src, bytes, s.CUStream())
	})
}

func (b cuBinding) MemcpyDtoHAsync(dev int, dst unsafe.Pointer, src Ptr, bytes int64, s Stream) error {
	return b.sized(cuMemcpyDtoHAsync, dev, bytes, func() error {
		return cu.MemcpyDtoHAsync(dst, src.CUPtr(), bytes, s.CUStream())
	})
}

func (b cuBinding) MemcpyDtoDAsync(dev int, dst, src Ptr, bytes int64, s Stream) error {
	return b.sized(cuMemcpyDtoDAsync, dev, bytes, func() error {
		return cu.MemcpyDtoDAsync(dst.CUPtr(), src.CUPtr(), bytes, s.CUStream())
	})
}

func (b cuBinding) MemcpyPeerAsync(dev int, dst Ptr, dstDev int, src Ptr, srcDev int, bytes int64, s Stream) error {
	to, err := b.PrimaryContext(dstDev)
	if err != nil {
		return err
	}
	from, err := b.PrimaryContext(srcDev)
	if err != nil {
		return err
	}
	return b.sized(cuMemcpyPeerAsync, dev, bytes, func() error {
		return cu.MemcpyPeerAsync(dst.CUPtr(), to.CUContext(), src.CUPtr(), from.CUContext(), bytes, s.CUStream())
	})
}

func (b cuBinding) MemsetD8Async(dev int, dst Ptr, value uint8, bytes int64, s Stream) error {
	return b.sized(cuMemsetD8Async, dev, bytes, func() error {
		return cu.MemsetD8Async(dst.CUPtr(), value, bytes, s.CUStream())
	})
}

func (b cuBinding) MemsetD32Async(dev int, dst Ptr, value uint32, count int64, s Stream) error {
	return b.sized(cuMemsetD32Async, dev, count, func() error {
		return cu.MemsetD32Async(dst.CUPtr(), uint(value), count, s.CUStream())
	})
}

// sized makes a call about a number of bytes or words.
func (b cuBinding) sized(s symbol, dev int, n int64, f func() error) error {
	if err := b.checkSize(s, dev, n); err != nil {
		return err
	}
	return b.call(s, dev, f)
}
