package fft

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// R2C writes to out the points 0 to n/2 of the transform of in along axis, where in
// is real with extent n, multiplied by scale, and those that stand for two, which
// are all but 0 and n/2, by inner besides. Strides are any.
func R2C(out, in ir.View, axis int, scale, inner float64) error {
	switch in.DType {
	case ir.Float32:
		return r2c(out, in, axis, float32(scale), float32(scale*inner))
	case ir.Float64:
		return r2c(out, in, axis, scale, scale*inner)
	}
	return unsupported(in.DType)
}

// C2R writes to out the real n points whose transform's points 0 to n/2 are in,
// along axis, n times over; in's are multiplied as R2C multiplies results. The
// imaginary parts of points 0 and n/2 are not looked at.
func C2R(out, in ir.View, axis int, scale, inner float64) error {
	switch out.DType {
	case ir.Float32:
		return c2r(out, in, axis, float32(scale), float32(scale*inner))
	case ir.Float64:
		return c2r(out, in, axis, scale, scale*inner)
	}
	return unsupported(out.DType)
}

func r2c[F float](out, in ir.View, axis int, edge, inner F) error {
	if out.NumElements() == 0 {
		return nil
	}
	n := in.Shape[axis]
	l := linesOf(out, in, axis)
	src, dst := memory[F](in), memory[point[F]](out)
	if n%2 != 0 {
		return with(n, func(p *plan[F]) {
			lanes := p.lanes(&l)
			l.each(lanes, n, p.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
				b := p.buffer(len(group), work)
				for i, at := range group {
					for j := range n {
						b.x[j*len(group)+i] = point[F]{re: src[at.in+j*l.inStep]}
					}
				}
				x := p.transform(b.x, nil, &b, len(group), shared)
				for i, at := range group {
					for k := range n/2 + 1 {
						dst[at.out+k*l.toStep] = weigh(x[k*len(group)+i], k, n, edge, inner)
					}
				}
			})
		})
	}
	return withHalf(n, func(h *half[F]) {
		lanes := h.lanes(&l)
		l.each(lanes, n/2, h.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
			b := h.buffer(len(group), work)
			x := h.pairs(b.x, src, group, l.inStep)
			x = h.transform(x, nil, &b, len(group), shared)
			for i, at := range group {
				h.split(dst[at.out:], l.toStep, x[i:], len(group), n, edge, inner)
			}
		})
	})
}

// pairs returns lines of real points, interleaved, with neighbours as one complex
// point. They are in x unless they lie so already.
func (h *half[F]) pairs(x []point[F], src []F, group []line, step int) []point[F] {
	if len(group) == 1 && step == 1 {
		return unsafe.Slice((*point[F])(unsafe.Pointer(&src[group[0].in])), h.n)
	}
	for i, at := range group {
		for j := range h.n {
			from := at.in + 2*j*step
			x[j*len(group)+i] = point[F]{src[from], src[from+step]}
		}
	}
	return x
}

// unpair is the inverse of pairs, for x with parts exchanged.
func (h *half[F]) unpair(dst []F, x []point[F], group []line, step int) {
	if len(group) == 1 && step == 1 {
		to := unsafe.Slice((*point[F])(unsafe.Pointer(&dst[group[0].out])), h.n)
		h.vectors.weigh(to, x[:h.n], 1, true)
		return
	}
	for i, at := range group {
		for j := range h.n {
			v, to := x[j*len(group)+i], at.out+2*j*step
			dst[to], dst[to+step] = v.im, v.re
		}
	}
}

// weigh multiplies point k of a spectrum of n real points.
func weigh[F float](v point[F], k, n int, edge, inner F) point[F] {
	by := inner
	if k == 0 || 2*k == n {
		by = edge
	}
	return point[F]{v.re * by, v.im * by}
}

