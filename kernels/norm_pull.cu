// norm_pull: the gradients of layer_norm and rms_norm by their operand, weight and bias, from
// that of the result, g. With y = (x - mean)*rstd, a row's is
//
//   dx = rstd*(g*weight - mean(g*weight) - y*mean(g*weight*y))
//
// without the first mean for rms_norm, whose own mean is 0. A row is read twice, the second
// time from a cache where it fits one. Gradients of weight and bias are sums over rows of g*y
// and g: blocks add up those of some rows and columns, and a second launch adds these in one
// order.
//
//   norm_pull_DTYPE_warp     (NormPull<DTYPE> f, int lanes)  lanes, a power of two up to 32, a row
//   norm_pull_DTYPE_block    (NormPull<DTYPE> f)             a block of whole warps a row
//   norm_columns_DTYPE       (NormColumns<DTYPE> f)          blocks of 256: x is of columns, y of parts of the rows
//   norm_columns_end_DTYPE   (NormColumns<DTYPE> f)          blocks of 32 columns and 8 groups of parts

#include "rows.cuh"

namespace sinter {

template <class T> struct Means {
  T plain, product;
};

template <class T> SINTER_FN Means<T> operator+(const Means<T>& a, const Means<T>& b) { return {a.plain + b.plain, a.product + b.product}; }

template <class S> struct NormPull {
  S* dx;
  const S* g;
  const S* x;
  const S* weight;     // along elements
  const double* mean;  // an element a row, or null: 0, which is not differentiated
  const double* rstd;
  long long rows, along;
  int vectors;  // 1 where rows begin at multiples of 16 bytes and are a multiple of 16 bytes long
};

// pull_row computes a row by a group of threads, all of which call it; row may be past the last.
template <int vec, class S, class Group> SINTER_FN void pull_row(const NormPull<S>& f, Group& group, long long row) {
  typedef compute_t<S> T;
  const bool there = row < f.rows, centred = f.mean != nullptr;
  const long long n = there ? f.along : 0, at = row * f.along;
  const int step = group.lanes * vec;
  const T mean = there && centred ? T(f.mean[row]) : T(0), rstd = there ? T(f.rstd[row]) : T(0);
  Means<T> sum = {T(0), T(0)};
#pragma unroll 1
  for (long long i = group.lane * vec; i < n; i += step) {
    const Vector<S, vec> g = load<vec>(f.g + at + i), x = load<vec>(f.x + at + i), weight = load<vec>(f.weight + i);
#pragma unroll
    for (int w = 0; w < vec; w++) {
      const T d = cast<T>(g.at[w]) * cast<T>(weight.at[w]);
      sum.plain += d;
      sum.product = fma(d, (cast<T>(x.at[w]) - mean) * rstd, sum.product);
    }
  }
  sum = group.reduce(sum, Means<T>{T(0), T(0)}, Plus());
  const T part = T(1.0 / f.along), middle = centred ? sum.plain * part : T(0), slope = sum.product * part;
#pragma unroll 1
  for (long long i = group.lane * vec; i < n; i += step) {
    const Vector<S, vec> g = load<vec>(f.g + at + i), x = load<vec>(f.x + at + i), weight = load<vec>(f.weight + i);
    Vector<S, vec> d;
#pragma unroll
    for (int w = 0; w < vec; w++) {
      const T y = (cast<T>(x.at[w]) - mean) * rstd;
      d.at[w] = cast<S>(rstd * (cast<T>(g.at[w]) * cast<T>(weight.at[w]) - middle - y * slope));
    }
    store<vec>(f.dx + at + i, d);
  }
}

template <class S, class Group> SINTER_FN void pull(const NormPull<S>& f, Group& group, long long row) {
  if (sizeof(S) < 8 && f.vectors) pull_row<sizeof(S) < 8 ? 16 / sizeof(S) : 1>(f, group, row);
  else pull_row<1>(f, group, row);
}

template <class S> struct NormColumns {
  S* dweight;
  S* dbias;  // or null
  const S* g;
  const S* x;
  const double* mean;  // an element a row, or null: 0
  const double* rstd;
  Means<compute_t<S>>* sums;  // [parts, along]
  long long rows, along;
  long long each;   // rows of a part
  long long parts;
  int lanes;  // threads of a block next to each other in a row, a power of two up to 256; the others are of other rows
  int vectors;
};

constexpr int columns_threads = 256;

template <int vec, class S> SINTER_FN void columns(const NormColumns<S>& f) {
  typedef compute_t<S> T;
  __shared__ Means<T> sums[columns_threads * vec];
  const int lane = threadIdx.x & (f.lanes - 1), group = threadIdx.x / f.lanes, groups = columns_threads / f.lanes;
  const long long column = (long long)(blockIdx.x) * f.lanes * vec + lane * vec, first = blockIdx.y * f.each;
  const long long end = first + f.each < f.rows ? first + f.each : f.rows;
  Means<T> sum[vec];
#pragma unroll
  for (int w = 0; w < vec; w++) sum[w] = {T(0), T(0)};
  if (column < f.along) {
#pragma unroll vec > 1 ? 4 : 1
    for (long long row = first + group; row < end; row += groups) {
      const Vector<S, vec> g = load<vec>(f.g + row * f.along + column), x = load<vec>(f.x + row * f.along + column);
      const T mean = f.mean != nullptr ? T(f.mean[row]) : T(0), rstd = T(f.rstd[row]);
#pragma unroll
      for (int w = 0; w < vec; w++) {
        const T d = cast<T>(g.at[w]);
        sum[w].plain += d;
        sum[w].product = fma(d, (cast<T>(x.at[w]) - mean) * rstd, sum[w].product);
      }
    }
  }
#pragma unroll
  for (int w = 0; w < vec; w++) sums[threadIdx.x * vec + w] = sum[w];
  __syncthreads();
  const int width = f.lanes * vec;
#pragma unroll 1
  for (int i = threadIdx.x; i < width; i += columns_threads) {
    const long long to = (long long)(blockIdx.x) * width + i;
    if (to >= f.along) continue;
    Means<T> all = sums[i];
#pragma unroll 1
    for (int k = 1; k < groups; k++) all = all + sums[k * width + i];
    f.sums[blockIdx.y * f.along + to] = all;
  }
}

template <class S> SINTER_FN void columns_end(const NormColumns<S>& f) {
  typedef compute_t<S> T;
  constexpr int groups = columns_threads / 32;
  __shared__ Means<T> sums[columns_threads];
  const long long column = (long long)(blockIdx.x) * 32 + threadIdx.x % 32;
  Means<T> sum = {T(0), T(0)};
  if (column < f.along) {
#pragma unroll 4
    for (long long part = threadIdx.x / 32; part < f.parts; part += groups) sum = sum + f.sums[part * f.along + column];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= 32 || column >= f.along) return;
#pragma unroll
  for (int k = 1; k < groups; k++) sum = sum + sums[k * 32 + threadIdx.x];
  f.dweight[column] = cast<S>(sum.product);
  if (f.dbias != nullptr) f.dbias[column] = cast<S>(sum.plain);
}

}  // namespace sinter

