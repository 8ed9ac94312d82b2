// Matrices with zeros beside a band of diagonals.
//
//   band_bN(Band b, const T* x, T* out)
//       rows after rows of matrices, in units of width elements of N bytes each that
//       do not cross rows. Blocks of 256 threads, best with ceil(units / 1024) of them.

#include "space.cuh"

namespace sinter {

constexpr int band_threads = 256;
constexpr int band_each = 4;  // units a thread

// A Band is the geometry. Positions, in units, and rows with start are below 2^31.
struct Band {
  unsigned units;       // of all rows
  unsigned start;       // the row of a matrix that the first one is
  Divider across;       // units in a row
  Divider rows;         // rows in a matrix
  int first, last;      // what column less row is in the band
  int vectors;          // a unit is 16 bytes, or else one element
};

template <class T, int width> SINTER_FN void band(const Band& b, const T* x, T* out) {
  const T none = {};
  const unsigned step = gridDim.x * (band_threads * band_each);
#pragma unroll 1
  for (unsigned base = blockIdx.x * (band_threads * band_each) + threadIdx.x; base < b.units; base += step) {
    Vector<T, width> v[band_each];
#pragma unroll
    for (int e = 0; e < band_each; e++) {
      const unsigned i = base + e * band_threads < b.units ? base + e * band_threads : base;
      const unsigned row = quotient(i, b.across), at = row + b.start;
      const int column = int(i - row * b.across.divisor) * width;
      const int r = int(at - quotient(at, b.rows) * b.rows.divisor);
      const int first = r + b.first - column, last = r + b.last - column;  // of the unit's elements
      const bool some = first < width && last >= 0;
      if (some) v[e] = load<width>(x + (long long)i * width);
#pragma unroll
      for (int k = 0; k < width; k++) {
        if (!some || k < first || k > last) v[e].at[k] = none;
      }
    }
#pragma unroll
    for (int e = 0; e < band_each; e++) {
      const unsigned i = base + e * band_threads;
      if (i < b.units) store(out + (long long)i * width, v[e]);
    }
  }
}

template <class T> SINTER_FN void band_of(const Band& b, const T* x, T* out) {
  if (b.vectors) band<T, 16 / sizeof(T)>(b, x, out);
  else band<T, 1>(b, x, out);
}

}  // namespace sinter

using namespace sinter;

#define SINTER_BAND(n)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(band_threads) band_b##n(Band b, const Raw<n>::type* x, Raw<n>::type* out) { \
    band_of(b, x, out);                                                                                                       \
  }
SINTER_BAND(1)
SINTER_BAND(2)
SINTER_BAND(4)
SINTER_BAND(8)
SINTER_BAND(16)
