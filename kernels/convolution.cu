// Convolutions and their gradients as products of matrices that are gathered as
// they are multiplied. With x [images, groups * channels, in...], weight
// [groups * outs, channels, kernel...] and y [images, groups * outs, out...], all
// contiguous, for each group:
//
//   forward      y  [outs, (image, position)]     = weight [outs, (channel, place)] * patches of x
//   grad_input   gx [channels, (image, position)] = weight [channels, (out, place)] * patches of y
//   grad_weight  gw [outs, (channel, place)]      = y [outs, (image, position)] * patches of x

#include "gemm.cuh"
#include "windows.cuh"

namespace sinter {

template <int axes> struct Convolution {
  void* result;
  const void* left;   // the factor that memory holds: weight, weight, y
  const void* right;  // the one that is gathered: x, y, x
  void* partial;      // with more than one slice: [slices, elements of result] accumulators
  Windows<axes> w;
  int channels, outs, groups;  // channels and outs of a group
  int places;                  // of the kernel
  int m, n, k;                 // of a group's product
  int group;                   // the first group of this launch
  int slice, slices;           // the first slice of this launch, and all there are
  int shares;                  // slices of this launch, which share k
  Divider positions, inputs;   // elements of a channel of y and of x
  Divider by_place;
};

// A Folded factor is the left one: place k along the depth lies at
// k / inner * outer_stride + k % inner, line l at l * line_stride more.
template <class T, class S, int tile_lines> struct Folded {
  typedef typename T::Acc Acc;
  const S* first;
  long long outer_stride, line_stride;
  Divider inner;
  int left;

  SINTER_FN Folded(const S* base, long long line_stride, long long outer_stride, const Divider& inner, int tile, int lines)
      : first(base + (tile + int(threadIdx.x) / T::depth) * line_stride), outer_stride(outer_stride), line_stride(line_stride),
        inner(inner), left(lines - tile) {}

  static SINTER_FN int line(int i) { return threadIdx.x / T::depth + i * (gemm_threads / T::depth); }
  static SINTER_FN int depth(int) { return threadIdx.x % T::depth; }
  SINTER_FN Acc fetch(int i, int k, int end) const {
    k += depth(i);
    if (line(i) >= left || line(i) >= tile_lines || k >= end) return Acc(0);
    const unsigned outer = quotient(k, inner);
    const long long at = outer * outer_stride + (k - int(outer * inner.divisor)) + i * (gemm_threads / T::depth) * line_stride;
    return widened<Acc>(first[at]);
  }
};

// offset_in returns where in its channel the element at coordinates `at` lies, or
// -1 outside.
template <int axes> SINTER_FN long long offset_in(const int (&extents)[axes], const int (&at)[axes]) {
  long long offset = 0;
  bool inside = true;
#pragma unroll
  for (int a = 0; a < axes; a++) {
    inside = inside && unsigned(at[a]) < unsigned(extents[a]);
    offset = offset * extents[a] + at[a];
  }
  return inside ? offset : -1;
}

// The right factors. Of those whose lines are (image, position), a thread fetches
// one line.
template <class T, class S, int axes> struct ForwardPatches {
  typedef typename T::Acc Acc;
  const Convolution<axes>& p;
  const S* image;
  int start[axes];
  bool there;

  SINTER_FN ForwardPatches(const Convolution<axes>& p, int group, int tile) : p(p) {
    const unsigned n = tile + line(0), i = quotient(n, p.positions);
    there = n < unsigned(p.n);
    Windows<axes>::split(n - i * p.positions.divisor, p.w.out, p.w.out_by, start);
#pragma unroll
    for (int a = 0; a < axes; a++) start[a] = start[a] * p.w.stride[a] - p.w.padding[a];
    image = static_cast<const S*>(p.right) + ((long long)(i) * p.groups + group) * p.channels * p.w.in_size;
  }

  static SINTER_FN int line(int) { return threadIdx.x % T::columns; }
  static SINTER_FN int depth(int i) { return threadIdx.x / T::columns + i * (gemm_threads / T::columns); }
  SINTER_FN Acc fetch(int i, int k, int end) const {
    k += depth(i);
    if (!there || k >= end || depth(i) >= T::depth) return Acc(0);
    const unsigned channel = quotient(k, p.by_place);
    int at[axes];
    Windows<axes>::split(k - channel * p.by_place.divisor, p.w.kernel, p.w.kernel_by, at);
#pragma unroll
    for (int a = 0; a < axes; a++) at[a] = start[a] + at[a] * p.w.dilation[a];
    const long long offset = offset_in(p.w.in, at);
    return offset < 0 ? Acc(0) : widened<Acc>(image[channel * p.w.in_size + offset]);
  }
};

template <class T, class S, int axes> struct BackwardPatches {
  typedef typename T::Acc Acc;
  const Convolution<axes>& p;
  const S* image;
  int start[axes];
  bool there;

  SINTER_FN BackwardPatches(const Convolution<axes>& p, int group, int tile) : p(p) {
    const unsigned n = tile + line(0), i = quotient(n, p.inputs);
    there = n < unsigned(p.n);
    Windows<axes>::split(n - i * p.inputs.divisor, p.w.in, p.w.in_by, start);
#pragma unroll
    for (int a = 0; a < axes; a++) start[a] += p.w.padding[a];
    image = static_cast<const S*>(p.right) + ((long long)(i) * p.groups + group) * p.outs * p.positions.divisor;
  }

  static SINTER_FN int line(int) { return threadIdx.x % T::columns; }
  static SINTER_FN int depth(int i) { return threadIdx.x / T::columns + i * (gemm_threads / T::columns); }
  SINTER_FN Acc fetch(int i, int k, int end) const {
    k += depth(i);
    if (!there || k >= end || depth(i) >= T::depth) return Acc(0);
    const unsigned o = quotient(k, p.by_place);
    int at[axes];
    Windows<axes>::split(k - o * p.by_place.divisor, p.w.kernel, p.w.kernel_by, at);
    bool hit = true;
#pragma unroll
    for (int a = 0; a < axes; a++) {  // the window of which this element is place at[a]
      const int begin = start[a] - at[a] * p.w.dilation[a], window = p.w.stride[a] == 1 ? begin : begin / p.w.stride[a];
      hit = hit && begin >= 0 && window * p.w.stride[a] == begin;
      at[a] = window;
    }
    const long long offset = offset_in(p.w.out, at);
    return !hit || offset < 0 ? Acc(0) : widened<Acc>(image[(long long)(o) * p.positions.divisor + offset]);
  }
};

// Its lines are (channel, place), and k is (image, position).
template <class T, class S, int axes> struct WeightPatches {
  typedef typename T::Acc Acc;
  const Convolution<axes>& p;
  const S* group_start;
  int tile;

  SINTER_FN WeightPatches(const Convolution<axes>& p, int group, int tile)
      : p(p), group_start(static_cast<const S*>(p.right) + group * p.channels * p.w.in_size), tile(tile) {}

  static SINTER_FN int line(int i) { return threadIdx.x / T::depth + i * (gemm_threads / T::depth); }
  static SINTER_FN int depth(int) { return threadIdx.x % T::depth; }
  SINTER_FN Acc fetch(int i, int k, int end) const {
    k += depth(i);
    const int n = tile + line(i);
    if (n >= p.n || k >= end || line(i) >= T::columns) return Acc(0);
    const unsigned image = quotient(k, p.positions), channel = quotient(n, p.by_place);
    int at[axes], place[axes];
    Windows<axes>::split(k - image * p.positions.divisor, p.w.out, p.w.out_by, at);
    Windows<axes>::split(n - channel * p.by_place.divisor, p.w.kernel, p.w.kernel_by, place);
#pragma unroll
    for (int a = 0; a < axes; a++) at[a] = at[a] * p.w.stride[a] - p.w.padding[a] + place[a] * p.w.dilation[a];
    const long long offset = offset_in(p.w.in, at);
    if (offset < 0) return Acc(0);
    return widened<Acc>(group_start[((long long)(image) * p.groups * p.channels + channel) * p.w.in_size + offset]);
  }
};

// convolve computes the tile blockIdx.x of group p.group + blockIdx.z; blockIdx.y
// is the share of k. target(r, c) is where a result lies.
template <class S, class T, class Left, class Right, int axes, class F>
SINTER_FN void convolve(const Convolution<axes>& p, const Left& left, const Right& right, int row, int column, F target) {
  typedef typename T::Acc Acc;
  Acc acc[T::m][T::n];
#pragma unroll
  for (int i = 0; i < T::m; i++) {
#pragma unroll
    for (int j = 0; j < T::n; j++) acc[i][j] = Acc(0);
  }
  const Share share = Share::of<T>(p.k, blockIdx.y, p.shares);
  tile_product<T>(left, right, share.from, share.end, acc);
#pragma unroll
  for (int j = 0; j < T::n; j++) {
    const int c = column + T::column(j);
#pragma unroll
    for (int i = 0; i < T::m; i++) {
      const int r = row + T::row(i);
      if (r >= p.m || c >= p.n) continue;
      const long long at = target(r, c);
      if (p.slices > 1) static_cast<Acc*>(p.partial)[at] = acc[i][j];
      else static_cast<S*>(p.result)[at] = narrowed<S>(acc[i][j]);
    }
  }
}

template <class S, class T, int axes> SINTER_FN void forward(const Convolution<axes>& p) {
  const int down = (p.m + T::rows - 1) / T::rows, group = p.group + blockIdx.z;
  const int row = int(blockIdx.x) % down * T::rows, column = int(blockIdx.x) / down * T::columns;
  const S* weight = static_cast<const S*>(p.left) + (long long)(group) * p.outs * p.k;
  const Folded<T, S, T::rows> left(weight, p.k, p.places, p.by_place, row, p.m);
  const ForwardPatches<T, S, axes> right(p, group, column);
  convolve<S, T>(p, left, right, row, column, [&](int r, int c) {
    const unsigned image = quotient(c, p.positions);
    return (((long long)(image) * p.groups + group) * p.outs + r) * p.positions.divisor + (c - image * p.positions.divisor);
  });
}

template <class S, class T, int axes> SINTER_FN void grad_input(const Convolution<axes>& p) {
  const int down = (p.m + T::rows - 1) / T::rows, group = p.group + blockIdx.z;
  const int row = int(blockIdx.x) % down * T::rows, column = int(blockIdx.x) / down * T::columns;
  const S* weight = static_cast<const S*>(p.left) + (long long)(group) * p.outs * p.channels * p.places;
  const Folded<T, S, T::rows> left(weight, p.places, (long long)(p.channels) * p.places, p.by_place, row, p.m);
  const BackwardPatches<T, S, axes> right(p, group, column);
  convolve<S, T>(p, left, right, row, column, [&](int r, int c) {
    const unsigned image = quotient(c, p.inputs);
    return (((long long)(image) * p.groups + group) * p.channels + r) * p.w.in_size + (c - image * p.inputs.divisor);
  });
}

template <class S, class T, int axes> SINTER_FN void grad_weight(const Convolution<axes>& p) {
  const int down = (p.m + T::rows - 1) / T::rows, group = p.group + blockIdx.z;
  const int row = int(blockIdx.x) % down * T::rows, column = int(blockIdx.x) / down * T::columns;
  const long long size = p.positions.divisor;
  const S* y = static_cast<const S*>(p.left) + group * p.outs * size;
  const Folded<T, S, T::rows> left(y, size, (long long)(p.groups) * p.outs * size, p.positions, row, p.m);
  const WeightPatches<T, S, axes> right(p, group, column);
  convolve<S, T>(p, left, right, row, column, [&](int r, int c) {
    const long long slice = p.slices > 1 ? p.slice + blockIdx.y : 0;
    return ((slice * p.groups + group) * p.outs + r) * p.n + c;
  });
}

template <class S, int rows, int m> using ConvolutionTile = Tile<accumulator_t<S>, rows, 64, m, 4>;

}  // namespace sinter

