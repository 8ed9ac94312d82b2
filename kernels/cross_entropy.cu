// cross_entropy, nll_loss and their gradients: losses over the classes of a
// contiguous tensor [rows / inner, along, inner], by row.
//
//   cross_entropy_DTYPE_warp     (Loss f, int lanes)
//       inner is 1; lanes, a power of two up to 32, threads a row. Blocks of whole warps.
//   cross_entropy_DTYPE_block    (Loss f)
//       inner is 1; a block of whole warps a row.
//   cross_entropy_DTYPE_columns  (Loss f)
//       any inner: blocks of (32, parts), a warp for neighbouring columns, whose elements the warps share.
//   nll_DTYPE                    (Loss f)
//       a thread a row. Blocks of whole warps.
//   cross_entropy_DTYPE_finish   (Loss f, long long count)
//       one block: the result of the sums of count blocks, where there were more than one.
//   cross_entropy_grad_DTYPE     (LossGrad f)
//       blocks of 256 threads, an element a thread and round.
//
// and those of _warp, _block and the gradient, where inner is 1, with the suffix
// _vector, for rows that begin at multiples of 16 bytes and are a multiple of 16
// bytes long. All take any grid.

#include "early.cuh"
#include "mass.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int loss_none = 0, loss_mean = 1;

// Totals are the sums of the losses and of the weights of some rows.
struct Totals {
  double loss, weight;
};

SINTER_FN Totals operator+(Totals a, Totals b) { return {a.loss + b.loss, a.weight + b.weight}; }

SINTER_FN Totals across_warp(Totals t) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) t = t + shuffle_xor(t, mask);
  return t;
}

template <class S> struct Loss {
  typedef compute_t<S> T;
  S* loss;       // an element a row, or one
  double* lse;   // an element a row, or null
  double* total;
  Totals* sums;  // by block, or null where there is one
  const S* x;
  const int64* target;
  const S* weight;  // by class, or null
  long long rows, along, inner;
  int64 ignore;
  Trap* trap;
  unsigned who;
  int reduction;

  // first is the place of a row's element of class 0.
  SINTER_FN long long first(long long row) const { return inner == 1 ? row * along : row / inner * (along * inner) + row % inner; }

  // pick returns the class of a row; -1 where it counts nothing.
  SINTER_FN long long pick(long long row) const {
    const int64 k = target[row];
    if (k == ignore) return -1;
    if (static_cast<unsigned long long>(k) < static_cast<unsigned long long>(along)) return k;
    fault(trap, who, k, along);
    return -1;
  }

  SINTER_FN T at(long long row, long long k) const { return k < 0 ? T(0) : cast<T>(x[first(row) + k * inner]); }

  // add counts a row of class k, whose loss is l before it is weighted.
  SINTER_FN void add(Totals& t, long long row, long long k, T l) const {
    Totals own = {0, 0};
    if (k >= 0) {
      own.weight = weight != nullptr ? double(cast<T>(weight[k])) : 1;
      own.loss = double(l) * own.weight;
    }
    if (reduction == loss_none) loss[row] = cast<S>(T(own.loss));
    t = t + own;
  }

  // scored is add for a row of which mass is known, and stores its lse. score is
  // x at its class.
  SINTER_FN void scored(Totals& t, long long row, long long k, T score, const Mass<T>& mass) const {
    const T rest = log(mass.total());
    lse[row] = along == 0 ? 0 : double(mass.top) + double(rest);
    add(t, row, k, (mass.top - score) + rest);
  }

  // finish takes what each thread of the block has counted.
  SINTER_FN void finish(Totals t) const {
    const int thread = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
    if (reduction == loss_none) {
      if (thread == 0 && blockIdx.x == 0) *total = 0;
      return;
    }
    __shared__ Totals parts[32];
    t = across_warp(t);
    if (thread % 32 == 0) parts[thread / 32] = t;
    __syncthreads();
    if (thread >= 32) return;
    t = across_warp(thread < warps ? parts[thread] : Totals{0, 0});
    if (thread > 0) return;
    if (gridDim.x > 1) {
      sums[blockIdx.x] = t;
      return;
    }
    const bool mean = reduction == loss_mean;
    *loss = cast<S>(T(mean ? t.loss / t.weight : t.loss));
    *total = mean ? t.weight : 0;
  }
};

