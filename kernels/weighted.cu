// Weighted sums of rows.
//
//   weighted_rows_DTYPE(Weighted w, Pointers<4> p)
//       out[b][i][c] is the sum over k of x[b][index[b][i][k]][c] times weight[b][i][k], over
//       those of a weight that is not zero: the operands are the result, x, the index and the
//       weights, all without gaps. Blocks of 256 threads, best with ceil(w.count / 512) of them.
//   row_lists_DTYPE(RowLists l, Pointers<4> p)
//       lists for each row what weighted sums that all batches share take of it: starts[r] to
//       starts[r + 1] - 1 are the entries of row r in the order of the sums, those of the weight
//       zero left out. The operands are starts, the entries, the index and the weights. Blocks of
//       256 threads, exactly ceil(l.rows / 8) of them.
//   listed_rows_DTYPE(Listed l, Pointers<4> p)
//       out[b][r][c] is the sum over the entries of row r of g[b][their point][c] times their
//       weight: the operands are the result, g, starts and the entries. Blocks of 256 threads,
//       best with ceil(l.count / 512) of them.

#include "num.cuh"
#include "space.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int weighted_threads = 256;
constexpr int weighted_group = 4;

// A Weighted is the geometry. Elements of the result are below 2^31.
struct Weighted {
  unsigned count;               // sums of a group of batches
  unsigned taps;                // rows in a sum
  Divider width, points;        // elements in a row, sums in a batch
  unsigned batches, group;      // in all, and those that a thread makes a sum of, at most weighted_group
  long long rows;               // of x in a batch
  long long next;               // from the index of a batch to that of the next one; 0 where all share one
  Trap* trap;
  unsigned who;
};

// A thread makes the same sum of a group of batches that share an index, which it reads once.
template <class S> SINTER_FN void weighted_rows(const Weighted& w, const Pointers<4>& p) {
  typedef compute_t<S> T;
  const unsigned step = gridDim.x * weighted_threads;
#pragma unroll 1
  for (unsigned i = blockIdx.x * weighted_threads + threadIdx.x; i < w.count; i += step) {
    const unsigned line = quotient(i, w.width), column = i - line * w.width.divisor;
    const unsigned part = quotient(line, w.points), point = line - part * w.points.divisor;
    const unsigned batch = part * w.group, left = w.batches - batch;
    const int n = int(left < w.group ? left : w.group);
    const long long list = batch * w.next + (long long)point * w.taps;
    const int64* index = static_cast<const int64*>(p.at[2]) + list;
    const S* weight = static_cast<const S*>(p.at[3]) + list;
    const long long pitch = w.rows * w.width.divisor;
    const S* from = static_cast<const S*>(p.at[1]) + batch * pitch + column;
    T sum[weighted_group] = {};
#pragma unroll 2
    for (unsigned k = 0; k < w.taps; k++) {
      const int64 row = index[k];
      const T by = cast<T>(weight[k]);
      if (static_cast<unsigned long long>(row) >= static_cast<unsigned long long>(w.rows)) {
        fault(w.trap, w.who, row, w.rows);
      } else if (by != 0) {
        const S* x = from + row * w.width.divisor;
#pragma unroll
        for (int e = 0; e < weighted_group; e++) {
          if (e < n) sum[e] += cast<T>(x[e * pitch]) * by;
        }
      }
    }
    S* out = static_cast<S*>(p.at[0]) + ((long long)batch * w.points.divisor + point) * w.width.divisor + column;
#pragma unroll
    for (int e = 0; e < weighted_group; e++) {
      if (e < n) out[e * (long long)w.points.divisor * w.width.divisor] = cast<S>(sum[e]);
    }
  }
}

// A RowLists is the geometry of lists: count entries of points with so many taps.
struct RowLists {
  unsigned rows, count;
  Divider taps;
  Trap* trap;
  unsigned who;
};

