package fft

import "github.com/sinter-go/sinter/backend/cpu/pool"

// passWork is how many points of a pass are worth another processor.
const passWork = 8192

// run transforms the lanes sequences that are interleaved in in, n points each, and
// returns where the result is: in out, unless that is nil. It works in x and y,
// which are as long; in may be x, and out may be in where there is more than one
// pass. The processors share each pass where shared is set. The plan has passes.
func (p *plan[F]) run(in, out, x, y []point[F], lanes int, shared bool) []point[F] {
	for i := range p.passes {
		s := &p.passes[i]
		width := s.stride * lanes
		if i == len(p.passes)-1 && out != nil {
			y = out
		}
		if shared {
			s.share(p.vectors, y, in, width)
		} else {
			s.step(p.vectors, y, in, width, 0, s.m, 0, width)
		}
		in, x, y = y, y, x
	}
	return in
}

// unit is how many points the widest vectors have.
const unit = 8

// share is step for all of a pass, done by all processors.
func (s *pass[F]) share(v *vectors[F], y, x []point[F], width int) {
	if s.m >= width {
		inUnits(s.m, passWork/(s.radix*width), func(lo, hi int) { s.step(v, y, x, width, lo, hi, 0, width) })
	} else {
		inUnits(width, passWork/(s.radix*s.m), func(lo, hi int) { s.step(v, y, x, width, 0, s.m, lo, hi) })
	}
}

// inUnits has the processors do parts of [0, n), of about grain each. None is shorter
// than a unit unless n is: whether vectors do a part, which round otherwise, does
// not depend on how many processors there are.
func inUnits(n, grain int, f func(lo, hi int)) {
	units := max(1, n/unit)
	pool.For(units, max(1, grain/unit), func(lo, hi int) {
		end := hi * unit
		if hi == units {
			end = n
		}
		f(lo*unit, end)
	})
}

// step does butterflies from to to of a pass from x to y, for the places lo to hi
// among the width interleaved sequences.
func (s *pass[F]) step(v *vectors[F], y, x []point[F], width, from, to, lo, hi int) {
	if s.byVectors(v, y, x, width, from, to, lo, hi) {
		return
	}
	for j := from; j < to; j++ {
		var w []point[F]
		if j > 0 {
			w = s.twiddles[j*(s.radix-1) : (j+1)*(s.radix-1)]
		}
		in, out := x[j*width:], y[j*s.radix*width:]
		switch s.radix {
		case 2:
			radix2(out, in, w, width, s.m*width, lo, hi)
		case 3:
			radix3(out, in, w, width, s.m*width, lo, hi)
		case 4:
			radix4(out, in, w, width, s.m*width, lo, hi)
		case 5:
			radix5(out, in, w, width, s.m*width, lo, hi)
		default:
			s.odd(out, in, w, width, s.m*width, lo, hi)
		}
	}
}

// The butterflies below transform the points at lo, lo+apart, lo+2*apart and so on
// of x, up to hi, multiply all results but the first by the factors in w, of which
// none are ones, and write them to y, width apart.

func radix2[F float](y, x, w []point[F], width, apart, lo, hi int) {
	x0, x1 := x[lo:hi], x[apart+lo:apart+hi]
	y0, y1 := y[lo:hi], y[width+lo:width+hi]
	for i, a := range x0 {
		b := x1[i]
		y0[i] = point[F]{a.re + b.re, a.im + b.im}
		d := point[F]{a.re - b.re, a.im - b.im}
		if w != nil {
			d = d.mul(w[0])
		}
		y1[i] = d
	}
}

func radix3[F float](y, x, w []point[F], width, apart, lo, hi int) {
	const sine = 0.86602540378443864676 // of a third of a turn
	w1, w2 := point[F]{1, 0}, point[F]{1, 0}
	if w != nil {
		w1, w2 = w[0], w[1]
	}
	for i := lo; i < hi; i++ {
		a, b, c := x[i], x[i+apart], x[i+2*apart]
		t := point[F]{b.re + c.re, b.im + c.im}
		u := point[F]{a.re - t.re/2, a.im - t.im/2}
		v := point[F]{sine * (b.re - c.re), sine * (b.im - c.im)}
		y[i] = point[F]{a.re + t.re, a.im + t.im}
		y[i+width] = point[F]{u.re + v.im, u.im - v.re}.mul(w1)
		y[i+2*width] = point[F]{u.re - v.im, u.im + v.re}.mul(w2)
	}
}

