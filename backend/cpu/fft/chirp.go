package fft

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A chirp does a transform of any length n as a convolution of m points, a power of
// two: k*j is (k*k + j*j - (k-j)*(k-j))/2. It computes in float64 for float32 too,
// because the detour costs accuracy.
type chirp struct {
	factors  []point[float64] // exp(-pi*i*j*j/n) for j < n
	spectrum []point[float64] // the transform of their conjugates, around zero, over m
	inner    *plan[float64]   // of m points
}

func newChirp(n int, level simd.Level) *chirp {
	m := 1 << bits.Len(uint(2*n-2))
	c := &chirp{factors: make([]point[float64], n), inner: newPlan[float64](m, level)}
	square := 0 // j*j modulo 2*n
	kernel := make([]point[float64], m)
	for j := range n {
		w := root[float64](square, 2*n)
		c.factors[j] = w
		w = point[float64]{w.re / float64(m), -w.im / float64(m)}
		kernel[j] = w
		if j > 0 {
			kernel[m-j] = w
		}
		square = (square + 2*j + 1) % (2 * n)
	}
	c.spectrum = c.inner.run(kernel, nil, kernel, make([]point[float64], m), 1, false)
	return c
}

// size returns how many points of float64 transform needs to work in.
func (c *chirp) size() int { return 2 * c.inner.n }

// transform writes the transform of in to x, with work to work in.
func transform[F float](c *chirp, x, in []point[F], work []point[float64], shared bool) {
	m := c.inner.n
	a, b := work[:m], work[m:2*m]
	for j, v := range in {
		a[j] = point[float64]{float64(v.re), float64(v.im)}.mul(c.factors[j])
	}
	clear(a[len(x):])
	out := c.inner.run(a, nil, a, b, 1, shared)
	for k, v := range out { // parts exchanged: the transform back is the same one
		v = v.mul(c.spectrum[k])
		out[k] = point[float64]{v.im, v.re}
	}
	other := a
	if &out[0] == &a[0] {
		other = b
	}
	out = c.inner.run(out, nil, out, other, 1, shared)
	for k := range x {
		v := point[float64]{out[k].im, out[k].re}.mul(c.factors[k])
		x[k] = point[F]{F(v.re), F(v.im)}
	}
}
