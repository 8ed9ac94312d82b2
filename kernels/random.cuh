// Counter-based random numbers: Philox 4x32-10 (Salmon et al., 2011). The key
// is the seed; the counter holds a part of the element's linear index in its low half
// and the call's offset in its high half. Package ir/num defines the same numbers
// for Go: bits and uniforms agree exactly, normals within four units in the last
// place.

#pragma once

#include "types.cuh"

namespace sinter {

// A Block is the four words of one counter.
struct Block {
  unsigned words[4];
};

SINTER_FN Block philox(int64 seed, int64 offset, unsigned long long index) {
  unsigned c0 = unsigned(index), c1 = unsigned(index >> 32);
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
  return {{c0, c1, c2, c3}};
}

// Four words make four numbers, or two of 64 bits: neighbours that a thread computes
// share a block.

SINTER_FN unsigned word(int64 seed, int64 offset, int64 index) {
  const Block b = philox(seed, offset, (unsigned long long)index >> 2);
  const unsigned low = index & 1 ? b.words[1] : b.words[0], high = index & 1 ? b.words[3] : b.words[2];
  return index & 2 ? high : low;
}

// pair returns words 0 and 1 of a block for an even index, 2 and 3 for an odd one; the
// first is the high half.
SINTER_FN unsigned long long pair(int64 seed, int64 offset, int64 index) {
  const Block b = philox(seed, offset, (unsigned long long)index >> 1);
  return (unsigned long long)(index & 1 ? b.words[2] : b.words[0]) << 32 | (index & 1 ? b.words[3] : b.words[1]);
}

SINTER_FN int64 random_bits(int64 seed, int64 offset, int64 index) { return int64(pair(seed, offset, index)); }

// uniform returns a number in [0, 1): the high 24 bits of the index's word for float,
// the high 53 of its pair for double. The imaginary part of a complex one is that of
// the offset's complement, which no generator reaches.
template <class T> SINTER_FN T uniform(int64 seed, int64 offset, int64 index) {
  if constexpr (is_same<T, complex64>::value) {
    return T(uniform<float>(seed, offset, index), uniform<float>(seed, ~offset, index));
  } else if constexpr (is_same<T, complex128>::value) {
    return T(uniform<double>(seed, offset, index), uniform<double>(seed, ~offset, index));
  } else {
    if constexpr (is_same<T, float>::value) return float(word(seed, offset, index) >> 8) * (1.0f / (1 << 24));
    else return double(pair(seed, offset, index) >> 11) * (1.0 / (1LL << 53));
  }
}

// log_of returns the logarithm of (w + 1)/2^32 within 2.5 units in the last place.
// Above 2/3 it is made of what is left to 1, which loses nothing.
SINTER_FN float log_of(unsigned w) {
  const unsigned rest = ~w;
  const bool near = rest < 0x55555555u;
  const float x = __uint2float_rn(near ? rest : w + 1);
  // x is m 2^e with m in [2/3, 4/3). Without a branch, so that copies can be shared.
  const int e = ((__float_as_int(x) - 0x3f2aaaab) & 0xff800000) & (near ? 0 : -1);
  const float f = fma(__int_as_float(__float_as_int(x) - e), near ? -0x1p-32f : 1.0f, near ? 0.0f : -1.0f);
  const float k = fma(float(e), 0x1p-23f, near ? 0.0f : -32.0f);
  float p = -0.128916845f;
  p = fma(p, f, 0.139844373f);
  p = fma(p, f, -0.121842615f);
  p = fma(p, f, 0.140058681f);
  p = fma(p, f, -0.16680488f);
  p = fma(p, f, 0.200104058f);
  p = fma(p, f, -0.249997973f);
  p = fma(p, f, 0.333332151f);
  p = fma(p, f, -0.5f);
  return fma(k, 0.693147182f, fma(p * f, f, f));
}

// cos_of returns cos(2 pi w/2^32), within 2.7 units: the sine of what is left to a
// quarter turn.
SINTER_FN float cos_of(unsigned w) {
  const unsigned size = int(w) < 0 ? 0u - w : w;
  const float x = __int2float_rn(int(0x40000000u - size)) * 0x1p-32f, s = x * x;
  float p = 39.7700996f;
  p = fma(p, s, -76.5834351f);
  p = fma(p, s, 81.6026306f);
  p = fma(p, s, -41.3416862f);
  p = fma(p, s, -1.7484556e-7f);  // 2 pi less the float below
  return fma(6.28318548f, x, p * x);
}

// root_of returns the square root of x, which is 0 or no less than 2^-40.
SINTER_FN float root_of(float x) {
  const float y = ::rsqrtf(x > 0x1p-40f ? x : 0x1p-40f), r = x * y;
  return fma(fma(-r, r, x), 0.5f * y, r);
}

// normal returns a number of the standard normal distribution by the transform of
// Box and Muller, sqrt(-2 log u) cos(2 pi v) and sqrt(-2 log u) sin(2 pi v) for an
// index and the next, in double or for float as exactly: the words are the
// pair of index/2, u = (w0 + 1)/2^32 in (0, 1], v = w1/2^32 in [0, 1). Neighbours
// that a thread computes share what they have in common. The parts of a complex one, of
// variance 1/2, are those of the index twice and of the next, over the root of 2.
template <class T> SINTER_FN T normal(int64 seed, int64 offset, int64 index) {
  if constexpr (is_same<T, complex64>::value) {
    const float re = normal<float>(seed, offset, index * 2), im = normal<float>(seed, offset, index * 2 + 1);
    return T(re * 0.70710678f, im * 0.70710678f);
  } else if constexpr (is_same<T, complex128>::value) {
    const double re = normal<double>(seed, offset, index * 2), im = normal<double>(seed, offset, index * 2 + 1);
    return T(re * 0.70710678118654752, im * 0.70710678118654752);
  } else {
    const unsigned long long w = pair(seed, offset, int64((unsigned long long)index >> 1));
    const unsigned w0 = unsigned(w >> 32), w1 = unsigned(w) - (unsigned(index & 1) << 30);  // the sine is the cosine a quarter turn before
    if constexpr (is_same<T, float>::value) {
      return root_of(-2.0f * log_of(w0)) * cos_of(w1);
    } else {
      const double u = (double(w0) + 1) * (1.0 / (1LL << 32));
      const double v = double(int(w1)) * (1.0 / (1LL << 32));
      return T(__dsqrt_rn(-2 * ::log(u)) * ::cos(6.283185307179586 * v));
    }
  }
}

}  // namespace sinter
