// Discrete Fourier transforms along the last axis of dense rows of complex numbers,
// where no library computes them: Stockham passes, each of which reads all rows and
// writes them elsewhere, and Bluestein's convolution for lengths with a large prime
// factor. Tables of roots of unity are computed for each call.
//
// One thread makes one butterfly, or one element. For the inverse transform parts
// are exchanged as they are read and as they are written.

#include "complex.cuh"

namespace sinter {

SINTER_FN long long fft_thread() { return (long long)(blockIdx.x) * blockDim.x + threadIdx.x; }
SINTER_FN long long fft_threads() { return (long long)(gridDim.x) * blockDim.x; }

// turn returns exp(-2*pi*i*k/n), 0 <= k < n. The fraction of a turn is formed around
// the nearest quarter, so that it is exact to double's last places.
SINTER_FN complex128 turn(long long k, long long n) {
  const long long quarter = (8 * k / n + 1) / 2;
  double s, c;
  ::sincospi(double(4 * k - quarter * n) / double(2 * n), &s, &c);
  switch (quarter & 3) {
    case 1: return {-s, -c};
    case 2: return {-c, s};
    case 3: return {s, c};
  }
  return {c, -s};
}

template <class R> SINTER_FN void fft_roots(complex<R>* out, long long n) {
  for (long long k = fft_thread(); k < n; k += fft_threads()) out[k] = complex<R>(turn(k, n));
}

template <class R> SINTER_FN complex<R> swapped(complex<R> z, int swap) { return swap ? complex<R>(z.im, z.re) : z; }

// A FftPass is one pass over rows of n points: n/(radix*stride) butterflies, each for
// stride interleaved sequences. roots are those of n. Results are multiplied by scale.
struct FftPass {
  long long rows, n, stride;
  int radix, inverse;
  double scale;
};

// The butterflies: a becomes its transform.
template <class R> SINTER_FN void butterfly(complex<R> (&a)[2]) {
  complex<R> b = a[0] - a[1];
  a[0] = a[0] + a[1];
  a[1] = b;
}

template <class R> SINTER_FN void butterfly(complex<R> (&a)[3]) {
  const R sine = R(0.86602540378443864676);
  const complex<R> t = a[1] + a[2], d = a[1] - a[2];
  const complex<R> u = {a[0].re - t.re / 2, a[0].im - t.im / 2}, v = {sine * d.re, sine * d.im};
  a[0] = a[0] + t;
  a[1] = {u.re + v.im, u.im - v.re};
  a[2] = {u.re - v.im, u.im + v.re};
}

template <class R> SINTER_FN void butterfly(complex<R> (&a)[4]) {
  const complex<R> s = a[0] + a[2], u = a[0] - a[2], t = a[1] + a[3], v = a[1] - a[3];
  a[0] = s + t;
  a[1] = {u.re + v.im, u.im - v.re};
  a[2] = s - t;
  a[3] = {u.re - v.im, u.im + v.re};
}

template <class R> SINTER_FN void butterfly(complex<R> (&a)[5]) {
  const R c1 = R(0.30901699437494742410), c2 = R(-0.80901699437494742410);
  const R s1 = R(0.95105651629515357212), s2 = R(0.58778525229247312917);
  const complex<R> s = a[1] + a[4], t = a[2] + a[3], u = a[1] - a[4], v = a[2] - a[3], x = a[0];
  const complex<R> p = {x.re + c1 * s.re + c2 * t.re, x.im + c1 * s.im + c2 * t.im};
  const complex<R> q = {x.re + c2 * s.re + c1 * t.re, x.im + c2 * s.im + c1 * t.im};
  const complex<R> f = {s1 * u.re + s2 * v.re, s1 * u.im + s2 * v.im};
  const complex<R> g = {s2 * u.re - s1 * v.re, s2 * u.im - s1 * v.im};
  a[0] = x + s + t;
  a[1] = {p.re + f.im, p.im - f.re};
  a[2] = {q.re + g.im, q.im - g.re};
  a[3] = {q.re - g.im, q.im + g.re};
  a[4] = {p.re - f.im, p.im + f.re};
}

template <int radix, class R>
SINTER_FN void fft_pass(complex<R>* out, const complex<R>* in, const complex<R>* roots, const FftPass& p) {
  const long long each = p.n / radix, apart = each;
  const R scale = R(p.scale);
  for (long long i = fft_thread(); i < p.rows * each; i += fft_threads()) {
    const long long row = i / each, at = i - row * each, j = at / p.stride, q = at - j * p.stride;
    const complex<R>* x = in + row * p.n + at;
    complex<R>* y = out + row * p.n + q + j * radix * p.stride;
    complex<R> a[radix];
#pragma unroll
    for (int k = 0; k < radix; k++) a[k] = swapped(x[k * apart], p.inverse);
    butterfly(a);
#pragma unroll
    for (int k = 0; k < radix; k++) {
      complex<R> z = k == 0 ? a[k] : a[k] * roots[j * k * p.stride];
      y[k * p.stride] = swapped(complex<R>(z.re * scale, z.im * scale), p.inverse);
    }
  }
}

// fft_pass_any makes one result a thread: butterflies of any radix, from 1.
template <class R>
SINTER_FN void fft_pass_any(complex<R>* out, const complex<R>* in, const complex<R>* roots, const FftPass& p) {
  const long long each = p.n / p.radix;
  const R scale = R(p.scale);
  for (long long i = fft_thread(); i < p.rows * p.n; i += fft_threads()) {
    const long long row = i / p.n, at = i - row * p.n, block = at / p.stride, q = at - block * p.stride;
    const long long j = block / p.radix;
    const int k = int(block - j * p.radix);
    const complex<R>* x = in + row * p.n + q + j * p.stride;
    complex<R> sum(R(0), R(0));
    int power = 0;
    for (int r = 0; r < p.radix; r++) {
      sum = sum + swapped(x[r * each], p.inverse) * roots[power * each];
      power += k;
      if (power >= p.radix) power -= p.radix;
    }
    sum = sum * roots[j * k * p.stride];
    out[i] = swapped(complex<R>(sum.re * scale, sum.im * scale), p.inverse);
  }
}

// A FftBins is the first bins elements of spectra of n elements, inner columns of
// them, which lie pitch apart. The result has no gaps.
struct FftBins {
  long long outer, bins, inner, pitch, n;
  double edge, twice;  // factors: of elements 0 and n/2, and of those that stand for two
  int real;            // elements 0 and n/2 lose their imaginary part
  int turned;          // elements become their conjugates
};

template <class R> SINTER_FN complex<R> weighed(complex<R> z, long long k, const FftBins& p) {
  const bool edge = k == 0 || 2 * k == p.n;
  const R by = R(edge ? p.edge : p.twice), im = z.im * by;
  return {z.re * by, edge && p.real ? R(0) : p.turned ? -im : im};
}

// fft_each calls f with each number below count that this thread has and with its quotient by row and
// what is left, in words where count allows it.
template <class F> SINTER_FN void fft_each(long long count, long long row, const F& f) {
  if (count < 1ll << 31) {
    const unsigned divisor = unsigned(row);
#pragma unroll 4
    for (unsigned i = unsigned(fft_thread()); i < unsigned(count); i += unsigned(fft_threads())) {
      const unsigned o = i / divisor;
      f(i, o, i - o * divisor);
    }
  } else {
    for (long long i = fft_thread(); i < count; i += fft_threads()) {
      const long long o = i / row;
      f(i, o, i - o * row);
    }
  }
}

template <class R> SINTER_FN void fft_bins(complex<R>* out, const complex<R>* in, const FftBins& p) {
  const long long row = p.bins * p.inner;
  fft_each(p.outer * row, row, [&](auto i, auto o, auto at) {
    out[i] = weighed(in[o * p.pitch + at], p.inner == 1 ? at : at / decltype(at)(p.inner), p);
  });
}

// A FftPlanes is halves of spectra of several axes: groups of m0 * m1 rows of bins, of n points each.
struct FftPlanes {
  long long groups, m0, m1, bins, n;
  double edge, twice;
};

// fft_planes writes such halves with what makes real numbers of those at 0 and n/2: each becomes the mean
// of itself and of the conjugate of the one with numbers that are the negatives of its own, of which
// the other transforms would have left the real parts.
template <class R> SINTER_FN void fft_planes(complex<R>* out, const complex<R>* in, const FftPlanes& p) {
  fft_each(p.groups * p.m0 * p.m1 * p.bins, p.bins, [&](auto i, auto row, auto k) {
    complex<R> z = in[i];
    if (k != 0 && 2 * (long long)k != p.n) {
      out[i] = {z.re * R(p.twice), z.im * R(p.twice)};
      return;
    }
    const long long plane = p.m0 * p.m1, group = row / plane, rest = row - group * plane, a = rest / p.m1, b = rest - a * p.m1;
    const complex<R> other = in[(group * plane + (a == 0 ? 0 : p.m0 - a) * p.m1 + (b == 0 ? 0 : p.m1 - b)) * p.bins + k];
    const R half = R(p.edge / 2);
    out[i] = {(z.re + other.re) * half, (z.im - other.im) * half};
  });
}

// fft_spread makes whole spectra, rows of n, of their first bins elements.
template <class R> SINTER_FN void fft_spread(complex<R>* out, const complex<R>* in, const FftBins& p) {
  for (long long i = fft_thread(); i < p.outer * p.n; i += fft_threads()) {
    const long long o = i / p.n, k = i - o * p.n;
    const complex<R>* x = in + o * p.bins;
    out[i] = k < p.bins ? weighed(x[k], k, p) : conj(weighed(x[p.n - k], p.n - k, p));
  }
}

// fft_scale multiplies count numbers, whose address is a multiple of two of them, by one factor and
// every second one by another.
template <class R> SINTER_FN void fft_scale(R* x, long long count, double by, double second) {
  struct alignas(2 * sizeof(R)) Pair { R a, b; };
  const R factor = R(by), other = R(second);
  Pair* pairs = (Pair*)(x);
  for (long long i = fft_thread(); i < count / 2; i += fft_threads()) {
    Pair v = pairs[i];
    pairs[i] = {v.a * factor, v.b * other};
  }
  if (count % 2 != 0 && fft_thread() == 0) x[count - 1] *= factor;
}

// A Chirp is the transform of n points as a convolution over m, in double.
struct Chirp {
  long long rows, n, m;
  int inverse;
  double scale;
};

// chirp_table writes exp(-pi*i*k*k/n).
SINTER_FN void chirp_table(complex128* out, const Chirp& p) {
  for (long long k = fft_thread(); k < p.n; k += fft_threads()) {
    const unsigned long long square = (unsigned long long)(k) * (unsigned long long)(k);
    out[k] = turn((long long)(square % (2ull * (unsigned long long)(p.n))), 2 * p.n);
  }
}

// chirp_kernel writes the conjugates of the table around zero, over m.
SINTER_FN void chirp_kernel(complex128* out, const complex128* table, const Chirp& p) {
  const double by = 1 / double(p.m);
  for (long long k = fft_thread(); k < p.m; k += fft_threads()) {
    const long long at = k < p.n ? k : p.m - k;
    complex128 z(0.0, 0.0);
    if (at < p.n) z = {table[at].re * by, -table[at].im * by};
    out[k] = z;
  }
}

template <class R>
SINTER_FN void chirp_load(complex128* out, const complex<R>* in, const complex128* table, const Chirp& p) {
  for (long long i = fft_thread(); i < p.rows * p.m; i += fft_threads()) {
    const long long row = i / p.m, k = i - row * p.m;
    complex128 z(0.0, 0.0);
    if (k < p.n) z = complex128(swapped(in[row * p.n + k], p.inverse)) * table[k];
    out[i] = z;
  }
}

SINTER_FN void chirp_multiply(complex128* x, const complex128* spectrum, const Chirp& p) {
  for (long long i = fft_thread(); i < p.rows * p.m; i += fft_threads()) x[i] = x[i] * spectrum[i % p.m];
}

template <class R>
SINTER_FN void chirp_store(complex<R>* out, const complex128* in, const complex128* table, const Chirp& p) {
  for (long long i = fft_thread(); i < p.rows * p.n; i += fft_threads()) {
    const long long row = i / p.n, k = i - row * p.n;
    complex128 z = in[row * p.m + k] * table[k];
    out[i] = swapped(complex<R>(complex128(z.re * p.scale, z.im * p.scale)), p.inverse);
  }
}

}  // namespace sinter

