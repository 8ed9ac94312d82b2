// Reading chosen elements.
//
//   gather_bN(Space<3> s, Pointers<3> p, Chosen c)
//       out[..] = x[.. + index[..] * step]: the operands are the result, the index
//       and x, which has stride 0 along the axis that the index chooses on. Units of
//       N bytes. Blocks of 256 threads, best with ceil(s.count / 1024) of them.
//   nonzero_count(const uint8* x, long long count, unsigned* found)
//       the nonzero bytes of each tile of 4096. Blocks of 256 threads, one a tile.
//   nonzero_scan(unsigned* found, long long tiles, long long wanted, long long* before, Trap* trap, unsigned who)
//       how many there are before each tile; a fault where they are not wanted in
//       all. One block of 1024 threads.
//   nonzero_write(const uint8* x, long long count, const long long* before, long long wanted, Axes axes, int64* out, int rank)
//       the places of the nonzero bytes as coordinates on some axes, rows of rank.
//       As nonzero_count.

#include "index.cuh"

namespace sinter {

template <class T> struct Gather {
  static constexpr bool always = true;
  T* out;
  const T* x;
  T values[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long chosen, bool valid) {
    T none = {};
    values[e] = valid ? x[at[2] + chosen] : none;
  }
  SINTER_FN void store(int e, const long long (&at)[3], long long) { out[at[0]] = values[e]; }
};

template <class T> SINTER_FN void gather(const Space<3>& s, const Pointers<3>& p, const Chosen& c) {
  Gather<T> f;
  f.out = static_cast<T*>(p.at[0]);
  f.x = static_cast<const T*>(p.at[2]);
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

constexpr int nonzero_threads = 256;
constexpr int nonzero_each = 16;
constexpr int nonzero_tile = nonzero_threads * nonzero_each;

// Axes are at most eight neighbouring axes, from the innermost out; a place over
// inner has its coordinates on them. The first of them is column first of a row.
struct Axes {
  long long count;  // of all places
  long long inner;
  int first, rank;
  Divider short_inner;  // as inner, where count < 2^31
  Divider extents[max_rank];
  long long long_extents[max_rank];
};

// nonzero_mask has a bit for each nonzero byte among the 16 from this thread's on.
SINTER_FN unsigned nonzero_mask(const uint8* x, long long count) {
  const long long first = (long long)blockIdx.x * nonzero_tile + threadIdx.x * nonzero_each;
  unsigned mask = 0;
  if (first + nonzero_each <= count && aligned(x, 16)) {
    const Vector<uint8, 16> v = load<16>(x + first);
#pragma unroll
    for (int i = 0; i < 16; i++) mask |= unsigned(v.at[i] != 0) << i;
  } else {
#pragma unroll 1
    for (int i = 0; i < 16 && first + i < count; i++) mask |= unsigned(x[first + i] != 0) << i;
  }
  return mask;
}

// block_before returns the sum of n over the threads before this one, and in all
// that of the whole block, which has warps warps. Every thread calls it.
template <int warps> SINTER_FN unsigned block_before(unsigned n, unsigned& all) {
  __shared__ unsigned sums[warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned to = n;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    unsigned up = __shfl_up_sync(0xffffffffu, to, d);
    if (lane >= d) to += up;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = to;
  __syncthreads();
  unsigned before = 0;
  all = 0;
#pragma unroll
  for (int w = 0; w < warps; w++) {
    if (w < warp) before += sums[w];
    all += sums[w];
  }
  return before + to - n;
}

// coordinates writes those of a place to a row.
SINTER_FN void coordinates(const Axes& a, long long place, int64* row) {
  if (a.count < (1LL << 31)) {
    unsigned i = quotient(unsigned(place), a.short_inner);
#pragma unroll 1
    for (int d = 0; d < a.rank; d++) {
      const unsigned q = quotient(i, a.extents[d]);
      row[a.first - d] = i - q * a.extents[d].divisor;
      i = q;
    }
    return;
  }
  place /= a.inner;
#pragma unroll 1
  for (int d = 0; d < a.rank; d++) {
    row[a.first - d] = place % a.long_extents[d];
    place /= a.long_extents[d];
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_GATHER(n)                                                                                      \
  extern "C" __global__ void __launch_bounds__(index_threads) gather_b##n(Space<3> s, Pointers<3> p, Chosen c) { \
    gather<typename Raw<n>::type>(s, p, c);                                                                   \
  }
SINTER_GATHER(1)
SINTER_GATHER(2)
SINTER_GATHER(4)
SINTER_GATHER(8)
SINTER_GATHER(16)

extern "C" __global__ void __launch_bounds__(nonzero_threads)
    nonzero_count(const uint8* x, long long count, unsigned* found) {
  unsigned all;
  block_before<nonzero_threads / 32>(__popc(nonzero_mask(x, count)), all);
  if (threadIdx.x == 0) found[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(1024)
    nonzero_scan(const unsigned* found, long long tiles, long long wanted, long long* before, Trap* trap, unsigned who) {
  long long sum = 0;
#pragma unroll 1
  for (long long base = 0; base < tiles; base += 1024) {
    const long long tile = base + threadIdx.x;
    unsigned all;
    const unsigned here = block_before<32>(tile < tiles ? found[tile] : 0, all);
    if (tile < tiles) before[tile] = sum + here;
    sum += all;
  }
  if (threadIdx.x == 0 && sum != wanted) fault(trap, who, sum, wanted);
}

extern "C" __global__ void __launch_bounds__(nonzero_threads)
    nonzero_write(const uint8* x, long long count, const long long* before, long long wanted, Axes axes, int64* out,
                  int rank) {
  unsigned mask = nonzero_mask(x, count), all;
  long long row = before[blockIdx.x] + block_before<nonzero_threads / 32>(__popc(mask), all);
  const long long first = (long long)blockIdx.x * nonzero_tile + threadIdx.x * nonzero_each;
#pragma unroll 1
  for (; mask != 0 && row < wanted; mask &= mask - 1, row++) coordinates(axes, first + __ffs(mask) - 1, out + row * rank);
}
