// What is at the places where a mask of bytes is not zero, and these places. A block
// takes a tile of 4096 of them.
//
//   nonzero_count(const uint8* x, long long count, unsigned* found)
//       the nonzero bytes of each tile.
//   nonzero_scan(unsigned* found, long long tiles, long long wanted, long long* before, Trap* trap, unsigned who)
//       how many there are before each tile; a fault where they are not wanted in
//       all. One block of 1024 threads.
//   nonzero_write(const uint8* x, long long count, const long long* before, long long wanted, Axes axes, int64* out, int rank)
//       the places of the nonzero bytes as coordinates on some axes, rows of rank.
//   masked_select_bN(const uint8* mask, long long count, const long long* before, long long wanted, const T* x, T* out)
//       the elements of x, of N bytes each, at these places.
//
// Blocks of 256 threads, one a tile, where nothing else is said.

#include "space.cuh"
#include "trap.cuh"

namespace sinter {

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

// each_nonzero calls f(n, place) for the nonzero bytes of the block's tile, of which
// the one at place is number n of all, neighbouring threads with neighbouring n: what
// they write is in runs. n is below wanted.
template <class F>
SINTER_FN void each_nonzero(const uint8* x, long long count, const long long* before, long long wanted, F f) {
  __shared__ unsigned short places[nonzero_tile];
  unsigned mask = nonzero_mask(x, count), all;
  unsigned to = block_before<nonzero_threads / 32>(__popc(mask), all);
#pragma unroll 1
  for (; mask != 0; mask &= mask - 1, to++) places[to] = static_cast<unsigned short>(threadIdx.x * nonzero_each + __ffs(mask) - 1);
  __syncthreads();
  const long long first = before[blockIdx.x], tile = (long long)blockIdx.x * nonzero_tile;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < all; i += nonzero_threads) {
    if (first + i < wanted) f(first + i, tile + places[i]);
  }
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

template <class T>
SINTER_FN void masked_select(const uint8* mask, long long count, const long long* before, long long wanted, const T* x, T* out) {
  each_nonzero(mask, count, before, wanted, [&](long long n, long long place) { out[n] = x[place]; });
}

}  // namespace sinter

using namespace sinter;

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
  each_nonzero(x, count, before, wanted, [&](long long n, long long place) { coordinates(axes, place, out + n * rank); });
}

#define SINTER_SELECT(n)                                                                                              \
  extern "C" __global__ void __launch_bounds__(nonzero_threads)                                                       \
      masked_select_b##n(const uint8* mask, long long count, const long long* before, long long wanted,              \
                         const Raw<n>::type* x, Raw<n>::type* out) {                                                  \
    masked_select(mask, count, before, wanted, x, out);                                                               \
  }
SINTER_SELECT(1)
SINTER_SELECT(2)
SINTER_SELECT(4)
SINTER_SELECT(8)
SINTER_SELECT(16)
