// Elements as unsigned integers that order as the elements do.

#pragma once

#include "space.cuh"

namespace sinter {

template <int bytes> struct Bits;
template <> struct Bits<1> { typedef unsigned char type; };
template <> struct Bits<2> { typedef unsigned short type; };
template <> struct Bits<4> { typedef unsigned type; };
template <> struct Bits<8> { typedef unsigned long long type; };

// An Order says what the bits of an element mean and which way to sort. Keys are
// bits changed so that unsigned comparison orders numbers ascending; nothing is
// lost. The rank of a key is one number for elements that are equal, for the zeros
// and for all NaN, which are last; and it runs the way to sort. Numbers are of the
// element's size, in the low bits.
struct Order {
  unsigned long long sign;    // the bits to flip
  unsigned long long spread;  // and those where the top one is set: all others of a float
  unsigned long long low;     // key of the least number
  unsigned long long span;    // from there to the key of the greatest
  unsigned long long minus_zero, zero;  // keys, equal where there is one zero
  unsigned long long flip;    // all bits to sort descending, none otherwise

  template <class K> static SINTER_FN bool top(K bits) { return bits >> (8 * sizeof(K) - 1) != 0; }
  template <class K> SINTER_FN K key(K bits) const { return K(bits ^ K(sign) ^ (top(bits) ? K(spread) : K(0))); }
  template <class K> SINTER_FN K bits(K key) const { return K(key ^ K(sign) ^ (top(key) ? K(0) : K(spread))); }
  template <class K> SINTER_FN K rank(K key) const {
    const bool number = K(key - K(low)) <= K(span);
    if (key == K(minus_zero)) key = K(zero);
    return K((number ? key : K(~K(0))) ^ K(flip));
  }
};

}  // namespace sinter
