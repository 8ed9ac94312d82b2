// Products of matrices of any strides, in batches.

#include "gemm.cuh"

namespace sinter {

constexpr int batch_axes = 6;

// A MatMul is batch products of [m, k] and [k, n] matrices. The results are
// contiguous, [batch, m, n]; with more than one slice the sums are left in
// partial, [slices, batch, m, n]. Strides are in elements.
struct MatMul {
  void* out;
  const void* a;
  const void* b;
  void* partial;
  int m, n, k, slices;
  long long a_row, a_column, b_row, b_column;
  long long batch;
  int axes;  // of the batch, from the innermost out
  int extents[batch_axes];
  long long a_batch[batch_axes], b_batch[batch_axes];
};

// multiply computes tiles: blockIdx.x is the tile of a product, blockIdx.y the
// slice, and products are dealt to blockIdx.z.
template <class S, class T> SINTER_FN void multiply(const MatMul& p) {
  typedef typename T::Acc Acc;
  const int down = (p.m + T::rows - 1) / T::rows;
  const int row = int(blockIdx.x) % down * T::rows, column = int(blockIdx.x) / down * T::columns;
  const Share share = Share::of<T>(p.k, blockIdx.y, p.slices);
#pragma unroll 1
  for (long long product = blockIdx.z; product < p.batch; product += gridDim.z) {
    const S* a = static_cast<const S*>(p.a);
    const S* b = static_cast<const S*>(p.b);
    long long rest = product;
#pragma unroll 1
    for (int d = 0; d < p.axes; d++) {
      long long at = d == p.axes - 1 ? rest : rest % p.extents[d];
      rest /= p.extents[d];
      a += at * p.a_batch[d];
      b += at * p.b_batch[d];
    }
    const Strided<T, S, T::rows> left(a, p.a_row, p.a_column, row, p.m);
    const Strided<T, S, T::columns> right(b, p.b_column, p.b_row, column, p.n);
    Acc acc[T::m][T::n];
#pragma unroll
    for (int i = 0; i < T::m; i++) {
#pragma unroll
      for (int j = 0; j < T::n; j++) acc[i][j] = Acc(0);
    }
    tile_product<T>(left, right, share.from, share.end, acc);
    const long long start = (p.slices > 1 ? (long long)(blockIdx.y) * p.batch : 0) + product;
#pragma unroll
    for (int i = 0; i < T::m; i++) {
      const int r = row + T::row(i);
      const long long line = (start * p.m + r) * p.n;
#pragma unroll
      for (int j = 0; j < T::n; j++) {
        const int c = column + T::column(j);
        if (r >= p.m || c >= p.n) continue;
        if (p.slices > 1) static_cast<Acc*>(p.partial)[line + c] = acc[i][j];
        else static_cast<S*>(p.out)[line + c] = narrowed<S>(acc[i][j]);
      }
    }
  }
}

template <class S, int rows, int columns, int m, int n> using MatMulTile = Tile<accumulator_t<S>, rows, columns, m, n>;

}  // namespace sinter

// A tile of 128 x 128 for large products, of 64 x 64 for middling ones, of
// 16 x 16 for small and thin ones.
#define SINTER_MATMUL(dtype)                                                                                             \
  extern "C" __global__ void __launch_bounds__(256) matmul_##dtype##_64(sinter::MatMul p) {                              \
    sinter::multiply<sinter::dtype, sinter::MatMulTile<sinter::dtype, 64, 64, 4, 4>>(p);                                 \
  }                                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) matmul_##dtype##_16(sinter::MatMul p) {                              \
    sinter::multiply<sinter::dtype, sinter::MatMulTile<sinter::dtype, 16, 16, 1, 1>>(p);                                 \
  }                                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) matmul_##dtype##_merge(sinter::dtype* out, const void* partial,      \
                                                                           long long count, int slices) {                \
    sinter::merge_slices(out, static_cast<const sinter::accumulator_t<sinter::dtype>*>(partial), count, slices);         \
  }

#define SINTER_MATMUL_LARGE(dtype)                                                                                       \
  SINTER_MATMUL(dtype)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(256) matmul_##dtype##_128(sinter::MatMul p) {                             \
    sinter::multiply<sinter::dtype, sinter::MatMulTile<sinter::dtype, 128, 128, 8, 8>>(p);                               \
  }

SINTER_MATMUL_LARGE(float16)
SINTER_MATMUL_LARGE(bfloat16)
SINTER_MATMUL_LARGE(float32)
SINTER_MATMUL_LARGE(float64)
SINTER_MATMUL_LARGE(uint8)
SINTER_MATMUL_LARGE(int8)
SINTER_MATMUL_LARGE(int16)
SINTER_MATMUL_LARGE(int32)
SINTER_MATMUL_LARGE(int64)
SINTER_MATMUL_LARGE(complex64)
SINTER_MATMUL(complex128)
