// Weighted sums of rows.
//
//   weighted_rows_DTYPE(Weighted w, Pointers<4> p)
//       out[b][i][c] is the sum over k of x[b][index[b][i][k]][c] times weight[b][i][k], over
//       those of a weight that is not zero: the operands are the result, x, the index and the
//       weights, all without gaps. Blocks of 256 threads, best with ceil(w.count / 512) of them.

#include "num.cuh"
#include "space.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int weighted_threads = 256;

// A Weighted is the geometry. Elements of the result are below 2^31.
struct Weighted {
  unsigned count;               // of the result
  unsigned taps;                // rows in a sum
  Divider width, points;        // elements in a row, sums in a batch
  long long rows;               // of x in a batch
  long long next;               // from the index of a batch to that of the next one; 0 where all share one
  Trap* trap;
  unsigned who;
};

template <class S> SINTER_FN void weighted_rows(const Weighted& w, const Pointers<4>& p) {
  typedef compute_t<S> T;
  const S* x = static_cast<const S*>(p.at[1]);
  const unsigned step = gridDim.x * weighted_threads;
#pragma unroll 1
  for (unsigned i = blockIdx.x * weighted_threads + threadIdx.x; i < w.count; i += step) {
    const unsigned point = quotient(i, w.width), column = i - point * w.width.divisor;
    const unsigned batch = quotient(point, w.points);
    const long long list = batch * w.next + (long long)(point - batch * w.points.divisor) * w.taps;
    const int64* index = static_cast<const int64*>(p.at[2]) + list;
    const S* weight = static_cast<const S*>(p.at[3]) + list;
    const S* from = x + batch * w.rows * w.width.divisor + column;
    T sum = 0;
#pragma unroll 4
    for (unsigned k = 0; k < w.taps; k++) {
      const int64 row = index[k];
      const T by = cast<T>(weight[k]);
      if (static_cast<unsigned long long>(row) >= static_cast<unsigned long long>(w.rows)) {
        fault(w.trap, w.who, row, w.rows);
      } else if (by != 0) {
        sum += cast<T>(from[row * w.width.divisor]) * by;
      }
    }
    static_cast<S*>(p.at[0])[i] = cast<S>(sum);
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_WEIGHTED_ROWS(S)                                                                                              \
  extern "C" __global__ void __launch_bounds__(weighted_threads) weighted_rows_##S(Weighted w, Pointers<4> p) { \
    weighted_rows<S>(w, p);                                                                                                  \
  }
SINTER_WEIGHTED_ROWS(float16)
SINTER_WEIGHTED_ROWS(bfloat16)
SINTER_WEIGHTED_ROWS(float32)
SINTER_WEIGHTED_ROWS(float64)
