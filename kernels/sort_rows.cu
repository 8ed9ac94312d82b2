// Stable sorting of rows by one block each, in its shared memory, and of the first
// elements of sorted rows.
//
//   sort_short_bN(const K* x, K* values, int64* indices, long long rows, int n, int width, int group, Order order)
//       rows of n elements of N bytes each, one after the other. width is the least
//       power of two >= n, at most 4096; a block sorts group rows at once. Blocks of
//       32 to 512 threads, best with half as many as group * width; any grid; dynamic
//       shared memory of 8 bytes for each of group * width elements, 12 where N is 8.
//   sort_block_bN(const K* x, K* values, int64* indices, long long rows, int n, Order order)
//       the same by radix sort. Blocks of 256 or 512 threads, at least n/8; any grid;
//       dynamic shared memory of N + 2 bytes for each of 8 elements a thread, and of 32
//       bytes a thread. sort_small_bN has 4 elements a thread.
//   sort_first_bN(const K* x, K* values, int64* indices, int n, int k, int width, Order order)
//       the first k elements of rows sorted, a block for each row of n < 2^31. width is
//       the least power of two >= k. Blocks of 128 to 1024 threads, a multiple of 32;
//       dynamic shared memory of 8 bytes for each of width elements, 12 where N is 8.
//   sort_origin(long long k, int64* places, const int64* from, long long part)
//       makes of k places among the first k of each part of a row, which are at from in it,
//       those in the row. Blocks of 256 threads, ceil(k / 256) of them.

#include "radix.cuh"

namespace sinter {

// A Line is elements in shared memory, ordered by rank and then by place.
template <class K> struct Line {
  unsigned long long* pairs;  // rank above place

  SINTER_FN Line(unsigned char* memory, int) : pairs(reinterpret_cast<unsigned long long*>(memory)) {}
  SINTER_FN void set(int i, K rank, unsigned place) { pairs[i] = static_cast<unsigned long long>(rank) << 32 | place; }
  // pad is after all elements.
  SINTER_FN void pad(int i, unsigned place) { pairs[i] = 0xffffffff00000000ull | place; }
  SINTER_FN unsigned place(int i) const { return unsigned(pairs[i]); }
  SINTER_FN void exchange(int i, int j, bool up) {
    const unsigned long long a = pairs[i], b = pairs[j];
    if ((a > b) == up) {
      pairs[i] = b;
      pairs[j] = a;
    }
  }
};

template <> struct Line<unsigned long long> {
  typedef unsigned long long K;
  K* ranks;
  unsigned* places;

  SINTER_FN Line(unsigned char* memory, int elements)
      : ranks(reinterpret_cast<K*>(memory)), places(reinterpret_cast<unsigned*>(ranks + elements)) {}
  SINTER_FN void set(int i, K rank, unsigned place) {
    ranks[i] = rank;
    places[i] = place;
  }
  SINTER_FN void pad(int i, unsigned place) { set(i, ~K(0), place); }
  SINTER_FN unsigned place(int i) const { return places[i]; }
  SINTER_FN void exchange(int i, int j, bool up) {
    const K a = ranks[i], b = ranks[j];
    const unsigned p = places[i], q = places[j];
    if ((a > b || (a == b && p > q)) == up) {
      set(i, b, q);
      set(j, a, p);
    }
  }
};

// bitonic sorts each of the group rows of width elements in the line.
template <class K> SINTER_FN void bitonic(Line<K>& line, int width, int elements) {
#pragma unroll 1
  for (int run = 2; run <= width; run *= 2) {
#pragma unroll 1
    for (int apart = run / 2; apart > 0; apart /= 2) {
      // A warp's pairs are 64 neighbours from here on: no other warp touches them.
      if (apart >= 32) __syncthreads();
      else __syncwarp();
#pragma unroll 1
      for (int base = 0; base < elements / 2; base += blockDim.x) {
        const int pair = base + threadIdx.x;
        if (pair < elements / 2) {
          const int i = 2 * pair - (pair & (apart - 1));
          line.exchange(i, i + apart, (i & (width - 1) & run) == 0);
        }
      }
    }
  }
}

template <class K>
SINTER_FN void sort_short(const K* x, K* values, int64* indices, long long rows, int n, int width, int group,
                          const Order& order) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int elements = group * width, shift = 31 - __clz(width);
  Line<K> line(memory, elements);
#pragma unroll 1
  for (long long first = (long long)blockIdx.x * group; first < rows; first += (long long)gridDim.x * group) {
#pragma unroll 1
    for (int i = threadIdx.x; i < elements; i += blockDim.x) {
      const long long row = first + (i >> shift);
      const int place = i & (width - 1);
      if (place < n && row < rows) line.set(i, order.rank(order.key(x[row * n + place])), place);
      else line.pad(i, place);
    }
    __syncthreads();
    bitonic(line, width, elements);
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < elements; i += blockDim.x) {
      const long long row = first + (i >> shift);
      const int place = i & (width - 1);
      if (place >= n || row >= rows) continue;
      const unsigned from = line.place(i);
      values[row * n + place] = x[row * n + from];
      indices[row * n + place] = from;
    }
    __syncthreads();
  }
}

