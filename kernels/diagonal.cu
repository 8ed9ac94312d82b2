// Matrices of zeros but for a diagonal.
//
//   on_diagonal_bN(Diagonal d, T* out, const T* x)
//       matrices after another, of elements of N bytes, with rows of x on their diagonals.
//       Blocks of 256 threads, best with ceil(count / (256 * 64 bytes of elements)) of them.

#include "copy.cuh"

namespace sinter {

// A Diagonal is the geometry, in elements.
struct Diagonal {
  long long count;   // of all matrices
  long long area;    // of a matrix
  long long first;   // of a matrix' diagonal
  long long step;    // from an element of the diagonal to the next
  long long length;  // of the diagonal

  // before returns how many elements of diagonals lie before a place.
  SINTER_FN long long before(long long place) const {
    const long long matrix = place / area, rest = place - matrix * area - first;
    const long long k = rest <= 0 ? 0 : (rest + step - 1) / step;
    return matrix * length + (k < length ? k : length);
  }
};

// A block writes zeros to a run of the result, then what lies on diagonals there.
template <class S> SINTER_FN void on_diagonal(const Diagonal& d, S* out, const S* x) {
  constexpr int width = 16 / sizeof(S), unroll = 4;
  constexpr long long block = copy_threads * width * unroll;
  __shared__ long long ends[2];
#pragma unroll 1
  for (long long base = blockIdx.x * block; base < d.count; base += gridDim.x * block) {
    const long long end = base + block < d.count ? base + block : d.count;
    if (threadIdx.x < 2) ends[threadIdx.x] = d.before(threadIdx.x == 0 ? base : end);
    if (aligned(out, 16) && end == base + block) {
      const Vector<S, width> none = {};
#pragma unroll
      for (int u = 0; u < unroll; u++) store(out + base + (u * copy_threads + threadIdx.x) * width, none);
    } else {
      for (long long at = base + threadIdx.x; at < end; at += copy_threads) out[at] = S();
    }
    __syncthreads();
    for (long long k = ends[0] + threadIdx.x; k < ends[1]; k += copy_threads) {
      const long long matrix = k / d.length;
      out[matrix * d.area + d.first + (k - matrix * d.length) * d.step] = x[k];
    }
    __syncthreads();
  }
}

}  // namespace sinter

#define SINTER_ON_DIAGONAL(N)                                                                \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads)                         \
      on_diagonal_b##N(sinter::Diagonal d, sinter::b##N* out, const sinter::b##N* x) {       \
    sinter::on_diagonal(d, out, x);                                                          \
  }

SINTER_ON_DIAGONAL(1)
SINTER_ON_DIAGONAL(2)
SINTER_ON_DIAGONAL(4)
SINTER_ON_DIAGONAL(8)
SINTER_ON_DIAGONAL(16)
