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

// short_limit is the greatest number whose remainders are computed in words.
constexpr long long short_limit = 1 << 15;

// A Short is what remainders by a d from 1 to short_limit share: floor((2^32 - 1)/d), 2^32 modulo d,
// and what -2^63 is modulo d, or d for 0.
struct Short {
  unsigned d, reciprocal, carry, shift;

  // rest returns w modulo d, or d more than that.
  SINTER_FN unsigned rest(unsigned w) const { return w - __umulhi(w, reciprocal) * d; }

  SINTER_FN unsigned least(unsigned w) const {
    const unsigned r = rest(w);
    return r < r - d ? r : r - d;
  }

  // of returns remainder(a, d): of the high word, 2^31 higher, at most 2^16 are left, and each
  // stands for 2^32.
  SINTER_FN unsigned of(int64 a) const {
    const unsigned high = unsigned((unsigned long long)a >> 32) ^ 0x80000000u;
    return least(rest(high) * carry + rest(unsigned(a)) + shift);
  }
};

// short_by takes any d: of one that is out of range it returns nothing of use. The half and the
// error of the reciprocal are less than what is missing to the next whole number. There is no division
// of integers in it, which would stay in loops.
SINTER_FN Short short_by(int64 b) {
  const unsigned d = unsigned(b), m = __double2uint_rz((1 / double((unsigned long long)b)) * 0x1.ffffffffp31), last = 0xffffffffu - m * d;
  Short s = {d, m, last + 1 == d ? 0 : last + 1, 0};
  s.shift = d - s.least(s.rest(0x80000000u) * s.carry);
  return s;
}

// remainder_by is remainder(a, b). All that depends on b alone is computed once for the
// elements of a thread. a is taken 2^63 higher, as it has no sign then.
SINTER_FN int64 remainder_by(int64 a, int64 b) {
  const Short words = short_by(b);
  if (b <= 0) return remainder(a, b);
  if (b <= short_limit) return words.of(a);
  const unsigned long long d = b, m = reciprocal(d), top = 1ull << 63;
  const unsigned long long r = least_remainder((unsigned long long)a ^ top, d, m) - least_remainder(top, d, m);
  return int64(r < r + d ? r : r + d);
}

}  // namespace sinter
