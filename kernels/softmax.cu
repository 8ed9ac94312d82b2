// softmax and log_softmax along one axis of a contiguous tensor. A row with a NaN
// or +Inf, and one of nothing but -Inf, is NaN throughout.

#include "mass.cuh"

namespace sinter {

// A Finish makes results of elements from their distance to the largest.
template <class T, bool logarithm> struct Finish {
  T top, scale;

  SINTER_FN Finish(T top, T total) : top(top), scale(logarithm ? log(total) : T(1) / total) {}
  SINTER_FN T operator()(T x) const {
    if constexpr (logarithm) return (x - top) - scale;
    else return exp(x - top) * scale;
  }
};

template <class S, bool logarithm> struct Softmax {
  typedef S Storage;
  typedef compute_t<S> T;
  S* out;
  const S* x;
  long long rows, along;

  static SINTER_FN T pad() { return -infinity<T>(); }

  template <int vec, int values, class Group> SINTER_FN void keep(Group& g, Slice<S, vec, values>& s, long long row, int n) const {
    const T top = g.reduce(s.fold(Larger()), pad(), Larger());
    T sum = 0;
    s.each([&](T v) {
      T d = v - top, e = exp(d);
      sum += e;
      return logarithm ? d : e;
    });
    sum = g.reduce(sum, T(0), Plus());
    if constexpr (logarithm) {
      const T scale = log(sum);
      s.each([&](T d) { return d - scale; });
    } else {
      const T scale = T(1) / sum;
      s.each([&](T e) { return e * scale; });
    }
    s.store(out + row * along, n, g);
  }

  template <int vec, int values, class Group> SINTER_FN void stream(Group& g, long long row) const {
    const S* from = x + row * along;
    S* to = out + row * along;
    const T none = pad();
    Mass<T> mass = {none, T(0)};
    pieces<values>(g, along, [&](long long first, int n) {
      Slice<S, vec, values> s;
      s.load(from + first, n, g, none);
      const T top = Larger()(mass.top, s.fold(Larger()));
      T sum = 0;
      s.each([&](T v) {
        sum += v == none ? T(0) : Mass<T>::shrink(v, top);
        return v;
      });
      mass = {top, mass.sum * Mass<T>::shrink(mass.top, top) + sum};
    });
    mass = g.reduce(mass, Mass<T>{none, T(0)}, Merge());
    const Finish<T, logarithm> finish(mass.top, mass.total());
    pieces<values>(g, along, [&](long long first, int n) {
      Slice<S, vec, values> s;
      s.load(from + first, n, g, none);
      s.each(finish);
      s.store(to + first, n, g);
    });
  }
};

// softmax_columns is for an axis that is not the last: a tensor [.., along, inner].
// Blocks of (32, parts) threads: a warp takes 32 neighbouring columns, and the
// warps of a block share their elements. Grid ceil(columns / 32).
template <class S, bool logarithm>
SINTER_FN void softmax_columns(S* out, const S* x, long long columns, long long along, long long inner) {
  typedef compute_t<S> T;
  __shared__ Mass<T> parts[32][32];
  const long long column = blockIdx.x * 32LL + threadIdx.x;
  const long long start = column / inner * (along * inner) + column % inner;
  Mass<T> mass = {-infinity<T>(), T(0)};
  if (column < columns) {
#pragma unroll 4
    for (long long a = threadIdx.y; a < along; a += blockDim.y) mass.add(cast<T>(x[start + a * inner]));
  }
  parts[threadIdx.y][threadIdx.x] = mass;
  __syncthreads();
  if (column >= columns) return;
  mass = parts[0][threadIdx.x];
#pragma unroll 1
  for (int p = 1; p < blockDim.y; p++) mass = Merge()(mass, parts[p][threadIdx.x]);
  const Finish<T, logarithm> finish(mass.top, mass.total());
#pragma unroll 4
  for (long long a = threadIdx.y; a < along; a += blockDim.y) out[start + a * inner] = cast<S>(finish(cast<T>(x[start + a * inner])));
}

}  // namespace sinter

#define SINTER_SOFTMAX(name, dtype, logarithm)                                                                                  \
  typedef sinter::Softmax<sinter::dtype, logarithm> name##_##dtype;                                                             \
  SINTER_ROWS(name, dtype, name##_##dtype)                                                                                      \
  extern "C" __global__ void __launch_bounds__(1024)                                                                            \
      name##_##dtype##_columns(sinter::dtype* out, const sinter::dtype* x, long long columns, long long along, long long inner) { \
    sinter::softmax_columns<sinter::dtype, logarithm>(out, x, columns, along, inner);                                           \
  }

SINTER_SOFTMAX(softmax, float16, false)
SINTER_SOFTMAX(softmax, bfloat16, false)
SINTER_SOFTMAX(softmax, float32, false)
SINTER_SOFTMAX(softmax, float64, false)
SINTER_SOFTMAX(log_softmax, float16, true)
SINTER_SOFTMAX(log_softmax, bfloat16, true)
SINTER_SOFTMAX(log_softmax, float32, true)
SINTER_SOFTMAX(log_softmax, float64, true)