// Each pass ranks all elements by eight bits of their ranks, the lowest first, and
// moves them through shared memory; a pass in which all have one digit moves nothing.
template <int block_items, class K>
SINTER_FN void sort_block(const K* x, K* values, int64* indices, long long rows, int n, const Order& order) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int thread = threadIdx.x, warp = thread / 32, warps = blockDim.x / 32, width = blockDim.x * block_items;
  K* ranks = reinterpret_cast<K*>(memory);
  unsigned* counts = reinterpret_cast<unsigned*>(ranks + width);  // of each warp and digit
  unsigned short* places = reinterpret_cast<unsigned short*>(counts + warps * digits);
  const int start = warp * (32 * block_items) + thread % 32;
#pragma unroll 1
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    K k[block_items];
    unsigned p[block_items], slot[block_items];
#pragma unroll
    for (int e = 0; e < block_items; e++) {
      p[e] = start + e * 32;
      k[e] = start + e * 32 < n ? order.rank(order.key(x[row * n + start + e * 32])) : ~K(0);
    }
#pragma unroll 1
    for (int shift = 0; shift < 8 * int(sizeof(K)); shift += 8) {
#pragma unroll 1
      for (int i = thread; i < warps * digits; i += blockDim.x) counts[i] = 0;
      __syncthreads();
      rank_digits(counts + warp * digits, slot, [&](int e) { return unsigned(k[e] >> shift) & (digits - 1); });
      __syncthreads();
      unsigned count = 0;
      if (thread < digits) {
#pragma unroll 4
        for (int w = 0; w < warps; w++) {
          const unsigned here = counts[w * digits + thread];
          counts[w * digits + thread] = count;
          count += here;
        }
      }
      // Those past the end, after all others in order, have the last digit.
      const unsigned others = thread == digits - 1 ? unsigned(width - n) : 0;
      if (__syncthreads_or(thread < digits && count - others == unsigned(n))) continue;
      const unsigned smaller = exclusive_digits(count);
      if (thread < digits) {
#pragma unroll 4
        for (int w = 0; w < warps; w++) counts[w * digits + thread] += smaller;
      }
      __syncthreads();
#pragma unroll
      for (int e = 0; e < block_items; e++) {
        const unsigned to = (slot[e] & 0xffff) + counts[warp * digits + (slot[e] >> 16)];
        ranks[to] = k[e];
        places[to] = static_cast<unsigned short>(p[e]);
      }
      __syncthreads();
#pragma unroll
      for (int e = 0; e < block_items; e++) {
        k[e] = ranks[start + e * 32];
        p[e] = places[start + e * 32];
      }
    }
#pragma unroll
    for (int e = 0; e < block_items; e++) {
      if (start + e * 32 >= n) continue;
      values[row * n + start + e * 32] = x[row * n + p[e]];
      indices[row * n + start + e * 32] = p[e];
    }
    __syncthreads();
  }
}

constexpr int select_bits = 11;
constexpr int select_bins = 1 << select_bits;

// A Threshold divides ranks: those whose bits in mask are below bits come first, and
// need of those that have the same, of which there are same.
template <class K> struct Threshold {
  K bits, mask;
  unsigned need, same;
};

// each_rank calls f(rank, place) for the elements of a row, in any order.
template <class K, class F> SINTER_FN void each_rank(const K* x, int n, const Order& order, F f) {
  constexpr int each = 8;
#pragma unroll 1
  for (int base = threadIdx.x; base < n; base += blockDim.x * each) {
    K k[each];
#pragma unroll
    for (int e = 0; e < each; e++) {
      const long long i = base + (long long)e * blockDim.x;
      if (i < n) k[e] = x[i];
    }
#pragma unroll
    for (int e = 0; e < each; e++) {
      const long long i = base + (long long)e * blockDim.x;
      if (i < n) f(order.rank(order.key(k[e])), unsigned(i));
    }
  }
}

// narrow counts the next bits of the ranks that are at the threshold, and moves it to
// where the need-th of them is. All threads of the block call it.
template <class K> SINTER_FN void narrow(const K* x, int n, const Order& order, Threshold<K>& t, int shift, int bits) {
  __shared__ unsigned counts[select_bins];
  __shared__ unsigned sums[32];
  __shared__ unsigned found[3];
  const int thread = threadIdx.x, each = (select_bins + blockDim.x - 1) / blockDim.x;
  const unsigned bins = 1u << bits;
#pragma unroll 1
  for (int i = thread; i < select_bins; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  each_rank(x, n, order, [&](K rank, unsigned) {
    if ((rank & t.mask) == t.bits) atomicAdd(&counts[unsigned(rank >> shift) & (bins - 1)], 1u);
  });
  __syncthreads();
  unsigned here = 0;
#pragma unroll 1
  for (int i = thread * each; i < (thread + 1) * each && i < select_bins; i++) here += counts[i];
  unsigned to = here;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned up = __shfl_up_sync(0xffffffffu, to, d);
    if (thread % 32 >= d) to += up;
  }
  if (thread % 32 == 31) sums[thread / 32] = to;
  __syncthreads();
  unsigned before = to - here;
#pragma unroll 1
  for (int w = 0; w < thread / 32; w++) before += sums[w];
  if (before < t.need && t.need <= before + here) {
    int i = thread * each;
#pragma unroll 1
    for (; before + counts[i] < t.need; i++) before += counts[i];
    found[0] = i;
    found[1] = before;
    found[2] = counts[i];
  }
  __syncthreads();
  t.bits |= K(found[0]) << shift;
  t.mask |= K(bins - 1) << shift;
  t.need -= found[1];
  t.same = found[2];
}