// loss_rows takes the rows that the groups g, count a block, of threads come to;
// own is the thread's among them.
template <int vec, class S, class Group> SINTER_FN void loss_rows(const Loss<S>& f, Group g, int count, int own) {
  typedef compute_t<S> T;
  const T none = -infinity<T>();
  Totals totals = {0, 0};
  early();
#pragma unroll 1
  for (long long base = (long long)(blockIdx.x) * count; base < f.rows; base += (long long)(gridDim.x) * count) {
    const long long row = base + own;
    const bool valid = row < f.rows, speaks = valid && g.lane == 0;
    const long long k = speaks ? f.pick(row) : -1;
    const T score = f.at(row, k);
    const S* from = f.x + row * f.along;
    Mass<T> mass = {none, T(0)};
    pieces<8>(g, f.along, [&](long long first, int n) {
      Slice<S, vec, 8> s;
      s.load(from + first, valid ? n : 0, g, none);
      const T top = Larger()(mass.top, s.fold(Larger()));
      T sum = 0;
      s.each([&](T v) {
        sum += v == none ? T(0) : Mass<T>::shrink(v, top);
        return v;
      });
      mass = {top, mass.sum * Mass<T>::shrink(mass.top, top) + sum};
    });
    mass = g.reduce(mass, Mass<T>{none, T(0)}, Merge());
    if (speaks) f.scored(totals, row, k, score, mass);
  }
  f.finish(totals);
}

template <int vec, class S> SINTER_FN void loss_warps(const Loss<S>& f, int lanes) {
  WarpGroup g = {int(threadIdx.x) & (lanes - 1), lanes};
  loss_rows<vec>(f, g, blockDim.x / lanes, threadIdx.x / lanes);
}

template <int vec, class S> SINTER_FN void loss_blocks(const Loss<S>& f) {
  BlockGroup g = {int(threadIdx.x), int(blockDim.x), 0};
  loss_rows<vec>(f, g, 1, 0);
}

template <class S> SINTER_FN void loss_columns(const Loss<S>& f) {
  typedef compute_t<S> T;
  __shared__ Mass<T> parts[32][32];
  Totals totals = {0, 0};
  early();
#pragma unroll 1
  for (long long base = blockIdx.x * 32LL; base < f.rows; base += gridDim.x * 32LL) {
    const long long row = base + threadIdx.x;
    Mass<T> mass = {-infinity<T>(), T(0)};
    if (row < f.rows) {
      const S* from = f.x + f.first(row);
#pragma unroll 4
      for (long long k = threadIdx.y; k < f.along; k += blockDim.y) mass.add(cast<T>(from[k * f.inner]));
    }
    parts[threadIdx.y][threadIdx.x] = mass;
    __syncthreads();
    if (threadIdx.y == 0 && row < f.rows) {
#pragma unroll 1
      for (int p = 1; p < blockDim.y; p++) mass = Merge()(mass, parts[p][threadIdx.x]);
      const long long k = f.pick(row);
      f.scored(totals, row, k, f.at(row, k), mass);
    }
    __syncthreads();
  }
  f.finish(totals);
}

template <class S> SINTER_FN void nll_rows(const Loss<S>& f) {
  Totals totals = {0, 0};
  early();
#pragma unroll 1
  for (long long row = (long long)(blockIdx.x) * blockDim.x + threadIdx.x; row < f.rows; row += (long long)(gridDim.x) * blockDim.x) {
    const long long k = f.pick(row);
    f.add(totals, row, k, -f.at(row, k));
  }
  f.finish(totals);
}

template <class S> SINTER_FN void loss_finish(const Loss<S>& f, long long count) {
  Totals totals = {0, 0};
  early();
#pragma unroll 4
  for (long long i = threadIdx.x; i < count; i += blockDim.x) totals = totals + f.sums[i];
  f.finish(totals);
}

