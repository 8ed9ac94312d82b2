package nn

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

// pooling returns a module that applies f to windows over rank axes.
func pooling(name string, rank, kernel int, opts []Option, f func(x tensor.Tensor, w window) tensor.Tensor) Module {
	s := read(name, opts, windowOptions)
	if len(s.stride) == 0 {
		s.stride = axes(s.kernel, rank, kernel)
	}
	w, err := s.window(rank, kernel)
	if s.err != nil {
		err = s.err
	} else if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return fixed{name, func(tensor.Tensor) tensor.Tensor { return failed("%w", err) }}
	}
	return fixed{fmt.Sprintf("%s(kernel=%v, stride=%v, padding=%v)", name, w.kernel, w.stride, w.padding),
		func(x tensor.Tensor) tensor.Tensor { return f(x, w) }}
}

// MaxPool1d returns a module that keeps the largest element of each window along the
// last axis of [n, channels, length].
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func MaxPool1d(kernel int, opts ...Option) Module {
	return pooling("MaxPool1d", 1, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.MaxPool1d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// MaxPool2d returns a module that keeps the largest element of each square window over
// the last two axes of [n, channels, height, width].
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func MaxPool2d(kernel int, opts ...Option) Module {
	return pooling("MaxPool2d", 2, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.MaxPool2d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// MaxPool3d returns a module that keeps the largest element of each cubic window over
// the last three axes of [n, channels, depth, height, width].
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func MaxPool3d(kernel int, opts ...Option) Module {
	return pooling("MaxPool3d", 3, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.MaxPool3d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// AvgPool1d returns a module that averages each window along the last axis; what padding
// adds counts.
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func AvgPool1d(kernel int, opts ...Option) Module {
	return pooling("AvgPool1d", 1, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.AvgPool1d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// AvgPool2d returns a module that averages each square window over the last two axes;
// what padding adds counts.
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func AvgPool2d(kernel int, opts ...Option) Module {
	return pooling("AvgPool2d", 2, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.AvgPool2d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// AvgPool3d returns a module that averages each cubic window over the last three axes;
// what padding adds counts.
//
// Options: Kernel (kernel on every axis), tensor.Stride (the window's extent),
// tensor.Padding (0).
func AvgPool3d(kernel int, opts ...Option) Module {
	return pooling("AvgPool3d", 3, kernel, opts, func(x tensor.Tensor, w window) tensor.Tensor {
		return x.AvgPool3d(w.kernel, tensor.Stride(w.stride...), tensor.Padding(w.padding...))
	})
}

// AdaptiveAvgPool2d returns a module that averages windows of the size that makes
// the result height x width.
func AdaptiveAvgPool2d(height, width int) Module {
	return fixed{fmt.Sprintf("AdaptiveAvgPool2d(%d, %d)", height, width),
		func(x tensor.Tensor) tensor.Tensor { return x.AdaptiveAvgPool2d(height, width) }}
}
