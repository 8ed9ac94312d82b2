// Powers of complex numbers, of 0 too. They stand apart from complex.cuh, whose pow is
// that of any other base, so that only modules with powers are made of them.

#pragma once

#include "complex.cuh"

namespace sinter {

// power_of_zero returns 0^b: 1 for b of 0, 0 where the real part of b is positive and
// infinite where it is negative. It is NaN where there is no limit.
template <class R> SINTER_FN complex<R> power_of_zero(complex<R> b) {
  const R inf = infinity<R>(), nan = quiet_nan<R>();
  if (b.re == 0 && b.im == 0) return {R(1), R(0)};
  if (!(abs(b.re) > 0) || (isinf(b.im) && isfinite(b.re))) return {nan, nan};
  if (b.re > 0) return {R(0), R(0)};
  return {inf, b.im == 0 ? R(0) : isnan(b.im) ? nan : inf};
}

template <class R> SINTER_FN complex<R> power(complex<R> a, complex<R> b) {
  return a.re == 0 && a.im == 0 ? power_of_zero(b) : pow(a, b);
}

}  // namespace sinter
