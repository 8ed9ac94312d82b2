// Quotients rounded down, quick where they are not large.

#pragma once

#include "real.cuh"

namespace sinter {

template <class T, if_int<T> = 0> SINTER_FN T floor_quotient(T a, T b) { return floordiv(a, b); }

// floor_quotient is floordiv. Up to 2^22 the quotient rounded to a whole number below is that of the
// exact one, or, where it was rounded up to a whole number, one more. Then what is left has not the sign of b:
// it is a multiple of the last place of a or b and no larger than either, so that fma does not round it, or
// the quotient is 0 or -1, and fma keeps its sign. Infinite b leave NaN.
template <class T, if_float<T> = 0> SINTER_FN T floor_quotient(T a, T b) {
  const T f = floor(a / b), rest = fma(-f, b, a);
  if (abs(f) < T(1 << 22) && rest == rest) return rest != 0 && (rest < 0) != (b < 0) ? f - 1 : f;
  return floordiv(a, b);
}

}  // namespace sinter
