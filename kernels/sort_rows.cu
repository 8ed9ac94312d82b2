// Stable sorting of short rows, each in the shared memory of one block.
//
//   sort_short_bN(const K* x, K* values, int64* indices, long long rows, int n, int width, int group, Order order)
//       rows of n elements of N bytes each, one after the other. width is the least
//       power of two >= n, at most 4096; a block sorts group rows at once. Blocks of
//       32 to 512 threads, best with half as many as group * width; any grid; dynamic
//       shared memory of 8 bytes for each of group * width elements, 12 where N is 8.

#include "order.cuh"

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

}  // namespace sinter

using namespace sinter;

#define SINTER_SORT_SHORT(N)                                                                                         \
  extern "C" __global__ void __launch_bounds__(512) sort_short_b##N(                                                 \
      const Bits<N>::type* x, Bits<N>::type* values, int64* indices, long long rows, int n, int width, int group,   \
      Order order) {                                                                                                 \
    sort_short(x, values, indices, rows, n, width, group, order);                                                    \
  }
SINTER_SORT_SHORT(1)
SINTER_SORT_SHORT(2)
SINTER_SORT_SHORT(4)
SINTER_SORT_SHORT(8)
