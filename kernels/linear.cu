// Adds a bias to each row of a matrix, where no library has done it with the product.

#include "gemm.cuh"

namespace sinter {

// out is contiguous, rows x columns; bias has columns elements. Blocks are of two
// dimensions, columns along x, and go on with what is left.
template <class S> SINTER_FN void bias(S* out, const S* bias, long long rows, long long columns) {
  typedef compute_t<S> C;
  for (long long j = (long long)(blockIdx.x) * blockDim.x + threadIdx.x; j < columns; j += (long long)(gridDim.x) * blockDim.x) {
    const C b = cast<C>(bias[j]);
    for (long long i = (long long)(blockIdx.y) * blockDim.y + threadIdx.y; i < rows; i += (long long)(gridDim.y) * blockDim.y) {
      S& o = out[i * columns + j];
      o = cast<S>(plus(cast<C>(o), b));
    }
  }
}

}  // namespace sinter

#define SINTER_BIAS(dtype)                                                                                      \
  extern "C" __global__ void bias_##dtype(sinter::dtype* out, const sinter::dtype* bias, long long rows,         \
                                          long long columns) {                                                  \
    sinter::bias(out, bias, rows, columns);                                                                     \
  }

SINTER_BIAS(float16)
SINTER_BIAS(bfloat16)
SINTER_BIAS(float32)
SINTER_BIAS(float64)
SINTER_BIAS(complex64)
SINTER_BIAS(complex128)
