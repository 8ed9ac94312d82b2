package fft

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// C2C transforms in along axes, one after the other from the last, into out, which
// has its shape and complex dtype, and multiplies the result by scale. The inverse
// transform has the other sign in its exponents. Strides are any; out does not
// overlap in unless it is in.
func C2C(out, in ir.View, axes []int, inverse bool, scale float64) error {
	for i := len(axes) - 1; i >= 0; i-- {
		by := 1.0
		if i == 0 {
			by = scale
		}
		var err error
		switch out.DType {
		case ir.Complex64:
			err = c2c[float32](out, in, axes[i], inverse, by)
		case ir.Complex128:
			err = c2c[float64](out, in, axes[i], inverse, by)
		default:
			return unsupported(out.DType)
		}
		if err != nil {
			return err
		}
		in = out
	}
	return nil
}

func unsupported(dt ir.DType) error { return fmt.Errorf("not implemented for %s on cpu", dt) }

func c2c[F float](out, in ir.View, axis int, inverse bool, scale float64) error {
	if out.NumElements() == 0 {
		return nil
	}
	n := in.Shape[axis]
	return with(n, func(p *plan[F]) {
		l := linesOf(out, in, axis)
		src, dst := memory[point[F]](in), memory[point[F]](out)
		lanes := l.lanes(n, p.chirp != nil)
		l.each(lanes, n, p.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
			b := p.buffer(len(group), work)
			gather(b.x, src, group, n, l.inStep, inverse)
			scatter(dst, p.transform(&b, len(group), shared), group, n, l.toStep, inverse, F(scale))
		})
	})
}

// gather copies lines of n points to x, interleaved, with their parts exchanged
// where swap is set: the transform of such is that of the inverse, with its parts
// exchanged.
func gather[F float](x, src []point[F], group []line, n, step int, swap bool) {
	lanes := len(group)
	if lanes == 1 && step == 1 && !swap {
		copy(x[:n], src[group[0].in:])
		return
	}
	for l, at := range group {
		from := src[at.in:]
		for j, i, k := 0, 0, l; j < n; j, i, k = j+1, i+step, k+lanes {
			v := from[i]
			if swap {
				v = point[F]{v.im, v.re}
			}
			x[k] = v
		}
	}
}

// scatter is the inverse of gather, and multiplies by scale.
func scatter[F float](dst, x []point[F], group []line, n, step int, swap bool, scale F) {
	lanes := len(group)
	if lanes == 1 && step == 1 && !swap && scale == 1 {
		copy(dst[group[0].out:], x[:n])
		return
	}
	for l, at := range group {
		to := dst[at.out:]
		for j, i, k := 0, 0, l; j < n; j, i, k = j+1, i+step, k+lanes {
			v := point[F]{x[k].re * scale, x[k].im * scale}
			if swap {
				v = point[F]{v.im, v.re}
			}
			to[i] = v
		}
	}
}
