// The sum of exponentials of numbers of any size, kept relative to the largest: it
// does not overflow. With a NaN or +Inf, and of nothing but -Inf, the total is NaN.

#pragma once

#include "rows.cuh"

namespace sinter {

// A Mass is the sum of exp(x - top) over some x, where top is the largest.
template <class T> struct Mass {
  T top, sum;

  // shrink is what a sum relative to top counts relative to the larger to.
  static SINTER_FN T shrink(T top, T to) { return top == to ? T(1) : exp(top - to); }

  SINTER_FN void add(T x) {
    T low = x < top ? x : top, to = Larger()(top, x), e = shrink(low, to);
    sum = x > top ? sum * e + 1 : sum + e;
    top = to;
  }

  // total is sum, or NaN where that of the elements' exponentials would be.
  SINTER_FN T total() const { return sum + (top - top); }
};

struct Merge {
  template <class T> SINTER_FN Mass<T> operator()(Mass<T> a, Mass<T> b) const {
    T to = Larger()(a.top, b.top);
    return {to, a.sum * Mass<T>::shrink(a.top, to) + b.sum * Mass<T>::shrink(b.top, to)};
  }
};

}  // namespace sinter
