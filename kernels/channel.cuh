// What kernels find out about the channels of images: channel_norm.cu, channel_last.cu.

#pragma once

#include "rows.cuh"

namespace sinter {

constexpr int channel_threads = 256;

// Moments of n numbers: their mean, the sum of their squared distances from it, and their
// sum, which serves where the mean came from infinities.
template <class T> struct Moments {
  T n, mean, squares, sum;

  // of returns those of the elements of an array.
  template <int count> static SINTER_FN Moments of(const T (&x)[count]) {
    Moments m = {T(count), T(0), T(0), T(0)};
#pragma unroll
    for (int i = 0; i < count; i++) m.sum += x[i];
    m.mean = m.sum * T(1.0 / count);
#pragma unroll
    for (int i = 0; i < count; i++) m.squares = fma(x[i] - m.mean, x[i] - m.mean, m.squares);
    return m;
  }
};

// Sums are those of the gradients of a result, and of their products with the operand's
// distances from the mean.
template <class T> struct Sums {
  T plain, product;
};

template <class T> SINTER_FN Sums<T> operator+(const Sums<T>& a, const Sums<T>& b) { return {a.plain + b.plain, a.product + b.product}; }

}  // namespace sinter
