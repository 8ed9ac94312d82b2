// frexp_DTYPE(long long count, DTYPE* mantissa, long long* exponent, const DTYPE* x)
//     the numbers' mantissas from a half to below 1, and exponents, from their bits. Blocks of 256 threads, best
//     with ceil(count / 2048) of them.

#include "space.cuh"

namespace sinter {

constexpr int frexp_threads = 256, frexp_vectors = 4;

// significand returns the mantissa of x. Zeros, infinities and NaN are their own, of exponent 0.
SINTER_FN float significand(float x, int64& exponent) {
  const bool tiny = (__float_as_uint(x) & 0x7f800000u) == 0;
  const float y = tiny ? x * 0x1p24f : x;
  const unsigned bits = __float_as_uint(y), e = bits >> 23 & 255;
  const bool plain = e != 0 && e != 255;
  exponent = plain ? int64(int(e) - 126 - (tiny ? 24 : 0)) : 0;
  return plain ? __uint_as_float((bits & 0x807fffffu) | 126u << 23) : x;
}

SINTER_FN double significand(double x, int64& exponent) {
  const bool tiny = ((unsigned long long)__double_as_longlong(x) >> 52 & 2047) == 0;
  const double y = tiny ? x * 0x1p54 : x;
  const unsigned long long bits = __double_as_longlong(y);
  const int e = int(bits >> 52 & 2047);
  const bool plain = e != 0 && e != 2047;
  exponent = plain ? int64(e - 1022 - (tiny ? 54 : 0)) : 0;
  return plain ? __longlong_as_double((long long)((bits & 0x800fffffffffffffull) | 1022ull << 52)) : x;
}

template <class S> SINTER_FN void frexp(long long count, S* mantissa, int64* exponent, const S* x) {
  constexpr int step = frexp_threads * 2;
  const bool vectors = aligned(x, 2 * sizeof(S)) && aligned(mantissa, 2 * sizeof(S)) && aligned(exponent, 16);
#pragma unroll 1
  for (long long base = (long long)blockIdx.x * (step * frexp_vectors) + threadIdx.x * 2; base < count; base += (long long)gridDim.x * (step * frexp_vectors)) {
    if (vectors && base + (frexp_vectors - 1) * step + 1 < count) {
      Vector<S, 2> v[frexp_vectors];
#pragma unroll
      for (int u = 0; u < frexp_vectors; u++) v[u] = load<2>(x + base + u * step);
#pragma unroll
      for (int u = 0; u < frexp_vectors; u++) {
        Vector<int64, 2> e;
#pragma unroll
        for (int k = 0; k < 2; k++) v[u].at[k] = cast<S>(significand(cast<compute_t<S>>(v[u].at[k]), e.at[k]));
        store(mantissa + base + u * step, v[u]);
        store(exponent + base + u * step, e);
      }
      continue;
    }
#pragma unroll 1
    for (int u = 0; u < frexp_vectors; u++) {
#pragma unroll 1
      for (long long i = base + u * step; i < base + u * step + 2 && i < count; i++) {
        mantissa[i] = cast<S>(significand(cast<compute_t<S>>(x[i]), exponent[i]));
      }
    }
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_FREXP(dtype)                                                         \
  extern "C" __global__ void __launch_bounds__(frexp_threads) frexp_##dtype(        \
      long long count, dtype* mantissa, long long* exponent, const dtype* x) {      \
    frexp(count, mantissa, exponent, x);                                            \
  }

SINTER_FREXP(float16)
SINTER_FREXP(bfloat16)
SINTER_FREXP(float32)
SINTER_FREXP(float64)
