// Binary search.
//
//   searchsorted_DTYPE(const T* sorted, const T* values, int64* out, long long count, long long width, long long n, bool right)
//       for each of count values the elements of its row of sorted, of n elements,
//       that are smaller, or with right no larger. NaN is larger than any number.
//       width neighbouring values share a row. Any grid of blocks of 256 threads.

#include "num.cuh"

namespace sinter {

// before reports whether a comes before b in ascending order.
template <class T> SINTER_FN bool before(T a, T b) { return a < b || (b != b && a == a); }

template <class T>
SINTER_FN void searchsorted(const T* sorted, const T* values, int64* out, long long count, long long width, long long n,
                            bool right) {
  const long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 1
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const T v = values[i];
    const T* row = sorted + (count == width ? 0 : i / width * n);
    long long low = 0, high = n;  // the place lies in [low, high]
#pragma unroll 1
    while (low < high) {
      const long long middle = low + (high - low) / 2;
      const T s = row[middle];
      if (right ? !before(v, s) : before(s, v)) low = middle + 1;
      else high = middle;
    }
    out[i] = low;
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_SEARCH(T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) searchsorted_##T(                                                \
      const T* sorted, const T* values, int64* out, long long count, long long width, long long n, bool right) {     \
    searchsorted<T>(sorted, values, out, count, width, n, right);                                                    \
  }
SINTER_SEARCH(int32)
SINTER_SEARCH(int64)
SINTER_SEARCH(float32)
SINTER_SEARCH(float64)
