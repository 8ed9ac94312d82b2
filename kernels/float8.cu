// Codes of floats of 8 bits, and the numbers that they stand for.
//
//   float8_DTYPE(Float8 f, long long n, const DTYPE* x, unsigned char* codes)
//       the code of each element, the nearest one, the even one of two. Blocks of 256 threads,
//       best with ceil(n / 4096) of them.
//   float8_numbers(Float8Numbers f, long long n, const unsigned char* codes, unsigned* x)
//       the bits, as float32, of the number of each code. Blocks as before.

#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int float8_threads = 256;

// A Float8 is a format: 1/unit is its smallest normal number, and steps how many numbers it
// has from a power of two to the next. Above the code top comes over; nan is the code of NaN,
// and codes from least on have the sign.
struct Float8 {
  double unit;
  int steps, top, over, nan, least;
};

// power returns how often a number that is 1 or more can be halved, which leaves x.
SINTER_FN int power(float& x) {
  const int e = (__float_as_int(x) >> 23) - 127;
  x = __int_as_float(__float_as_int(x) - (e << 23));
  return e;
}
SINTER_FN int power(double& x) {
  const int e = (__double2hiint(x) >> 20) - 1023;
  x = __hiloint2double(__double2hiint(x) - (e << 20), __double2loint(x));
  return e;
}

template <class T> SINTER_FN unsigned float8_code(const Float8& f, T x) {
  T t = abs(x) * T(f.unit);
  const int e = t >= 2 ? power(t) : 0;
  int code = e > 127 ? 128 : e * f.steps + int(round(t * T(f.steps)));
  if (code > f.top) code = f.over;
  if (x != x) return f.nan;
  return signbit(x) && code >= f.least && code < 128 ? code + 128 : code;
}

template <class S> SINTER_FN void float8(const Float8& f, long long n, const S* x, unsigned char* codes) {
  typedef compute_t<S> T;
  constexpr int each = sizeof(S) > 4 ? 2 : 4;  // elements that a thread loads together
  const long long step = (long long)gridDim.x * float8_threads, thread = (long long)blockIdx.x * float8_threads + threadIdx.x;
  long long first = 0;
  if (aligned(x, sizeof(S) * each) && aligned(codes, each)) {
    const long long vectors = n / each;
#pragma unroll 4
    for (long long v = thread; v < vectors; v += step) {
      const Vector<S, each> t = load_once<each>(x + v * each);
      Vector<unsigned char, each> c;
#pragma unroll
      for (int k = 0; k < each; k++) c.at[k] = (unsigned char)float8_code(f, cast<T>(t.at[k]));
      store(codes + v * each, c);
    }
    first = vectors * each;
  }
#pragma unroll 1
  for (long long i = first + thread; i < n; i += step) codes[i] = (unsigned char)float8_code(f, cast<T>(x[i]));
}

// Float8Numbers are a format's numbers. Exponent and fraction of a code, shifted left to where a
// float32 has them, are that of its number over scale: subnormal ones too, so that the product is
// exact. Without the sign, codes above top are NaN, but infinity is what it says. The code nan, with its sign, is NaN.
struct Float8Numbers {
  float scale;
  unsigned shift, top, infinity, nan;
};

// float8_number returns the bits of the number of a code.
SINTER_FN unsigned float8_number(const Float8Numbers& f, unsigned code) {
  const unsigned magnitude = code & 127, none = 0x7fc00000u, sign = (code & 128) << 24;
  unsigned bits = __float_as_uint(__uint_as_float(magnitude << f.shift) * f.scale) | sign;
  if (magnitude > f.top) bits = magnitude == f.infinity ? 0x7f800000u | sign : none;
  return code == f.nan ? none : bits;
}

constexpr int numbers_each = 4, numbers_vectors = 4;  // codes that a thread loads together, and how often

// numbers_of has a warp write what follows each other, 16 bytes a thread.
SINTER_FN void numbers_of(const Float8Numbers& f, long long n, const unsigned char* codes, unsigned* x) {
  constexpr int step = float8_threads * numbers_each;
  constexpr long long tile = step * numbers_vectors;
  const bool vectors = aligned(codes, numbers_each) && aligned(x, 4 * numbers_each);
#pragma unroll 1
  for (long long base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    if (vectors && base + tile <= n) {
      const long long first = base + threadIdx.x * numbers_each;
      Vector<unsigned char, numbers_each> c[numbers_vectors];
#pragma unroll
      for (int u = 0; u < numbers_vectors; u++) c[u] = load<numbers_each>(codes + first + u * step);
#pragma unroll
      for (int u = 0; u < numbers_vectors; u++) {
        Vector<unsigned, numbers_each> v;
#pragma unroll
        for (int k = 0; k < numbers_each; k++) v.at[k] = float8_number(f, c[u].at[k]);
        store(x + first + u * step, v);
      }
      continue;
    }
    const long long end = base + tile < n ? base + tile : n;
#pragma unroll 4
    for (long long i = base + threadIdx.x; i < end; i += float8_threads) x[i] = float8_number(f, codes[i]);
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_FLOAT8(S)                                                                                    \
  extern "C" __global__ void __launch_bounds__(float8_threads) float8_##S(Float8 f, long long n, const S* x, \
                                                                          unsigned char* codes) {           \
    float8<S>(f, n, x, codes);                                                                              \
  }
SINTER_FLOAT8(float16)
SINTER_FLOAT8(bfloat16)
SINTER_FLOAT8(float32)
SINTER_FLOAT8(float64)

extern "C" __global__ void __launch_bounds__(float8_threads)
    float8_numbers(Float8Numbers f, long long n, const unsigned char* codes, unsigned* x) {
  numbers_of(f, n, codes, x);
}
