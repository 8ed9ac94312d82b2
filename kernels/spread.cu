// Sums of squared distances from the mean, in one pass.
//
//   spread_DTYPE_inner, _outer, _merge
//       as reduce.cuh has them; the functor is the divisor, in the compute type.

#include "reduce.cuh"

namespace sinter {

// A Spread is the mean of some numbers, how many they are, and the sum of their
// squared distances from it.
template <class T> struct Spread {
  T mean, squares, count;
};

// reciprocal returns 1/x within two units in the last place: what it is off by is off
// in both of a mean and the distances from it.
SINTER_FN float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

SINTER_FN double reciprocal(double x) { return 1 / x; }

template <class T> struct SpreadFn {
  typedef Spread<T> Acc;
  T divisor;

  SINTER_FN Acc init() const { return {T(0), T(0), T(0)}; }
  SINTER_FN Acc map(T x) const { return {x, T(0), T(1)}; }
  SINTER_FN Acc combine(Acc a, Acc b) const {
    const T count = a.count + b.count, d = b.mean - a.mean;
    const T step = d * (b.count * reciprocal(count > T(1) ? count : T(1)));
    // A part of nothing has the mean 0, from which the distance may be infinite.
    if (b.count == T(0)) return a;
    if (a.count == T(0)) return b;
    return {a.mean + step, fma(d * a.count, step, a.squares + b.squares), count};
  }
  SINTER_FN T finish(Acc a, long long) const { return a.count == T(0) ? T(0) / divisor : a.squares / divisor; }
};

typedef SpreadFn<float> spread_float;
typedef SpreadFn<double> spread_double;
SINTER_REDUCE(spread_float16, spread_float, float16, float16)
SINTER_REDUCE(spread_bfloat16, spread_float, bfloat16, bfloat16)
SINTER_REDUCE(spread_float32, spread_float, float32, float32)
SINTER_REDUCE(spread_float64, spread_double, float64, float64)

}  // namespace sinter