// first_same takes the first t.need elements at the threshold, in order, as number
// from on of the line. All threads of the block call it.
template <class K>
SINTER_FN void first_same(const K* x, int n, const Order& order, const Threshold<K>& t, Line<K>& line, unsigned from) {
  __shared__ unsigned warps[2][32];
  const int thread = threadIdx.x, lane = thread % 32;
  unsigned seen = 0;
  int slot = 0;
#pragma unroll 1
  for (long long base = 0; base < n && seen < t.need; base += blockDim.x, slot ^= 1) {
    const long long i = base + thread;
    const K rank = i < n ? order.rank(order.key(x[i])) : K(0);
    const bool same = i < n && (rank & t.mask) == t.bits;
    const unsigned those = __ballot_sync(0xffffffffu, same);
    if (lane == 0) warps[slot][thread / 32] = __popc(those);
    __syncthreads();
    unsigned before = seen;
#pragma unroll 1
    for (int w = 0; w < int(blockDim.x) / 32; w++) {
      if (w < thread / 32) before += warps[slot][w];
      seen += warps[slot][w];
    }
    before += __popc(those & ((1u << lane) - 1));
    if (same && before < t.need) line.set(from + before, rank, unsigned(i));
  }
}

template <class K>
SINTER_FN void sort_first(const K* x, K* values, int64* indices, int n, int k, int width, const Order& order) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ unsigned taken;
  Line<K> line(memory, width);
  const long long row = blockIdx.x;
  x += row * n;
  Threshold<K> t = {0, 0, unsigned(k), unsigned(n)};
#pragma unroll 1
  for (int top = 8 * int(sizeof(K)); top > 0 && t.same != t.need;) {
    const int bits = top < select_bits ? top : select_bits;
    top -= bits;
    narrow(x, n, order, t, top, bits);
  }
  if (threadIdx.x == 0) taken = 0;
#pragma unroll 1
  for (int i = k + threadIdx.x; i < width; i += blockDim.x) line.pad(i, ~0u);
  __syncthreads();
  const bool all = t.same == t.need;
  each_rank(x, n, order, [&](K rank, unsigned place) {
    const K bits = rank & t.mask;
    if (bits < t.bits || (all && bits == t.bits)) line.set(atomicAdd(&taken, 1u), rank, place);
  });
  if (!all) first_same(x, n, order, t, line, unsigned(k) - t.need);
  __syncthreads();
  bitonic(line, width, width);
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    const unsigned from = line.place(i);
    values[row * k + i] = x[from];
    indices[row * k + i] = from;
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_SORT_SHORT(N)                                                                                         \
  extern "C" __global__ void __launch_bounds__(512) sort_short_b##N(                                                 \
      const Bits<N>::type* x, Bits<N>::type* values, int64* indices, long long rows, int n, int width, int group,   \
      Order order) {                                                                                                 \
    sort_short(x, values, indices, rows, n, width, group, order);                                                    \
  }
#define SINTER_SORT_BLOCK(N, blocks)                                                                                 \
  extern "C" __global__ void __launch_bounds__(512, blocks) sort_block_b##N(                                         \
      const Bits<N>::type* x, Bits<N>::type* values, int64* indices, long long rows, int n, Order order) {           \
    sort_block<8>(x, values, indices, rows, n, order);                                                               \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(256, 6) sort_small_b##N(                                              \
      const Bits<N>::type* x, Bits<N>::type* values, int64* indices, long long rows, int n, Order order) {           \
    sort_block<4>(x, values, indices, rows, n, order);                                                               \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024) sort_first_b##N(                                                \
      const Bits<N>::type* x, Bits<N>::type* values, int64* indices, int n, int k, int width, Order order) {         \
    sort_first(x, values, indices, n, k, width, order);                                                              \
  }
SINTER_SORT_SHORT(1)
SINTER_SORT_SHORT(2)
SINTER_SORT_SHORT(4)
SINTER_SORT_SHORT(8)
SINTER_SORT_BLOCK(1, 3)
SINTER_SORT_BLOCK(2, 3)
SINTER_SORT_BLOCK(4, 3)
SINTER_SORT_BLOCK(8, 2)

extern "C" __global__ void __launch_bounds__(256) sort_origin(long long k, sinter::int64* places, const sinter::int64* from, long long part) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= k) return;
  const long long p = places[i];
  places[i] = from[p] + p / k * part;
}