// A Taken is a row's share in the sum of a point.
template <class T> struct Taken {
  unsigned point;
  T by;
};

// A warp lists what one row has. Where it begins are those of the rows before it.
template <class S> SINTER_FN void row_lists(const RowLists& l, const Pointers<4>& p) {
  typedef compute_t<S> T;
  const unsigned row = (blockIdx.x * weighted_threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= l.rows) return;
  unsigned* starts = static_cast<unsigned*>(p.at[0]);
  Taken<T>* list = static_cast<Taken<T>*>(p.at[1]);
  const int64* index = static_cast<const int64*>(p.at[2]);
  const S* weight = static_cast<const S*>(p.at[3]);
  unsigned before = 0;
#pragma unroll 1
  for (unsigned base = 0; base < l.count; base += 32) {
    const unsigned i = base + lane;
    bool less = false;
    if (i < l.count) {
      const int64 at = index[i];
      if (static_cast<unsigned long long>(at) >= l.rows) {
        if (row == 0) fault(l.trap, l.who, at, l.rows);
      } else {
        less = at < row && cast<T>(weight[i]) != 0;
      }
    }
    before += __popc(__ballot_sync(~0u, less));
  }
  if (lane == 0) starts[row] = before;
#pragma unroll 1
  for (unsigned base = 0; base < l.count; base += 32) {
    const unsigned i = base + lane;
    const T by = i < l.count ? cast<T>(weight[i]) : T(0);
    const bool mine = i < l.count && index[i] == row && by != 0;
    const unsigned all = __ballot_sync(~0u, mine);
    if (mine) list[before + __popc(all & ((1u << lane) - 1))] = {quotient(i, l.taps), by};
    before += __popc(all);
  }
  if (lane == 0 && row == l.rows - 1) starts[l.rows] = before;
}

// A Listed is the geometry of sums by lists. Elements of the result are below 2^31.
struct Listed {
  unsigned count;       // of the result
  Divider width, rows;  // elements in a row, rows in a batch
  long long points;     // rows of g in a batch
};

template <class S> SINTER_FN void listed_rows(const Listed& l, const Pointers<4>& p) {
  typedef compute_t<S> T;
  const unsigned* starts = static_cast<const unsigned*>(p.at[2]);
  const Taken<T>* list = static_cast<const Taken<T>*>(p.at[3]);
  const unsigned step = gridDim.x * weighted_threads;
#pragma unroll 1
  for (unsigned i = blockIdx.x * weighted_threads + threadIdx.x; i < l.count; i += step) {
    const unsigned line = quotient(i, l.width), column = i - line * l.width.divisor;
    const unsigned batch = quotient(line, l.rows), row = line - batch * l.rows.divisor;
    const S* from = static_cast<const S*>(p.at[1]) + batch * l.points * l.width.divisor + column;
    T sum = 0;
#pragma unroll 4
    for (unsigned k = starts[row]; k < starts[row + 1]; k++) {
      const Taken<T> t = list[k];
      sum += cast<T>(from[(long long)t.point * l.width.divisor]) * t.by;
    }
    static_cast<S*>(p.at[0])[i] = cast<S>(sum);
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_WEIGHTED_ROWS(S)                                                                                              \
  extern "C" __global__ void __launch_bounds__(weighted_threads) weighted_rows_##S(Weighted w, Pointers<4> p) { \
    weighted_rows<S>(w, p);                                                                                                  \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(weighted_threads) row_lists_##S(RowLists l, Pointers<4> p) {                  \
    row_lists<S>(l, p);                                                                                                      \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(weighted_threads) listed_rows_##S(Listed l, Pointers<4> p) {                  \
    listed_rows<S>(l, p);                                                                                                    \
  }
SINTER_WEIGHTED_ROWS(float16)
SINTER_WEIGHTED_ROWS(bfloat16)
SINTER_WEIGHTED_ROWS(float32)
SINTER_WEIGHTED_ROWS(float64)