// split writes the spectrum of n real points to dst from x, the transform of the
// pairs of neighbours as complex numbers: that of the even ones is in its even
// part, that of the odd ones in its odd part.
func (h *half[F]) split(dst []point[F], to int, x []point[F], step, n int, edge, inner F) {
	first := x[0]
	dst[0] = point[F]{re: (first.re + first.im) * edge}
	dst[n/2*to] = point[F]{re: (first.re - first.im) * edge}
	k := 1
	if to == 1 && step == 1 {
		k = h.vectors.mirror(h.vectors.split, dst, x, h.roots, n/2, inner/2)
	}
	for ; 4*k <= n; k++ {
		mirror := n/2 - k
		a, b := x[k*step], x[mirror*step]
		even := point[F]{(a.re + b.re) / 2, (a.im - b.im) / 2}
		odd := point[F]{(a.im + b.im) / 2, (b.re - a.re) / 2}.mul(h.roots[k])
		dst[k*to] = point[F]{(even.re + odd.re) * inner, (even.im + odd.im) * inner}
		dst[mirror*to] = point[F]{(even.re - odd.re) * inner, (odd.im - even.im) * inner}
	}
}

// join is the inverse of split: it writes to x, with parts exchanged, the transform
// of pairs whose spectrum src is, twice over.
func (h *half[F]) join(x []point[F], step int, src []point[F], from, n int, edge, inner F) {
	first, last := src[0].re*edge, src[n/2*from].re*edge
	x[0] = point[F]{first - last, first + last}
	k := 1
	if from == 1 && step == 1 {
		k = h.vectors.mirror(h.vectors.join, x, src, h.roots, n/2, inner)
	}
	for ; 4*k <= n; k++ {
		mirror := n/2 - k
		a, b := src[k*from], src[mirror*from]
		even := point[F]{(a.re + b.re) * inner, (a.im - b.im) * inner}
		w := point[F]{h.roots[k].re, -h.roots[k].im}
		odd := point[F]{(a.re - b.re) * inner, (a.im + b.im) * inner}.mul(w)
		x[k*step] = point[F]{even.im + odd.re, even.re - odd.im}
		x[mirror*step] = point[F]{odd.re - even.im, even.re + odd.im}
	}
}

func c2r[F float](out, in ir.View, axis int, edge, inner F) error {
	if out.NumElements() == 0 {
		return nil
	}
	n := out.Shape[axis]
	l := linesOf(out, in, axis)
	src, dst := memory[point[F]](in), memory[F](out)
	if n%2 != 0 {
		return with(n, func(p *plan[F]) {
			lanes := p.lanes(&l)
			l.each(lanes, n, p.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
				b := p.buffer(len(group), work)
				for i, at := range group {
					spread(b.x[i:], len(group), src[at.in:], l.inStep, n, edge, inner)
				}
				x := p.transform(b.x, nil, &b, len(group), shared)
				for i, at := range group {
					for j := range n {
						dst[at.out+j*l.toStep] = x[j*len(group)+i].im
					}
				}
			})
		})
	}
	return withHalf(n, func(h *half[F]) {
		lanes := h.lanes(&l)
		l.each(lanes, n/2, h.bytes(lanes), func(group []line, work unsafe.Pointer, shared bool) {
			b := h.buffer(len(group), work)
			for i, at := range group {
				h.join(b.x[i:], len(group), src[at.in:], l.inStep, n, edge, inner)
			}
			h.unpair(dst, h.transform(b.x, nil, &b, len(group), shared), group, l.toStep)
		})
	})
}

// spread writes the whole spectrum of n real points, n odd, to x with parts
// exchanged.
func spread[F float](x []point[F], step int, src []point[F], from, n int, edge, inner F) {
	x[0] = point[F]{0, src[0].re * edge}
	for k := 1; 2*k < n; k++ {
		v := point[F]{src[k*from].re * inner, src[k*from].im * inner}
		x[k*step] = point[F]{v.im, v.re}
		x[(n-k)*step] = point[F]{-v.im, v.re}
	}
}
