// Poolings over the last axes of contiguous tensors: max_pool, avg_pool and the
// gradient of avg_pool, and blocks put together: fold_blocks. One thread makes one element.

#include "real.cuh"
#include "windows.cuh"

namespace sinter {

// A Pool is count results: positions of planes of a contiguous tensor.
template <int axes> struct Pool {
  Windows<axes> w;
  unsigned count;
  int padded;  // avg_pool: padding counts in the divisor
  Divider positions;
};

SINTER_FN unsigned pool_thread() { return blockIdx.x * 256u + threadIdx.x; }

// places calls f with the offset in its plane of every element of a window, in
// row-major order. start is where the window begins.
template <int a, int axes, class F>
SINTER_FN void places(const Windows<axes>& w, const int (&start)[axes], long long offset, F& f) {
  if constexpr (a == axes) {
    f(offset);
  } else {
#pragma unroll 1
    for (int k = 0; k < w.kernel[a]; k++) {
      int i = start[a] + k * w.dilation[a];
      if (unsigned(i) < unsigned(w.in[a])) places<a + 1>(w, start, offset * w.in[a] + i, f);
    }
  }
}

template <int axes> SINTER_FN void starts(const Windows<axes>& w, unsigned position, int (&start)[axes]) {
  Windows<axes>::split(position, w.out, w.out_by, start);
#pragma unroll
  for (int a = 0; a < axes; a++) start[a] = start[a] * w.stride[a] - w.padding[a];
}

// span is how many places along axis a a mean over the window from start divides by.
template <int axes> SINTER_FN int span(const Pool<axes>& p, int a, int start) {
  int end = start + p.w.kernel[a], last = p.w.in[a] + p.w.padding[a];
  if (!p.padded) {
    start = start > 0 ? start : 0;
    last = p.w.in[a];
  }
  end = end < last ? end : last;
  return end > start ? end - start : 0;
}

template <class T> SINTER_FN T lowest() {
  if constexpr (traits<T>::is_int) return traits<T>::lowest;
  else return -infinity<T>();
}

// The first of equal elements wins, and a NaN over any number.
template <class S, int axes> SINTER_FN void max_pool(const Pool<axes>& p, S* out, long long* index, const S* x) {
  typedef compute_t<S> T;
  const unsigned i = pool_thread();
  if (i >= p.count) return;
  const unsigned plane = quotient(i, p.positions);
  int start[axes];
  starts(p.w, i - plane * p.positions.divisor, start);
  x += plane * p.w.in_size;
  T best = lowest<T>();
  long long at = -1;
  auto look = [&](long long offset) {
    T v = cast<T>(x[offset]);
    if (v > best || at < 0 || (v != v && best == best)) {
      best = v;
      at = offset;
    }
  };
  places<0>(p.w, start, 0, look);
  out[i] = cast<S>(best);
  index[i] = at < 0 ? 0 : at;
}

template <class S, int axes> SINTER_FN void avg_pool(const Pool<axes>& p, S* out, const S* x) {
  typedef compute_t<S> T;
  const unsigned i = pool_thread();
  if (i >= p.count) return;
  const unsigned plane = quotient(i, p.positions);
  int start[axes];
  starts(p.w, i - plane * p.positions.divisor, start);
  x += plane * p.w.in_size;
  T sum = 0, divisor = 1;
  auto add = [&](long long offset) { sum += cast<T>(x[offset]); };
  places<0>(p.w, start, 0, add);
#pragma unroll
  for (int a = 0; a < axes; a++) divisor *= T(span(p, a, start[a]));
  out[i] = cast<S>(sum / divisor);
}

// windows_of calls f, for every window that element at is in, with its position
// in its plane and what its mean divides by: the last window first, so that the
// element's place in them goes up.
template <int a, int axes, class T, class F>
SINTER_FN void windows_of(const Pool<axes>& p, const int (&at)[axes], long long position, T divisor, F& f) {
  if constexpr (a == axes) {
    f(position, divisor);
  } else {
    const int i = at[a] + p.w.padding[a], before = i - p.w.kernel[a];
    int last = i / p.w.stride[a];
    const int first = before < 0 ? 0 : before / p.w.stride[a] + 1;
    if (last >= p.w.out[a]) last = p.w.out[a] - 1;
#pragma unroll 1
    for (int o = last; o >= first; o--) {
      windows_of<a + 1>(p, at, position * p.w.out[a] + o, divisor * T(span(p, a, o * p.w.stride[a] - p.w.padding[a])), f);
    }
  }
}

// count and positions are those of the input here.
template <class S, int axes> SINTER_FN void avg_pool_grad(const Pool<axes>& p, S* out, const S* g, long long out_size) {
  typedef compute_t<S> T;
  const unsigned i = pool_thread();
  if (i >= p.count) return;
  const unsigned plane = quotient(i, p.positions);
  int at[axes];
  Windows<axes>::split(i - plane * p.positions.divisor, p.w.in, p.w.in_by, at);
  g += plane * out_size;
  T sum = 0;
  auto add = [&](long long position, T divisor) { sum += cast<T>(g[position]) / divisor; };
  windows_of<0>(p, at, 0, T(1), add);
  out[i] = cast<S>(sum);
}

// blocks_of calls f, for every block that element at is in, with the place in the block and
// which block it is: the last block first, so that places go up.
template <int a, int axes, class F>
SINTER_FN void blocks_of(const Pool<axes>& p, const int (&at)[axes], long long place, long long block, F& f) {
  if constexpr (a == axes) {
    f(place, block);
  } else {
    const int stride = p.w.stride[a], dilation = p.w.dilation[a];
    const int i = at[a] + p.w.padding[a], before = i - dilation * (p.w.kernel[a] - 1) - 1;
    int last = i / stride;
    const int first = before < 0 ? 0 : before / stride + 1;
    if (last >= p.w.out[a]) last = p.w.out[a] - 1;
#pragma unroll 1
    for (int o = last; o >= first; o--) {
      int k = i - o * stride;
      if (dilation != 1) {
        const int apart = k;
        k /= dilation;
        if (k * dilation != apart) continue;
      }
      blocks_of<a + 1>(p, at, place * p.w.kernel[a] + k, block * p.w.out[a] + o, f);
    }
  }
}

// A plane of x has block_size times blocks elements; count and positions are those of the result.
template <class S, int axes>
SINTER_FN void fold_blocks(const Pool<axes>& p, S* out, const S* x, long long block_size, long long blocks) {
  typedef compute_t<S> T;
  const unsigned i = pool_thread();
  if (i >= p.count) return;
  const unsigned plane = quotient(i, p.positions);
  int at[axes];
  Windows<axes>::split(i - plane * p.positions.divisor, p.w.in, p.w.in_by, at);
  x += plane * block_size * blocks;
  T sum = 0;
  auto add = [&](long long place, long long block) { sum += cast<T>(x[place * blocks + block]); };
  blocks_of<0>(p, at, 0, 0, add);
  out[i] = cast<S>(sum);
}

}  // namespace sinter

