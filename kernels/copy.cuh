// Kernels that move elements: fills and transposes. What copies and converts
// elements where they lie is in elementwise.cuh.
//
//   SINTER_FILL(fill_b4, b4)
//       NAME(long long count, void* out, S value), blocks of 256 threads, best
//       with ceil(count / (256 * 64 bytes of elements)) of them.
//   SINTER_TRANSPOSE(transpose_b4, b4)
//       NAME(Space<2> batch, Plane plane, Pointers<2> p), blocks of 256 threads,
//       best with one for every tile of the planes; a tile has 64 elements a
//       side, 32 where an element has more than 4 bytes. batch has the strides of
//       the result and of the operand.

#pragma once

#include "space.cuh"

namespace sinter {

typedef Raw<1>::type b1;
typedef Raw<2>::type b2;
typedef Raw<4>::type b4;
typedef Raw<8>::type b8;
typedef Raw<16>::type b16;

constexpr int copy_threads = 256;

template <class S> struct Fill {
  static constexpr int width = 16 / sizeof(S);  // elements a vector
  static constexpr int unroll = 4;              // vectors a thread

  static SINTER_FN void run(long long count, S* out, S value) {
    constexpr long long block = copy_threads * width * unroll;
    Vector<S, width> v;
#pragma unroll
    for (int k = 0; k < width; k++) v.at[k] = value;
    const bool vectors = aligned(out, 16);
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < count; base += gridDim.x * block) {
      if (vectors && base + block <= count) {
#pragma unroll
        for (int u = 0; u < unroll; u++) store(out + base + (u * copy_threads + threadIdx.x) * width, v);
      } else {
        const long long end = base + block < count ? base + block : count;
        for (long long at = base + threadIdx.x; at < end; at += copy_threads) out[at] = value;
      }
    }
  }
};

// A Plane is two axes that are transposed: element (r, c) of the operand is r
// steps and c elements from the first, that of the result c steps and r elements.
struct Plane {
  long long rows, columns;
  long long out_step, x_step;  // in elements
};

template <class S> struct Transpose {
  static constexpr int size = sizeof(S) <= 4 ? 64 : 32;          // of a tile's side
  static constexpr int pad = sizeof(S) < 4 ? 4 / sizeof(S) : 1;  // against bank conflicts
  static constexpr int width = 16 / sizeof(S);                   // elements a vector
  static constexpr int lanes = size / width;                     // threads a line of a tile
  static constexpr int pass = copy_threads / lanes;              // lines read or written at once
  static constexpr int passes = size / pass;

  static SINTER_FN bool in_vectors(const S* p, long long step) { return aligned(p, 16) && step % width == 0; }

  // tile transposes the tile whose first element is x, with rows by columns of it
  // in the plane.
  static SINTER_FN void tile(S (*t)[size + pad], const S* x, S* out, const Plane& l, long long rows, long long columns) {
    const int line = threadIdx.x / lanes, first = threadIdx.x % lanes * width;
    const bool load_vectors = in_vectors(x, l.x_step), store_vectors = in_vectors(out, l.out_step);
    Vector<S, width> v[passes];
#pragma unroll
    for (int p = 0; p < passes; p++) {
      const int r = p * pass + line;
      const S* from = x + r * l.x_step + first;
      if (r >= rows) continue;
      if (load_vectors && first + width <= columns) {
        v[p] = load<width>(from);
      } else {
#pragma unroll
        for (int k = 0; k < width; k++) {
          if (first + k < columns) v[p].at[k] = from[k];
        }
      }
    }
#pragma unroll
    for (int p = 0; p < passes; p++) {
#pragma unroll
      for (int k = 0; k < width; k++) t[p * pass + line][first + k] = v[p].at[k];
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < passes; p++) {
      const int c = p * pass + line;
      S* to = out + c * l.out_step + first;
      if (c >= columns) continue;
#pragma unroll
      for (int k = 0; k < width; k++) v[p].at[k] = t[first + k][c];
      if (store_vectors && first + width <= rows) {
        store(to, v[p]);
      } else {
#pragma unroll
        for (int k = 0; k < width; k++) {
          if (first + k < rows) to[k] = v[p].at[k];
        }
      }
    }
    __syncthreads();
  }

  static SINTER_FN void run(const Space<2>& batch, const Plane& l, const Pointers<2>& p) {
    __shared__ S t[size][size + pad];
    const long long across = (l.columns + size - 1) / size, down = (l.rows + size - 1) / size;
#pragma unroll 1
    for (long long i = blockIdx.x; i < batch.count * across * down; i += gridDim.x) {
      const long long plane = i / (across * down), in_plane = i - plane * (across * down);
      const long long r = in_plane / across * size, c = in_plane % across * size;
      const Offsets<2> at = locate(batch, unsigned(plane));
      tile(t, static_cast<const S*>(p.at[1]) + at.at[1] + r * l.x_step + c,
           static_cast<S*>(p.at[0]) + at.at[0] + c * l.out_step + r, l, l.rows - r, l.columns - c);
    }
  }
};

}  // namespace sinter

#define SINTER_FILL(name, S)                                                                              \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads) name(long long count, void* out, S value) { \
    sinter::Fill<S>::run(count, static_cast<S*>(out), value);                                             \
  }

#define SINTER_TRANSPOSE(name, S)                                                             \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads)                          \
      name(sinter::Space<2> batch, sinter::Plane plane, sinter::Pointers<2> p) {              \
    sinter::Transpose<S>::run(batch, plane, p);                                               \
  }