template <class S> struct LossGrad {
  typedef compute_t<S> T;
  S* out;
  const S* g;  // an element a row, or one
  const S* x;  // null for nll_loss
  const int64* target;
  const double* lse;    // null for nll_loss
  const double* total;
  const S* weight;  // by class, or null
  long long rows, along, inner;
  int64 ignore;
  long long reduction;

  // factor is what the distance from the target of a row of class k is multiplied
  // with.
  SINTER_FN T factor(long long row, int64 k) const {
    T c = cast<T>(g[reduction == loss_none ? row : 0]);
    if (weight != nullptr) c *= cast<T>(weight[k]);
    return reduction == loss_mean ? c / T(*total) : c;
  }
};

template <int vec, class S> SINTER_FN void loss_grad(const LossGrad<S>& f) {
  typedef compute_t<S> T;
  typedef unsigned long long Place;
  const Place count = Place(f.rows) * f.along / vec, plane = Place(f.along) * f.inner;
  early();
#pragma unroll 1
  for (Place i = Place(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += Place(gridDim.x) * blockDim.x) {
    const Place e = i * vec, outer = e / plane, rest = e - outer * plane;
    const Place k = vec > 1 || f.inner == 1 ? rest : rest / f.inner;
    const long long row = outer * f.inner + (rest - k * f.inner);
    const int64 own = f.target[row];
    Vector<S, vec> v;
    if (own == f.ignore || Place(own) >= Place(f.along)) {
#pragma unroll
      for (int w = 0; w < vec; w++) v.at[w] = cast<S>(T(0));
    } else {
      const T c = f.factor(row, own);
      T share[vec] = {};
      if (f.x != nullptr) {
        const double lse = f.lse[row];
        const T near = T(lse), off = T(lse - double(near));
        v = load<vec>(f.x + e);
#pragma unroll
        for (int w = 0; w < vec; w++) share[w] = exp((cast<T>(v.at[w]) - near) - off);
      }
#pragma unroll
      for (int w = 0; w < vec; w++) v.at[w] = cast<S>((k + w == Place(own) ? share[w] - 1 : share[w]) * c);
    }
    store<vec>(f.out + e, v);
  }
}

}  // namespace sinter

#define SINTER_LOSS(dtype)                                                                                                  \
  typedef sinter::Loss<sinter::dtype> loss_##dtype;                                                                         \
  typedef sinter::LossGrad<sinter::dtype> loss_grad_##dtype;                                                                \
  constexpr int width_##dtype = 16 / sizeof(sinter::dtype);                                                                 \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_warp(loss_##dtype f, int lanes) {              \
    sinter::loss_warps<1>(f, lanes);                                                                                        \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_warp_vector(loss_##dtype f, int lanes) {       \
    sinter::loss_warps<width_##dtype>(f, lanes);                                                                            \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_block(loss_##dtype f) {                        \
    sinter::loss_blocks<1>(f);                                                                                              \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_block_vector(loss_##dtype f) {                 \
    sinter::loss_blocks<width_##dtype>(f);                                                                                  \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_columns(loss_##dtype f) {                      \
    sinter::loss_columns(f);                                                                                                \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(1024) nll_##dtype(loss_##dtype f) { sinter::nll_rows(f); }                   \
  extern "C" __global__ void __launch_bounds__(1024) cross_entropy_##dtype##_finish(loss_##dtype f, long long count) {      \
    sinter::loss_finish(f, count);                                                                                          \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) cross_entropy_grad_##dtype(loss_grad_##dtype f) {                       \
    sinter::loss_grad<1>(f);                                                                                                \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256) cross_entropy_grad_##dtype##_vector(loss_grad_##dtype f) {              \
    sinter::loss_grad<width_##dtype>(f);                                                                                    \
  }

SINTER_LOSS(float16)
SINTER_LOSS(bfloat16)
SINTER_LOSS(float32)
SINTER_LOSS(float64)
