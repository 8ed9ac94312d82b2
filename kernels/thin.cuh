// Products of small matrices of which one extent is small, so that tiles would be mostly
// empty: what matters is the time until the first result. Sums are of float32.

#pragma once

#include "space.cuh"

namespace sinter {

// A Thin is a product of [m, k] and [k, n] matrices. Strides are in elements. Where sums is
// not null, the sums of x along k are written there.
struct Thin {
  const float* x;
  const float* y;
  float* sums;
  long long x_row, x_column, y_row, y_column;
  int m, n, k;
};

constexpr int thin_rows = 8, thin_columns = 128, thin_slices = 8;

// thin_outer computes tiles of 8 rows and 128 columns, grid (columns, rows) of tiles. Blocks
// are (32, slices of k), at most 8 slices. It calls finish(row, column, sum) for each
// element of the product.
template <class Finish> SINTER_FN void thin_outer(const Thin& p, const Finish& finish) {
  constexpr int each = thin_columns / 32;
  __shared__ float parts[thin_slices][thin_rows][thin_columns];
  __shared__ float totals[thin_slices][thin_rows];
  const int lane = threadIdx.x, slice = threadIdx.y, slices = blockDim.y;
  const int row = blockIdx.y * thin_rows, column = blockIdx.x * thin_columns;
  float acc[thin_rows][each] = {}, total[thin_rows] = {};
#pragma unroll 4
  for (int k = slice; k < p.k; k += slices) {
    float y[each], x[thin_rows];
#pragma unroll
    for (int j = 0; j < each; j++) {
      const int c = column + j * 32 + lane;
      y[j] = c < p.n ? p.y[k * p.y_row + c * p.y_column] : 0;
    }
#pragma unroll
    for (int r = 0; r < thin_rows; r++) x[r] = row + r < p.m ? p.x[(row + r) * p.x_row + k * p.x_column] : 0;
#pragma unroll
    for (int r = 0; r < thin_rows; r++) {
      total[r] += x[r];
#pragma unroll
      for (int j = 0; j < each; j++) acc[r][j] = __fmaf_rn(x[r], y[j], acc[r][j]);
    }
  }
#pragma unroll
  for (int r = 0; r < thin_rows; r++) {
    if (lane == 0) totals[slice][r] = total[r];
#pragma unroll
    for (int j = 0; j < each; j++) parts[slice][r][j * 32 + lane] = acc[r][j];
  }
  __syncthreads();
#pragma unroll 1
  for (int i = slice * 32 + lane; i < thin_rows * thin_columns; i += slices * 32) {
    const int r = i / thin_columns, c = i % thin_columns;
    float sum = parts[0][r][c];
#pragma unroll 1
    for (int s = 1; s < slices; s++) sum += parts[s][r][c];
    if (row + r < p.m && column + c < p.n) finish(row + r, column + c, sum);
  }
  if (p.sums && blockIdx.x == 0 && slice == 0 && lane < thin_rows && row + lane < p.m) {
    float sum = totals[0][lane];
#pragma unroll 1
    for (int s = 1; s < slices; s++) sum += totals[s][lane];
    p.sums[row + lane] = sum;
  }
}

constexpr int thin_most = 16;

// thin_dot computes a row a warp, of at most 16 columns, where elements of x and y lie next
// to each other along k, in vectors of width. Blocks are (32, rows).
template <int width, class Finish> SINTER_FN void thin_dot(const Thin& p, const Finish& finish) {
  const int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= p.m) return;
  const float* x = p.x + row * p.x_row;
  float acc[thin_most] = {};
#pragma unroll 2
  for (int k = lane * width; k < p.k; k += 32 * width) {
    const Vector<float, width> a = load<width>(x + k);
#pragma unroll
    for (int j = 0; j < thin_most; j++) {
      if (j >= p.n) continue;
      const Vector<float, width> b = load<width>(p.y + j * p.y_column + k);
#pragma unroll
      for (int w = 0; w < width; w++) acc[j] = __fmaf_rn(a.at[w], b.at[w], acc[j]);
    }
  }
  float own = 0;
#pragma unroll
  for (int j = 0; j < thin_most; j++) {
    if (j >= p.n) continue;
    float sum = acc[j];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == j) own = sum;
  }
  if (lane < p.n) finish(row, lane, own);
}

}  // namespace sinter