// The suffixes are the number of axes, 1 to 2 or 3 to 6, and the rows of a tile,
// which has 64 columns.
#define SINTER_CONVOLUTION_OF(name, dtype, axes, rows, m)                                                              \
  extern "C" __global__ void __launch_bounds__(256) name##_##dtype##_##axes##_##rows(sinter::Convolution<axes> p) {    \
    sinter::name<sinter::dtype, sinter::ConvolutionTile<sinter::dtype, rows, m>>(p);                                   \
  }

#define SINTER_CONVOLUTION(name, dtype)           \
  SINTER_CONVOLUTION_OF(name, dtype, 2, 64, 4)    \
  SINTER_CONVOLUTION_OF(name, dtype, 2, 16, 1)    \
  SINTER_CONVOLUTION_OF(name, dtype, 6, 64, 4)

#define SINTER_CONVOLUTIONS(dtype)                                                                           \
  SINTER_CONVOLUTION(forward, dtype)                                                                         \
  SINTER_CONVOLUTION(grad_input, dtype)                                                                      \
  SINTER_CONVOLUTION(grad_weight, dtype)                                                                     \
  extern "C" __global__ void __launch_bounds__(256) grad_weight_##dtype##_merge(sinter::dtype* out, const void* partial, \
                                                                                long long count, int slices) { \
    sinter::merge_slices(out, static_cast<const sinter::accumulator_t<sinter::dtype>*>(partial), count, slices); \
  }

SINTER_CONVOLUTIONS(float16)
SINTER_CONVOLUTIONS(bfloat16)
SINTER_CONVOLUTIONS(float32)
SINTER_CONVOLUTIONS(float64)
