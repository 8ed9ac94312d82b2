// Kernels that move elements: fills and transposes. What copies and converts
// elements where they lie is in elementwise.cuh.
//
//   SINTER_FILL(fill_b4, b4)
//       NAME(long long count, void* out, S value), blocks of 256 threads, best
//       with ceil(count / (256 * 64 bytes of elements)) of them.
//   SINTER_TRANSPOSE(transpose_b4, b4)
//       NAME(Space<2> batch, Plane plane, Pointers<2> p), blocks of 256 threads,
//       grid (tiles of a plane, n): exactly as many as ceil(rows / side) times
//       ceil(columns / side), and best n = batch.count. The side of a tile is 128
//       elements of 1 or 2 bytes, 64 of 4, 32 of more. batch has the strides of the
//       result and of the operand.
//   SINTER_NARROW(narrow_b4, b4)
//       The same for planes of few columns that lie row by row without gaps in the
//       operand, or of few rows that lie column by column so in the result: blocks of
//       256 threads, grid (ceil(many / floor(16 KiB of elements / few)), n).
//   SINTER_SPREAD(spread_b4, b4)
//       NAME(Space<2> s, Pointers<2> p) for an operand whose elements are repeated along
//       axis 0 of two or more. Each 16 bytes of the result lie next to each other, as a
//       vector, in the plane of axes 0 and 1. Offsets are below 2^31. Blocks of 256 threads,
//       best with ceil(count / (256 * 16 bytes of elements)) of them.

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

