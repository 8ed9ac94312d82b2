// Remainders by a number that is the same for all elements, without a division for each.

#pragma once

#include "real.cuh"

namespace sinter {

// reciprocal returns floor((2^64 - 1)/d) for 0 < d < 2^63. Two quotients of doubles leave
// at most one to correct.
SINTER_FN unsigned long long reciprocal(unsigned long long d) {
  const double r = 1 / double(d);
  unsigned long long m = __double2ull_rz(r * 0x1p64);  // of 1 it is the greatest
  long long rest = (long long)~(m * d);                // 2^64 - 1 - m d
  const long long more = __double2ll_rd(double(rest) * r);
  m += more;
  rest -= more * (long long)d;
  return rest < 0 ? m - 1 : rest >= (long long)d ? m + 1 : m;
}

// least_remainder returns a modulo d, whose reciprocal is m: the quotient that m gives is
// right or one too small. What is negative without a sign is greater than any remainder.
SINTER_FN unsigned long long least_remainder(unsigned long long a, unsigned long long d, unsigned long long m) {
  const unsigned long long r = a - __umul64hi(a, m) * d;
  return r < r - d ? r : r - d;
}

// remainder_by is remainder(a, b). All that depends on b alone is computed once for the
// elements of a thread. a is taken 2^63 higher, as it has no sign then.
SINTER_FN int64 remainder_by(int64 a, int64 b) {
  if (b <= 0) return remainder(a, b);
  const unsigned long long d = b, m = reciprocal(d), top = 1ull << 63;
  const unsigned long long r = least_remainder((unsigned long long)a ^ top, d, m) - least_remainder(top, d, m);
  return int64(r < r + d ? r : r + d);
}

}  // namespace sinter
