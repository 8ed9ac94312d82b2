// Products of matrices by tiles in shared memory, whatever the matrices are made
// of: memory with strides, or the patches of a convolution.
//
// tile_product computes one tile, rows x columns, of a product over k in [from,
// end). Source is one of the two factors as a thread sees it:
//
//   // where element i of those this thread fetches goes: line (a row of the left
//   // factor, a column of the right one) and place along k, in the tile
//   int line(int i) const; int depth(int i) const;
//   // that element of the tile whose first k is k; 0 outside the matrix
//   Acc fetch(int i, int k, int end) const;
//
// Products are accumulated by fused multiply-add.

#pragma once

#include "real.cuh"
#include "space.cuh"

namespace sinter {

constexpr int gemm_threads = 256;

// accumulator<S> is what products of elements stored as S are added up in:
// integers wrap, so the low bits of a wider sum are those of the sum.
template <class S> struct accumulator {
  typedef compute_t<S> type;
};
template <> struct accumulator<uint8> { typedef unsigned type; };
template <> struct accumulator<int8> { typedef unsigned type; };
template <> struct accumulator<int16> { typedef unsigned type; };
template <> struct accumulator<int32> { typedef unsigned type; };
template <> struct accumulator<int64> { typedef unsigned long long type; };

template <class S> using accumulator_t = typename accumulator<S>::type;

template <class Acc, class S> SINTER_FN Acc widened(S x) {
  if constexpr (is_same<Acc, unsigned>::value || is_same<Acc, unsigned long long>::value) return Acc(x);
  else return cast<Acc>(x);
}

template <class S, class Acc> SINTER_FN S narrowed(Acc x) {
  if constexpr (traits<S>::is_int) return S(x);
  else return cast<S>(x);
}

SINTER_FN float multiply_add(float a, float b, float c) { return fma(a, b, c); }
SINTER_FN double multiply_add(double a, double b, double c) { return fma(a, b, c); }
SINTER_FN unsigned multiply_add(unsigned a, unsigned b, unsigned c) { return a * b + c; }
SINTER_FN unsigned long long multiply_add(unsigned long long a, unsigned long long b, unsigned long long c) { return a * b + c; }
template <class R> SINTER_FN complex<R> multiply_add(complex<R> a, complex<R> b, complex<R> c) {
  return {fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}

template <class Acc> SINTER_FN Acc plus(Acc a, Acc b) {
  if constexpr (traits<Acc>::is_complex) return {a.re + b.re, a.im + b.im};
  else return a + b;
}

// A Tile is the shape of what a block computes at a time: each thread has m x n
// elements of it, in groups of `width` neighbours.
template <class A, int tile_rows, int tile_columns, int thread_rows, int thread_columns> struct Tile {
  typedef A Acc;
  static constexpr int rows = tile_rows, columns = tile_columns, m = thread_rows, n = thread_columns;
  static constexpr int depth = 64 / sizeof(Acc);
  static constexpr int most = 16 / sizeof(Acc);
  static constexpr int width_m = m < most ? m : most, width_n = n < most ? n : most;
  static constexpr int across = columns / n;  // threads side by side
  static constexpr int pad = most;            // keeps vectors aligned
  static_assert((rows / m) * across == gemm_threads, "a tile is for all threads");

  // row and column return the places of the thread's element (i, j) in the tile.
  static SINTER_FN int row(int i) {
    int t = threadIdx.x / across;
    return i / width_m * (rows / (m / width_m)) + t * width_m + i % width_m;
  }
  static SINTER_FN int column(int j) {
    int t = threadIdx.x % across;
    return j / width_n * (columns / (n / width_n)) + t * width_n + j % width_n;
  }
};

// fetches is how many elements of a factor with so many lines a thread fetches.
template <class T, int lines> constexpr int fetches = (lines * T::depth + gemm_threads - 1) / gemm_threads;

// tile_product adds to acc the products of a and b over k in [from, end).
template <class T, class Left, class Right>
SINTER_FN void tile_product(const Left& a, const Right& b, int from, int end, typename T::Acc (&acc)[T::m][T::n]) {
  typedef typename T::Acc Acc;
  constexpr int fa = fetches<T, T::rows>, fb = fetches<T, T::columns>;
  __shared__ alignas(16) unsigned char memory[2 * T::depth * (T::rows + T::columns + 2 * T::pad) * sizeof(Acc)];
  typedef Acc LeftTile[T::depth][T::rows + T::pad];
  typedef Acc RightTile[T::depth][T::columns + T::pad];
  LeftTile* sa = reinterpret_cast<LeftTile*>(memory);
  RightTile* sb = reinterpret_cast<RightTile*>(memory + 2 * sizeof(LeftTile));
  Acc ra[fa], rb[fb];

  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < fa; i++) ra[i] = a.fetch(i, k, end);
#pragma unroll
    for (int i = 0; i < fb; i++) rb[i] = b.fetch(i, k, end);
  };
  auto put = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < fa; i++) {
      if (a.line(i) < T::rows && a.depth(i) < T::depth) sa[buffer][a.depth(i)][a.line(i)] = ra[i];
    }