// A tile goes through shared memory as vectors of 16 bytes, the size that both its
// rows in the operand and its columns in the result are read and written in.
template <class S> struct Transpose {
  static constexpr int size = sizeof(S) < 4 ? 128 : sizeof(S) == 4 ? 64 : 32;  // of a tile's side
  static constexpr int width = 16 / sizeof(S);                                 // elements a vector
  static constexpr int chunks = size / width;                                  // vectors a line of a tile
  static constexpr int lines = copy_threads / chunks;                          // rows read at once
  static constexpr int passes = size / lines;
  // Blocks of a multiprocessor, for which registers are kept few: as many as its
  // threads allow, or its shared memory where tiles have 32 KiB.
  static constexpr int blocks = sizeof(S) == 2 ? 6 : 8;
  typedef Vector<S, width> V;

  // slot is where a tile keeps a vector of row r. The 32 elements that a warp
  // reads at once are of 8 vectors, width rows apart: the exclusive or puts these
  // into different banks.
  static SINTER_FN int slot(int r, int chunk) { return r * chunks + (chunk ^ (r / width % 8)); }

  // write stores a vector in one access. Left to itself the compiler writes the
  // elements one by one, as they come from shared memory.
  static SINTER_FN void write(S* p, const V& v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "l"(p), "r"(v.all.x), "r"(v.all.y), "r"(v.all.z), "r"(v.all.w) : "memory");
  }

  static SINTER_FN bool in_vectors(const S* p, long long step) { return aligned(p, 16) && step % width == 0; }

  // column returns rows first to first + width - 1 of column c.
  static SINTER_FN V column(const V* t, int first, int c) {
    V v;
#pragma unroll
    for (int k = 0; k < width; k++) v.at[k] = t[slot(first + k, c / width)].at[c % width];
    return v;
  }

  // place returns the column and the first row of the vector that this thread
  // writes in a pass: a warp writes 8 neighbours, 128 bytes, of each of 4 columns.
  struct Place {
    int c, first;
  };
  static SINTER_FN Place place(int pass) {
    const int warp = pass * (copy_threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    return {warp / (chunks / 8) * 4 + lane / 8, (warp % (chunks / 8) * 8 + lane % 8) * width};
  }

  // whole transposes a tile without edges whose lines all start at multiples of 16
  // bytes. Bytes are written a vector at a time: 16 loads each are registers enough.
  static SINTER_FN void whole(V* t, const S* x, S* out, const Plane& l) {
    const int r = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    V v[passes];
#pragma unroll
    for (int p = 0; p < passes; p++) v[p] = load<width>(x + (p * lines + r) * l.x_step + chunk * width);
#pragma unroll
    for (int p = 0; p < passes; p++) t[slot(p * lines + r, chunk)].all = v[p].all;
    __syncthreads();
#pragma unroll(sizeof(S) == 1 ? 1 : passes)
    for (int p = 0; p < passes; p++) {
      const Place to = place(p);
      write(out + to.c * l.out_step + to.first, column(t, to.first, to.c));
    }
  }

  // part transposes any tile, of which rows by columns are in the plane. Its passes
  // are not unrolled: they would take the registers that whole does without.
  static SINTER_FN void part(V* t, const S* x, S* out, const Plane& l, long long rows, long long columns) {
    const int chunk = threadIdx.x % chunks, first = chunk * width;
    const bool load_vectors = in_vectors(x, l.x_step), store_vectors = in_vectors(out, l.out_step);
#pragma unroll 1
    for (int r = threadIdx.x / chunks; r < size && r < rows; r += lines) {
      const S* from = x + r * l.x_step + first;
      V* to = t + slot(r, chunk);
      if (load_vectors && first + width <= columns) {
        to->all = load<width>(from).all;
      } else {
        const int n = columns - first < width ? int(columns - first) : width;
#pragma unroll 4
        for (int k = 0; k < n; k++) to->at[k] = from[k];
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int p = 0; p < passes; p++) {
      const Place at = place(p);
      if (at.c >= columns || at.first >= rows) continue;
      S* to = out + at.c * l.out_step + at.first;
      if (store_vectors && at.first + width <= rows) {
        write(to, column(t, at.first, at.c));
      } else {
        const int n = rows - at.first < width ? int(rows - at.first) : width;
#pragma unroll 4
        for (int k = 0; k < n; k++) to[k] = t[slot(at.first + k, at.c / width)].at[at.c % width];
      }
    }
  }

  // Blocks go down the operand's columns, so that those that run at once write
  // whole lines of the result.
  static SINTER_FN void run(const Space<2>& batch, const Plane& l, const Pointers<2>& p) {
    __shared__ V t[size * chunks];
    const unsigned down = unsigned((l.rows + size - 1) / size);
    const long long r = (long long)(blockIdx.x % down) * size, c = (long long)(blockIdx.x / down) * size;
#pragma unroll 1
    for (unsigned i = blockIdx.y; i < batch.count; i += gridDim.y) {
      const Offsets<2> at = locate(batch, i);
      const S* x = static_cast<const S*>(p.at[1]) + at.at[1] + r * l.x_step + c;
      S* out = static_cast<S*>(p.at[0]) + at.at[0] + c * l.out_step + r;
      const bool inside = r + size <= l.rows && c + size <= l.columns;
      if (inside && in_vectors(x, l.x_step) && in_vectors(out, l.out_step)) whole(t, x, out, l);
      else part(t, x, out, l, l.rows - r, l.columns - c);
      __syncthreads();
    }
  }
};

// Planes with few rows or columns go through shared memory as they lie where they have no gaps.
template <class S> struct Narrow {
  static constexpr int size = 16384 / sizeof(S);  // elements that a block has at once

  static SINTER_FN void run(const Space<2>& batch, const Plane& l, const Pointers<2>& p) {
    __shared__ S t[size];
    const bool rows = l.rows < l.columns;  // are few
    const int few = int(rows ? l.rows : l.columns);
    const long long many = rows ? l.columns : l.rows, most = size / few, first = blockIdx.x * most;
    const int n = int(many - first < most ? many - first : most);
#pragma unroll 1
    for (unsigned i = blockIdx.y; i < batch.count; i += gridDim.y) {
      const Offsets<2> at = locate(batch, i);
      const S* x = static_cast<const S*>(p.at[1]) + at.at[1] + (rows ? first : first * few);
      S* out = static_cast<S*>(p.at[0]) + at.at[0] + (rows ? first * few : first);
      if (rows) {
#pragma unroll 1
        for (int r = 0; r < few; r++) {
#pragma unroll 4
          for (int k = threadIdx.x; k < n; k += copy_threads) t[k * few + r] = x[r * l.x_step + k];
        }
      } else {
#pragma unroll 4
        for (int k = threadIdx.x; k < n * few; k += copy_threads) t[k] = x[k];
      }
      __syncthreads();
      if (rows) {
#pragma unroll 4
        for (int k = threadIdx.x; k < n * few; k += copy_threads) out[k] = t[k];
      } else {
#pragma unroll 1
        for (int c = 0; c < few; c++) {
#pragma unroll 4
          for (int k = threadIdx.x; k < n; k += copy_threads) out[c * l.out_step + k] = t[k * few + c];
        }
      }
      __syncthreads();
    }
  }
};

// A thread finds the plane of a vector of the result, and its elements by going on there.
template <class S> struct Spread {
  static constexpr int width = 16 / sizeof(S);  // elements a vector

  static SINTER_FN void run(const Space<2>& s, const Pointers<2>& p) {
    const unsigned count = unsigned(s.count), across = s.extents[0].divisor;
    const unsigned down = unsigned(s.strides[1][1]);
#pragma unroll 1
    for (unsigned i = (blockIdx.x * copy_threads + threadIdx.x) * width; i < count; i += gridDim.x * (copy_threads * width)) {
      const unsigned line = quotient(i, s.extents[0]);
      unsigned plane[1] = {quotient(line, s.extents[1])}, at[1][2] = {};
      unsigned column = i - line * across, row = line - plane[0] * s.extents[1].divisor;
      S* to = static_cast<S*>(p.at[0]) + (row * unsigned(s.strides[0][1]) + column);
      locate(s, plane, at, 2);
      const S* from = static_cast<const S*>(p.at[1]) + at[0][1];
      Vector<S, width> v;
#pragma unroll
      for (int k = 0; k < width; k++) {
        v.at[k] = from[row * down];
        column++;
        if (column == across) column = 0, row++;
      }
      store(to + at[0][0], v);
    }
  }
};

}  // namespace sinter

#define SINTER_SPREAD(name, S)                                                       \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads)                 \
      name(sinter::Space<2> s, sinter::Pointers<2> p) {                              \
    sinter::Spread<S>::run(s, p);                                                    \
  }

#define SINTER_FILL(name, S)                                                                              \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads) name(long long count, void* out, S value) { \
    sinter::Fill<S>::run(count, static_cast<S*>(out), value);                                             \
  }

#define SINTER_TRANSPOSE(name, S)                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads, sinter::Transpose<S>::blocks)   \
      name(sinter::Space<2> batch, sinter::Plane plane, sinter::Pointers<2> p) {                     \
    sinter::Transpose<S>::run(batch, plane, p);                                                      \
  }

#define SINTER_NARROW(name, S)                                            \
  extern "C" __global__ void __launch_bounds__(sinter::copy_threads)      \
      name(sinter::Space<2> batch, sinter::Plane plane, sinter::Pointers<2> p) { \
    sinter::Narrow<S>::run(batch, plane, p);                              \
  }