#define SINTER_FFT_PASS(dtype, radix)                                                                               \
  extern "C" __global__ void __launch_bounds__(256) fft_pass_##radix##_##dtype(                                     \
      sinter::dtype* out, const sinter::dtype* in, const sinter::dtype* roots, sinter::FftPass p) {                 \
    sinter::fft_pass<radix>(out, in, roots, p);                                                                     \
  }

#define SINTER_FFT(dtype, real)                                                                                     \
  SINTER_FFT_PASS(dtype, 2)                                                                                         \
  SINTER_FFT_PASS(dtype, 3)                                                                                         \
  SINTER_FFT_PASS(dtype, 4)                                                                                         \
  SINTER_FFT_PASS(dtype, 5)                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) fft_pass_any_##dtype(                                           \
      sinter::dtype* out, const sinter::dtype* in, const sinter::dtype* roots, sinter::FftPass p) {                 \
    sinter::fft_pass_any(out, in, roots, p);                                                                        \
  }                                                                                                                 \
  extern "C" __global__ void fft_roots_##dtype(sinter::dtype* out, long long n) { sinter::fft_roots(out, n); }      \
  extern "C" __global__ void fft_bins_##dtype(sinter::dtype* out, const sinter::dtype* in, sinter::FftBins p) {     \
    sinter::fft_bins(out, in, p);                                                                                   \
  }                                                                                                                 \
  extern "C" __global__ void fft_planes_##dtype(sinter::dtype* out, const sinter::dtype* in, sinter::FftPlanes p) { \
    sinter::fft_planes(out, in, p);                                                                                 \
  }                                                                                                                 \
  extern "C" __global__ void fft_spread_##dtype(sinter::dtype* out, const sinter::dtype* in, sinter::FftBins p) {   \
    sinter::fft_spread(out, in, p);                                                                                 \
  }                                                                                                                 \
  extern "C" __global__ void fft_scale_##real(sinter::real* x, long long count, double by, double second) {         \
    sinter::fft_scale(x, count, by, second);                                                                        \
  }                                                                                                                 \
  extern "C" __global__ void chirp_load_##dtype(sinter::complex128* out, const sinter::dtype* in,                   \
                                                const sinter::complex128* table, sinter::Chirp p) {                 \
    sinter::chirp_load(out, in, table, p);                                                                          \
  }                                                                                                                 \
  extern "C" __global__ void chirp_store_##dtype(sinter::dtype* out, const sinter::complex128* in,                  \
                                                 const sinter::complex128* table, sinter::Chirp p) {                \
    sinter::chirp_store(out, in, table, p);                                                                         \
  }

SINTER_FFT(complex64, float32)
SINTER_FFT(complex128, float64)

extern "C" __global__ void chirp_table(sinter::complex128* out, sinter::Chirp p) { sinter::chirp_table(out, p); }

extern "C" __global__ void chirp_kernel(sinter::complex128* out, const sinter::complex128* table, sinter::Chirp p) {
  sinter::chirp_kernel(out, table, p);
}

extern "C" __global__ void chirp_multiply(sinter::complex128* x, const sinter::complex128* spectrum, sinter::Chirp p) {
  sinter::chirp_multiply(x, spectrum, p);
}