#pragma unroll
    for (int i = 0; i < fb; i++) {
      if (b.line(i) < T::columns && b.depth(i) < T::depth) sb[buffer][b.depth(i)][b.line(i)] = rb[i];
    }
  };
  auto multiply = [&](int buffer) {
#pragma unroll
    for (int k = 0; k < T::depth; k++) {
      Acc x[T::m], y[T::n];
#pragma unroll
      for (int i = 0; i < T::m; i += T::width_m) {
        auto v = load<T::width_m>(&sa[buffer][k][T::row(i)]);
#pragma unroll
        for (int w = 0; w < T::width_m; w++) x[i + w] = v.at[w];
      }
#pragma unroll
      for (int j = 0; j < T::n; j += T::width_n) {
        auto v = load<T::width_n>(&sb[buffer][k][T::column(j)]);
#pragma unroll
        for (int w = 0; w < T::width_n; w++) y[j + w] = v.at[w];
      }
#pragma unroll
      for (int i = 0; i < T::m; i++) {
#pragma unroll
        for (int j = 0; j < T::n; j++) acc[i][j] = multiply_add(x[i], y[j], acc[i][j]);
      }
    }
  };

  if (from >= end) return;
  int buffer = 0;
  fetch(from);
  put(0);
  __syncthreads();
#pragma unroll 1
  for (int k = from; k < end; k += T::depth) {
    const bool more = end - k > T::depth;
    if (more) fetch(k + T::depth);
    multiply(buffer);
    if (more) put(buffer ^ 1);
    buffer ^= 1;
    __syncthreads();
  }
}

// A Strided factor is memory: line l and place k at l*line_stride + k*depth_stride.
// Threads walk whichever of the two has the smaller stride.
template <class T, class S, int tile_lines> struct Strided {
  typedef typename T::Acc Acc;
  const S* first;  // this thread's first element of the tile at k = 0
  long long step, depth_stride;
  int line0, depth0, line_step, depth_step;
  int left;  // lines of the matrix from the tile's first on

  SINTER_FN Strided(const S* base, long long line_stride, long long depth_stride, int tile, int lines) : depth_stride(depth_stride) {
    const int t = threadIdx.x;
    if (line_stride <= depth_stride) {
      line0 = t % tile_lines, depth0 = t / tile_lines;
      line_step = 0, depth_step = gemm_threads / tile_lines;
    } else {
      line0 = t / T::depth, depth0 = t % T::depth;
      line_step = gemm_threads / T::depth, depth_step = 0;
    }
    left = lines - tile;
    first = base + (tile + line0) * line_stride + depth0 * depth_stride;
    step = line_step * line_stride + depth_step * depth_stride;
  }

  SINTER_FN int line(int i) const { return line0 + i * line_step; }
  SINTER_FN int depth(int i) const { return depth0 + i * depth_step; }
  SINTER_FN Acc fetch(int i, int k, int end) const {
    if (line(i) >= left || line(i) >= tile_lines || depth(i) >= end - k || depth(i) >= T::depth) return Acc(0);
    return widened<Acc>(first[k * depth_stride + i * step]);
  }
};

// A Share is the part of k in [0, depth) that one of a grid's slices adds up.
struct Share {
  int from, end;

  template <class T> static SINTER_FN Share of(int depth, int slice, int slices) {
    int each = ((depth + slices - 1) / slices + T::depth - 1) / T::depth * T::depth;
    long long from = (long long)(each) * slice, end = from + each;
    return {int(from < depth ? from : depth), int(end < depth ? end : depth)};
  }
};

// merge adds up the slices of each of count elements, in their order.
template <class S> SINTER_FN void merge_slices(S* out, const accumulator_t<S>* partial, long long count, int slices) {
  for (long long i = blockIdx.x * (long long)(blockDim.x) + threadIdx.x; i < count; i += (long long)(gridDim.x) * blockDim.x) {
    accumulator_t<S> sum = partial[i];
#pragma unroll 4
    for (int s = 1; s < slices; s++) sum = plus(sum, partial[s * count + i]);
    out[i] = narrowed<S>(sum);
  }
}

}  // namespace sinter