func radix4[F float](y, x, w []point[F], width, apart, lo, hi int) {
	x0, x1 := x[lo:hi], x[apart+lo:apart+hi]
	x2, x3 := x[2*apart+lo:2*apart+hi], x[3*apart+lo:3*apart+hi]
	y0, y1 := y[lo:hi], y[width+lo:width+hi]
	y2, y3 := y[2*width+lo:2*width+hi], y[3*width+lo:3*width+hi]
	w1, w2, w3 := point[F]{1, 0}, point[F]{1, 0}, point[F]{1, 0}
	if w != nil {
		w1, w2, w3 = w[0], w[1], w[2]
	}
	for i, a := range x0 {
		b, c, d := x1[i], x2[i], x3[i]
		s, t := point[F]{a.re + c.re, a.im + c.im}, point[F]{b.re + d.re, b.im + d.im}
		u, v := point[F]{a.re - c.re, a.im - c.im}, point[F]{b.re - d.re, b.im - d.im}
		y0[i] = point[F]{s.re + t.re, s.im + t.im}
		y1[i] = point[F]{u.re + v.im, u.im - v.re}.mul(w1)
		y2[i] = point[F]{s.re - t.re, s.im - t.im}.mul(w2)
		y3[i] = point[F]{u.re - v.im, u.im + v.re}.mul(w3)
	}
}

func radix5[F float](y, x, w []point[F], width, apart, lo, hi int) {
	const ( // of a fifth and of two fifths of a turn
		cos1, cos2 = 0.30901699437494742410, -0.80901699437494742410
		sin1, sin2 = 0.95105651629515357212, 0.58778525229247312917
	)
	var ones = [4]point[F]{{1, 0}, {1, 0}, {1, 0}, {1, 0}}
	if w == nil {
		w = ones[:]
	}
	w1, w2, w3, w4 := w[0], w[1], w[2], w[3]
	for i := lo; i < hi; i++ {
		a, b, c, d, e := x[i], x[i+apart], x[i+2*apart], x[i+3*apart], x[i+4*apart]
		s, t := point[F]{b.re + e.re, b.im + e.im}, point[F]{c.re + d.re, c.im + d.im}
		u, v := point[F]{b.re - e.re, b.im - e.im}, point[F]{c.re - d.re, c.im - d.im}
		p := point[F]{a.re + cos1*s.re + cos2*t.re, a.im + cos1*s.im + cos2*t.im}
		q := point[F]{a.re + cos2*s.re + cos1*t.re, a.im + cos2*s.im + cos1*t.im}
		f := point[F]{sin1*u.re + sin2*v.re, sin1*u.im + sin2*v.im}
		g := point[F]{sin2*u.re - sin1*v.re, sin2*u.im - sin1*v.im}
		y[i] = point[F]{a.re + s.re + t.re, a.im + s.im + t.im}
		y[i+width] = point[F]{p.re + f.im, p.im - f.re}.mul(w1)
		y[i+2*width] = point[F]{q.re + g.im, q.im - g.re}.mul(w2)
		y[i+3*width] = point[F]{q.re - g.im, q.im + g.re}.mul(w3)
		y[i+4*width] = point[F]{p.re - f.im, p.im + f.re}.mul(w4)
	}
}

// odd is the butterfly of any odd radix up to maxRadix.
func (s *pass[F]) odd(y, x, w []point[F], width, apart, lo, hi int) {
	var sums, differences [maxRadix/2 + 1]point[F]
	r := s.radix
	for i := lo; i < hi; i++ {
		first := x[i]
		total := first
		for k := 1; k <= r/2; k++ {
			a, b := x[i+k*apart], x[i+(r-k)*apart]
			sums[k] = point[F]{a.re + b.re, a.im + b.im}
			differences[k] = point[F]{a.re - b.re, a.im - b.im}
			total = point[F]{total.re + sums[k].re, total.im + sums[k].im}
		}
		y[i] = total
		for k := 1; k <= r/2; k++ {
			u, v := first, point[F]{}
			at := 0
			for j := 1; j <= r/2; j++ {
				if at += k; at >= r {
					at -= r
				}
				c := s.roots[at]
				u = point[F]{u.re + c.re*sums[j].re, u.im + c.re*sums[j].im}
				v = point[F]{v.re + c.im*differences[j].re, v.im + c.im*differences[j].im}
			}
			low, high := point[F]{u.re - v.im, u.im + v.re}, point[F]{u.re + v.im, u.im - v.re}
			if w != nil {
				low, high = low.mul(w[k-1]), high.mul(w[r-k-1])
			}
			y[i+k*width], y[i+(r-k)*width] = low, high
		}
	}
}
