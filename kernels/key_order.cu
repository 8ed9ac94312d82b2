// The order of random keys of 64 bits from that of their high words.
//
//   key_high(const long long* x, long long count, int* high)
//   key_ties(const int* high, const long long* x, long long count, long long* places)
//       brings places, which are ordered by the high words of x, into the order of x: high
//       holds the words in order. Runs of equal words should be short: a thread orders each.
//
// Blocks of 256 threads, best with ceil(count / 1024) of them.

#include "space.cuh"

namespace sinter {

constexpr int key_threads = 256;
constexpr int key_each = 4;  // keys a thread

// order_run orders the places of keys whose high words are equal, from the least on; of equal
// keys the order stays.
SINTER_FN void order_run(const long long* x, long long* places, long long first, long long end) {
#pragma unroll 1
  for (long long i = first + 1; i < end; i++) {
    const long long place = places[i], key = x[place];
    long long to = i;
    for (; to > first && x[places[to - 1]] > key; to--) places[to] = places[to - 1];
    places[to] = place;
  }
}

}  // namespace sinter

using namespace sinter;

extern "C" __global__ void __launch_bounds__(key_threads) key_high(const long long* x, long long count, int* high) {
  const long long step = (long long)gridDim.x * (key_threads * key_each);
#pragma unroll 1
  for (long long base = (long long)blockIdx.x * (key_threads * key_each) + threadIdx.x; base < count; base += step) {
#pragma unroll
    for (int e = 0; e < key_each; e++) {
      const long long i = base + e * key_threads;
      if (i < count) high[i] = int(x[i] >> 32);
    }
  }
}

extern "C" __global__ void __launch_bounds__(key_threads)
    key_ties(const int* high, const long long* x, long long count, long long* places) {
  const long long step = (long long)gridDim.x * (key_threads * key_each);
#pragma unroll 1
  for (long long base = (long long)blockIdx.x * (key_threads * key_each) + threadIdx.x; base < count; base += step) {
    bool starts[key_each];
#pragma unroll
    for (int e = 0; e < key_each; e++) {
      const long long i = base + e * key_threads;
      starts[e] = i + 1 < count && high[i] == high[i + 1] && (i == 0 || high[i - 1] != high[i]);
    }
#pragma unroll
    for (int e = 0; e < key_each; e++) {
      if (!starts[e]) continue;
      const long long first = base + e * key_threads;
      long long end = first + 2;
      while (end < count && high[end] == high[first]) end++;
      order_run(x, places, first, end);
    }
  }
}
