package opaque

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/cufft"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// A missing library is told of once.
type missing struct {
	once    sync.Once
	serving string // what kernels of our own compute instead
}

var (
	noCUBLASLt = missing{serving: "matrix products"}
	noCUDNN    = missing{serving: "convolutions"}
	noCUFFT    = missing{serving: "Fourier transforms"}
)

// covered reports whether err says that the library does not compute a call, so
// that a kernel of our own has to; where the library is not there, the log says
// why, once. Other errors are the call's.
func (m *missing) covered(err error) bool {
	if errors.Is(err, cublaslt.ErrUnsupported) || errors.Is(err, cudnn.ErrUnsupported) || errors.Is(err, cufft.ErrUnsupported) {
		return true
	}
	if !errors.Is(err, library.ErrUnusable) {
		return false
	}
	m.once.Do(func() {
		slog.Warn("sinter: "+m.serving+" run on kernels of sinter's own, which are slower than NVIDIA's library", "reason", err)
	})
	return true
}

// onLibrary returns the GPU as libraries need it; ok is false where g is another.
func onLibrary(g code.GPU) (library.GPU, bool) {
	l, ok := g.(library.GPU)
	return l, ok
}

// zero sets every element of v to 0.
func zero(g code.GPU, v ir.View) error {
	out, err := contiguous(g, v, v.DType)
	if err != nil {
		return err
	}
	if err := g.Zero(out.Addr, int64(out.NumElements())*int64(out.DType.Size())); err != nil {
		return err
	}
	return out.finish(g)
}
