// Products of small matrices of which one extent is small, so that tiles would be mostly
// empty: what matters is the time until the first result. Sums are of float32.

#pragma once

#include "early.cuh"
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

constexpr int thin_rows = 8, thin_columns = 32, thin_slices = 8;

// thin_outer computes tiles of 8 rows and 32 columns, grid (columns, rows) of tiles. Blocks
// are (32, slices of k), at most 8 slices. It calls finish(row, column, sum) for each
// element of the product. Outside of the product a tile has what is at its edge, so that no
// load waits for a test.
template <class Finish> SINTER_FN void thin_outer(const Thin& p, const Finish& finish) {
  __shared__ float parts[thin_slices][thin_rows][thin_columns];
  __shared__ float totals[thin_slices][thin_rows];
  early();
  const int lane = threadIdx.x, slice = threadIdx.y, slices = blockDim.y;
  const int row = blockIdx.y * thin_rows, column = blockIdx.x * thin_columns;
  const float* y = p.y + min(column + lane, p.n - 1) * p.y_column;
  const float* x[thin_rows];
#pragma unroll
  for (int r = 0; r < thin_rows; r++) x[r] = p.x + min(row + r, p.m - 1) * p.x_row;
  float acc[thin_rows] = {}, total[thin_rows] = {};
#pragma unroll 8
  for (int k = slice; k < p.k; k += slices) {
    const float b = y[k * p.y_row];
#pragma unroll
    for (int r = 0; r < thin_rows; r++) {
      const float a = x[r][k * p.x_column];
      total[r] += a;
      acc[r] = __fmaf_rn(a, b, acc[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < thin_rows; r++) {
    if (lane == 0) totals[slice][r] = total[r];
    parts[slice][r][lane] = acc[r];
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

constexpr int thin_most = 16, thin_warps = 4;

// thin_dot computes rows of at most 16 columns, where elements of x and y lie next to each
// other along k, in vectors of width. Blocks are (32, slices of k, rows), at most 4 warps.
template <int width, class Finish> SINTER_FN void thin_dot(const Thin& p, const Finish& finish) {
  __shared__ float parts[thin_warps][thin_most];
  early();
  const int lane = threadIdx.x, slice = threadIdx.y, slices = blockDim.y;
  const int row = blockIdx.x * blockDim.z + threadIdx.z;
  const float* x = p.x + min(row, p.m - 1) * p.x_row;
  float acc[thin_most] = {};
#pragma unroll 2
  for (int k = (slice * 32 + lane) * width; k < p.k; k += slices * 32 * width) {
    const Vector<float, width> a = load<width>(x + k);
    Vector<float, width> b[thin_most];
#pragma unroll
    for (int j = 0; j < thin_most; j++) b[j] = load<width>(p.y + min(j, p.n - 1) * p.y_column + k);
#pragma unroll
    for (int j = 0; j < thin_most; j++) {
#pragma unroll
      for (int w = 0; w < width; w++) acc[j] = __fmaf_rn(a.at[w], b[j].at[w], acc[j]);
    }
  }
  float own = 0;
#pragma unroll
  for (int j = 0; j < thin_most; j++) {
    float sum = acc[j];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == j) own = sum;
  }
  const int first = threadIdx.z * slices;
  if (lane < thin_most) parts[first + slice][lane] = own;
  __syncthreads();
  if (slice > 0 || row >= p.m || lane >= p.n) return;
#pragma unroll 1
  for (int s = 1; s < slices; s++) own += parts[first + s][lane];
  finish(row, lane, own);
}

}  // namespace sinter
