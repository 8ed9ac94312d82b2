// Package fft computes discrete Fourier transforms on the host, along one axis of
// strided memory at a time. Lengths with small prime factors are done by Stockham
// passes of mixed radix, which leave everything in order; others as a convolution
// by Bluestein's algorithm. The error grows with the logarithm of the length. The
// package knows nothing of operators.
package fft

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

// Plans keeps the tables of the lengths used last. A plan takes about as much
// memory as one line of its length.
var Plans = fftplans.New(64)

type float interface{ float32 | float64 }

// A point is a complex number, in the memory of complex64 or complex128.
type point[F float] struct{ re, im F }

func (a point[F]) mul(b point[F]) point[F] {
	return point[F]{a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re}
}

// root returns exp(-2*pi*i*k/n), rounded once or twice from the exact value, for
// 0 <= k < n. The angle is reduced to an eighth of a turn first, so that symmetric
// roots are equal.
func root[F float](k, n int) point[F] {
	eighth := 8 * k / n
	var c, s float64 // of the angle's distance from the nearest multiple of a quarter turn
	quarter := (eighth + 1) / 2
	s, c = math.Sincos(2 * math.Pi * (float64(4*k-quarter*n) / 4) / float64(n))
	switch quarter & 3 {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return point[F]{F(c), F(-s)}
}

// maxRadix is the largest prime that a pass is done by.
const maxRadix = 61

// A plan is what a transform of n points needs: passes, or the convolution that
// does it.
type plan[F float] struct {
	n       int
	passes  []pass[F]
	chirp   *chirp
	vectors *vectors[F]
}

// A pass is one step of a Stockham transform: m butterflies of radix points each,
// for every one of stride interleaved sequences.
type pass[F float] struct {
	radix, m, stride int
	twiddles         []point[F] // radix-1 for each butterfly: the factors of results 1, 2, ...; the first butterfly's are ones
	columns          []point[F] // twiddles of radix 4 with those of all first results first, where vectors do the pass; or nil
	roots            []point[F] // exp(-2*pi*i*k/radix), where the radix has no code of its own
}

// factors returns the radices that make n, and what is left of n with primes above
// maxRadix. A radix of 4 is first, where there is one: vectors do that pass. The
// larger ones follow first.
func factors(n int) (radices []int, rest int) {
	var first []int
	if n%4 == 0 {
		first, n = []int{4}, n/4
	}
	for p := 3; p <= maxRadix; p += 2 {
		for n%p == 0 {
			radices, n = append([]int{p}, radices...), n/p
		}
	}
	radices = append(first, radices...)
	for n%4 == 0 {
		radices, n = append(radices, 4), n/4
	}
	if n%2 == 0 {
		radices, n = append(radices, 2), n/2
	}
	return radices, n
}

// newPlan returns the plan of n points, n > 0, at a level of vector instructions.
func newPlan[F float](n int, level simd.Level) *plan[F] {
	radices, rest := factors(n)
	p := &plan[F]{n: n, vectors: vectorsOf[F](level)}
	if rest > 1 {
		p.chirp = newChirp(n, level)
		return p
	}
	left, stride := n, 1
	for _, r := range radices {
		s := pass[F]{radix: r, m: left / r, stride: stride}
		s.twiddles = make([]point[F], 0, s.m*(r-1))
		for j := range s.m {
			for k := 1; k < r; k++ {
				s.twiddles = append(s.twiddles, root[F](j*k, left))
			}
		}
		if r == 4 && stride == 1 && p.vectors.first != nil && s.m >= p.vectors.firstLeast {
			s.columns = make([]point[F], 3*s.m)
			for i, w := range s.twiddles {
				s.columns[i%3*s.m+i/3] = w
			}
		}
		if r > 5 {
			for k := range r {
				s.roots = append(s.roots, root[F](k, r))
			}
		}
		p.passes = append(p.passes, s)
		left, stride = s.m, stride*r
	}
	return p
}

// A half is what a transform between n real points, n even, and the first half of
// their spectrum needs: that of n/2 points, and the roots exp(-2*pi*i*k/n) up to
// k = n/4.
type half[F float] struct {
	*plan[F]
	roots []point[F]
}

func newHalf[F float](n int, level simd.Level) *half[F] {
	h := &half[F]{plan: newPlan[F](n/2, level)}
	for k := 0; 4*k <= n; k++ {
		h.roots = append(h.roots, root[F](k, n))
	}
	return h
}

// The keys of plans by length and precision.
type (
	planKey[F float] int
	halfKey[F float] int
)

// with calls f with the plan of n points.
func with[F float](n int, f func(*plan[F])) error {
	return Plans.Use(planKey[F](n), func() (any, error) { return newPlan[F](n, simd.Active()), nil }, func(p any) error {
		f(p.(*plan[F]))
		return nil
	})
}

// withHalf calls f with the half plan of n real points.
func withHalf[F float](n int, f func(*half[F])) error {
	return Plans.Use(halfKey[F](n), func() (any, error) { return newHalf[F](n, simd.Active()), nil }, func(p any) error {
		f(p.(*half[F]))
		return nil
	})
}
