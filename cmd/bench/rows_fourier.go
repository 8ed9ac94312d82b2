package main

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

// fourierRows are Fourier transforms: of long rows, back, of real rows, and of
// images. They are bound by memory, so the target is the library's own time.
func (w *workload) fourierRows() []row {
	batch, n, side := 256, 65536, 1024
	if !w.dev.Accelerator() {
		batch, side = 16, 256
	}
	if w.spread == 0 { // a quick run
		batch, n, side = 2, 64, 8
	}
	long := operand{Shape: []int{batch, n}, DType: "complex64"}
	images := operand{Shape: []int{max(1, batch/16), side, side}, DType: "complex64"}
	rows := []row{
		{name: fmt.Sprintf("fft, %d x %d complex64", batch, n), in: []operand{long},
			ours: result(func(x []T) T { return x[0].FFT() }), torch: "torch.fft.fft(a)"},
		{name: fmt.Sprintf("ifft, %d x %d complex64", batch, n), in: []operand{long},
			ours: result(func(x []T) T { return x[0].IFFT() }), torch: "torch.fft.ifft(a)"},
		{name: fmt.Sprintf("rfft, %d x %d", batch, n), in: []operand{f32(batch, n)},
			ours: result(func(x []T) T { return x[0].RFFT() }), torch: "torch.fft.rfft(a)"},
		{name: fmt.Sprintf("irfft, %d x %d complex64", batch, n/2+1), in: []operand{{Shape: []int{batch, n/2 + 1}, DType: "complex64"}},
			ours: result(func(x []T) T { return x[0].IRFFT() }), torch: "torch.fft.irfft(a)"},
		{name: fmt.Sprintf("fft along columns, %d x %d complex64", n, batch), in: []operand{{Shape: []int{n, batch}, DType: "complex64"}},
			ours: result(func(x []T) T { return x[0].FFT(tensor.Dim(0)) }), torch: "torch.fft.fft(a, dim=0)"},
		{name: fmt.Sprintf("fft2, %d of %d x %d complex64", images.Shape[0], side, side), in: []operand{images},
			ours: result(func(x []T) T { return x[0].FFT2() }), torch: "torch.fft.fft2(a)"},
	}
	for i := range rows {
		rows[i].targets = []target{atMost(1.05, byPyTorch)}
	}
	return grouped("Fourier transforms", measured(deviceTime, milliseconds, rows))
}