// The suffix is the number of axes, 1 to 2 or 3 to 6. Blocks of 256 threads, grid
// ceil(count / 256).
#define SINTER_MAX_POOL(dtype, axes)                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                                         \
      max_pool_##dtype##_##axes(sinter::Pool<axes> p, sinter::dtype* out, long long* index, const sinter::dtype* x) {       \
    sinter::max_pool(p, out, index, x);                                                                                     \
  }

#define SINTER_AVG_POOL(dtype, axes)                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                                         \
      avg_pool_##dtype##_##axes(sinter::Pool<axes> p, sinter::dtype* out, const sinter::dtype* x) {                         \
    sinter::avg_pool(p, out, x);                                                                                            \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256)                                                                         \
      avg_pool_grad_##dtype##_##axes(sinter::Pool<axes> p, sinter::dtype* out, const sinter::dtype* g, long long out_size) { \
    sinter::avg_pool_grad(p, out, g, out_size);                                                                             \
  }

#define SINTER_FOLD_BLOCKS(dtype, axes)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) fold_blocks_##dtype##_##axes(                                           \
      sinter::Pool<axes> p, sinter::dtype* out, const sinter::dtype* x, long long block_size, long long blocks) {           \
    sinter::fold_blocks(p, out, x, block_size, blocks);                                                                     \
  }

#define SINTER_POOL_INT(dtype) SINTER_MAX_POOL(dtype, 2) SINTER_MAX_POOL(dtype, 6)
#define SINTER_POOL(dtype)                                                                 \
  SINTER_POOL_INT(dtype) SINTER_AVG_POOL(dtype, 2) SINTER_AVG_POOL(dtype, 6) \
  SINTER_FOLD_BLOCKS(dtype, 2) SINTER_FOLD_BLOCKS(dtype, 6)

SINTER_POOL_INT(uint8)
SINTER_POOL_INT(int8)
SINTER_POOL_INT(int16)
SINTER_POOL_INT(int32)
SINTER_POOL_INT(int64)
SINTER_POOL(float16)
SINTER_POOL(bfloat16)
SINTER_POOL(float32)
SINTER_POOL(float64)
