// Codes of floats of 8 bits.
//
//   float8_DTYPE(Float8 f, long long n, const DTYPE* x, unsigned char* codes)
//       the code of each element, the nearest one, the even one of two. Blocks of 256 threads,
//       best with ceil(n / 4096) of them.

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
