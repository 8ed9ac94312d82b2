// Counter-based random numbers: Philox 4x32-10 (Salmon et al., 2011). The key
// is the seed; the counter holds the element's linear index in its low half and
// the call's offset in its high half. Package ir/num defines the same numbers
// for Go: bits and uniforms agree exactly, normals within the rounding of log
// and cos.

#pragma once

#include "types.cuh"

namespace sinter {

// philox returns words 0 (in the high half) and 1 of the block.
SINTER_FN unsigned long long philox(int64 seed, int64 offset, int64 index) {
  unsigned c0 = unsigned(index), c1 = unsigned((unsigned long long)index >> 32);
  unsigned c2 = unsigned(offset), c3 = unsigned((unsigned long long)offset >> 32);
  unsigned k0 = unsigned(seed), k1 = unsigned((unsigned long long)seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; round++) {
    unsigned hi0 = __umulhi(0xD2511F53u, c0), lo0 = 0xD2511F53u * c0;
    unsigned hi1 = __umulhi(0xCD9E8D57u, c2), lo1 = 0xCD9E8D57u * c2;
    c0 = hi1 ^ c1 ^ k0;
    c1 = lo1;
    c2 = hi0 ^ c3 ^ k1;
    c3 = lo0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return (unsigned long long)c0 << 32 | c1;
}

SINTER_FN int64 random_bits(int64 seed, int64 offset, int64 index) { return int64(philox(seed, offset, index)); }

// uniform returns a number in [0, 1): the high 24 bits of word 0 for float, the
// high 53 of words 0 and 1 for double.
template <class T> SINTER_FN T uniform(int64 seed, int64 offset, int64 index) {
  unsigned long long w = philox(seed, offset, index);
  if constexpr (is_same<T, float>::value) return float(unsigned(w >> 40)) * (1.0f / (1 << 24));
  else return double(w >> 11) * (1.0 / (1LL << 53));
}

// normal returns a number of the standard normal distribution by the transform
// of Box and Muller: sqrt(-2 log u) cos(2 pi v) with u = (w0 + 1)/2^32 in (0, 1]
// and v = w1/2^32 in [0, 1), in double, rounded to T.
template <class T> SINTER_FN T normal(int64 seed, int64 offset, int64 index) {
  unsigned long long w = philox(seed, offset, index);
  double u = (double(unsigned(w >> 32)) + 1) * (1.0 / (1LL << 32));
  double v = double(unsigned(w)) * (1.0 / (1LL << 32));
  return T(__dsqrt_rn(-2 * ::log(u)) * ::cos(6.283185307179586 * v));
}

}  // namespace sinter
