// softmax_pull: the gradient of softmax along the rows of contiguous tensors, y*(g - sum(g*y)).
// A row is read twice, the second time from a cache where it fits one.

#include "rows.cuh"

namespace sinter {

template <class S> struct SoftmaxPull {
  S* out;
  const S *y, *g;
  long long rows, along;
  int vectors;  // 1 where rows begin at multiples of 16 bytes and are a multiple of 16 bytes long
};

// pull_row computes a row by a group of threads, all of which call it; row may be past the last.
template <int vec, class S, class Group> SINTER_FN void pull_row(const SoftmaxPull<S>& f, Group& group, long long row) {
  typedef compute_t<S> T;
  const long long n = row < f.rows ? f.along : 0, at = row * f.along;
  const int step = group.lanes * vec;
  T sum = 0;
#pragma unroll 1
  for (long long i = group.lane * vec; i < n; i += step) {
    const Vector<S, vec> y = load<vec>(f.y + at + i), g = load<vec>(f.g + at + i);
#pragma unroll
    for (int w = 0; w < vec; w++) sum += cast<T>(y.at[w]) * cast<T>(g.at[w]);
  }
  sum = group.reduce(sum, T(0), Plus());
#pragma unroll 1
  for (long long i = group.lane * vec; i < n; i += step) {
    const Vector<S, vec> y = load<vec>(f.y + at + i), g = load<vec>(f.g + at + i);
    Vector<S, vec> d;
#pragma unroll
    for (int w = 0; w < vec; w++) d.at[w] = cast<S>(cast<T>(y.at[w]) * (cast<T>(g.at[w]) - sum));
    store<vec>(f.out + at + i, d);
  }
}

template <class S, class Group> SINTER_FN void pull(const SoftmaxPull<S>& f, Group& group, long long row) {
  if (f.vectors) pull_row<16 / sizeof(S)>(f, group, row);
  else pull_row<1>(f, group, row);
}

}  // namespace sinter

// NAME_DTYPE_warp: lanes, a power of two up to 32, threads a row, blocks of 128.
// NAME_DTYPE_block: a block of whole warps a row.
#define SINTER_SOFTMAX_PULL(dtype)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(128) softmax_pull_##dtype##_warp(sinter::SoftmaxPull<sinter::dtype> f, int lanes) { \
    sinter::WarpGroup g = {int(threadIdx.x) & (lanes - 1), lanes};                                                                  \
    sinter::pull(f, g, (long long)(blockIdx.x) * (128 / lanes) + threadIdx.x / lanes);                                              \
  }                                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(1024) softmax_pull_##dtype##_block(sinter::SoftmaxPull<sinter::dtype> f) {          \
    sinter::BlockGroup g = {int(threadIdx.x), int(blockDim.x), 0};                                                                  \
    sinter::pull(f, g, blockIdx.x);                                                                                                 \
  }

SINTER_SOFTMAX_PULL(float16)
SINTER_SOFTMAX_PULL(bfloat16)
SINTER_SOFTMAX_PULL(float32)
SINTER_SOFTMAX_PULL(float64)
