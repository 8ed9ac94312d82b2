// Logarithms of running sums of exponentials.
//
//   logcumsumexp_DTYPE is a scan of scan.cuh. A state has the largest of its elements and the
//   sum of the exponentials of what the elements are above that: to join two takes one
//   exponential, where logarithms of sums would take a logarithm as well, and a result one
//   logarithm of a number that is 1 or more.

#include "extreme.cuh"
#include "scan.cuh"

namespace sinter {

// near_exp returns exp(x) for x <= 0, as near as a number that is added to 1 or more needs it:
// the error of the product is |x| in the last place, that of the result at most exp(-1).
SINTER_FN double near_exp(double x) { return exp(x); }
SINTER_FN float near_exp(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
  return r;
}

template <class T> struct LogCumSumExp {
  struct Acc {
    T most, sum;
  };

  SINTER_FN Acc init() const { return {-infinity<T>(), T(0)}; }
  SINTER_FN Acc map(T x) const { return {x, T(1)}; }
  SINTER_FN Acc combine(Acc a, Acc b) const {
    // Of equal infinities the difference is no number.
    const T less = a.most == b.most ? T(1) : near_exp(-abs(a.most - b.most));
    return {max(a.most, b.most), a.most < b.most ? a.sum * less + b.sum : a.sum + b.sum * less};
  }
  SINTER_FN T finish(Acc a, long long count) const { return a.most + log(a.sum); }
};

}  // namespace sinter

using namespace sinter;

#define SINTER_LOGCUMSUMEXP(S) SINTER_SCAN(logcumsumexp_##S, LogCumSumExp<compute_t<S>>, S, S)
SINTER_LOGCUMSUMEXP(float16)
SINTER_LOGCUMSUMEXP(bfloat16)
SINTER_LOGCUMSUMEXP(float32)
SINTER_LOGCUMSUMEXP(float64)
