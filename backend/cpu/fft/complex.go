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
		lanes := p.lanes(&l)
		l.each(lanes, n, p.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
			b := p.buffer(len(group), work)
			x, to := p.gather(b.x, src, group, l.inStep, inverse), []point[F](nil)
			if !inverse && scale == 1 && len(group) == 1 && l.toStep == 1 {
				to = dst[group[0].out:][:n]
			}
			p.scatter(dst, p.transform(x, to, &b, len(group), shared), group, l.toStep, inverse, F(scale))
		})
	})
}

// gather returns lines, interleaved, with their parts exchanged where swap is set:
// the transform of such is that of the inverse, with its parts exchanged. They are
// in x unless they lie so already.
func (p *plan[F]) gather(x, src []point[F], group []line, step int, swap bool) []point[F] {
	lanes := len(group)
	if lanes == 1 && step == 1 {
		from := src[group[0].in:][:p.n]
		if !swap {
			return from
		}
		p.vectors.weigh(x, from, 1, true)
		return x
	}
	if adjacent(group, func(at line) int { return at.in }) {
		for j := range p.n {
			copy(x[j*lanes:(j+1)*lanes], src[group[0].in+j*step:])
		}
	} else {
		for l, at := range group {
			from := src[at.in:]
			for j := range p.n {
				x[j*lanes+l] = from[j*step]
			}
		}
	}
	if swap {
		p.vectors.weigh(x, x[:p.n*lanes], 1, true)
	}
	return x
}

// scatter is the inverse of gather, and multiplies by scale. X may be where it
// belongs already; else it is changed.
func (p *plan[F]) scatter(dst, x []point[F], group []line, step int, swap bool, scale F) {
	lanes := len(group)
	if lanes == 1 && step == 1 {
		to := dst[group[0].out:][:p.n]
		switch {
		case swap || scale != 1:
			p.vectors.weigh(to, x[:p.n], scale, swap)
		case &to[0] != &x[0]:
			copy(to, x)
		}
		return
	}
	if swap || scale != 1 {
		p.vectors.weigh(x, x[:p.n*lanes], scale, swap)
	}
	if adjacent(group, func(at line) int { return at.out }) {
		for j := range p.n {
			copy(dst[group[0].out+j*step:], x[j*lanes:(j+1)*lanes])
		}
		return
	}
	for l, at := range group {
		to := dst[at.out:]
		for j := range p.n {
			to[j*step] = x[j*lanes+l]
		}
	}
}