#define SINTER_NORM_PULL(dtype)                                                                                            \
  extern "C" __global__ void __launch_bounds__(128) norm_pull_##dtype##_warp(sinter::NormPull<sinter::dtype> f, int lanes) { \
    sinter::WarpGroup g = {int(threadIdx.x) & (lanes - 1), lanes};                                                          \
    sinter::pull(f, g, (long long)(blockIdx.x) * (128 / lanes) + threadIdx.x / lanes);                                      \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) norm_pull_##dtype##_block(sinter::NormPull<sinter::dtype> f) {         \
    sinter::BlockGroup g = {int(threadIdx.x), int(blockDim.x), 0};                                                          \
    sinter::pull(f, g, blockIdx.x);                                                                                         \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) norm_columns_##dtype(sinter::NormColumns<sinter::dtype> f) {            \
    if (sizeof(sinter::dtype) < 8 && f.vectors) sinter::columns<sizeof(sinter::dtype) < 8 ? 16 / sizeof(sinter::dtype) : 1>(f);                                                          \
    else sinter::columns<1>(f);                                                                                             \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) norm_columns_end_##dtype(sinter::NormColumns<sinter::dtype> f) {        \
    sinter::columns_end(f);                                                                                                 \
  }

SINTER_NORM_PULL(float16)
SINTER_NORM_PULL(bfloat16)
SINTER_NORM_PULL(float32)
SINTER_NORM_PULL(float64)
