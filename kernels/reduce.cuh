// Loops of reductions, over a functor that is the operator's four expressions.
//
//   template <class T> struct Mean {
//     typedef T Acc;                                  // of an accumulator
//     __device__ Acc init() const { return 0; }       // the identity of combine
//     __device__ Acc map(T x) const { return x; }     // of one element, in its compute type
//     __device__ Acc combine(Acc a, Acc b) const { return a + b; }
//     __device__ T finish(Acc a, long long count) const { return a / T(count); }
//   };
//   SINTER_REDUCE(mean_float16, Mean<float>, float16, float16)
//
// The line names the kernels, the functor, and the storage types of the result
// and of the operand; combine is associative and commutative. The elements are
// given as two spaces: kept has an axis for each axis of the result, with the
// strides of the result and of the operand; folded has the axes folded, with the
// strides of the operand. The line defines
//
//   NAME_inner(Space<2> kept, Space<1> folded, Pointers<2> p, void* partial, Functor f)
//       where consecutive folded elements lie closest together. Blocks of
//       (lanes, results), both powers of two, 32 to 128 threads, best 128; lanes
//       fold one result. Grid (ceil(kept.count / results), slices).
//   NAME_outer(Space<2> kept, Space<1> folded, Pointers<2> p, void* partial, Functor f)
//       where consecutive kept elements do. Blocks of (columns, parts), columns
//       a multiple of 32, at most 256 threads; a thread folds 16 bytes of
//       neighbouring results if they are aligned. Grid (any, slices).
//   NAME_merge(Space<2> kept, Pointers<2> p, const void* partial, long long slices, long long count, Functor f)
//       blocks of 256 threads, best with ceil(kept.count / 8) of them.
//
// Both folding kernels are right for every layout and grid. (2^31 or more folded
// elements must be one run, which NAME_inner takes by count alone: its extent
// and divider are not read.) With one slice they
// write results, and partial may be null. With more, each slice of the folded
// elements leaves an accumulator in partial, which has room for
// kept.count * slices of them, and NAME_merge makes results of these; count is
// folded.count. The order of combinations depends on shapes and launch sizes
// alone, so results repeat.

#pragma once

#include "extreme.cuh"
#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int reduce_threads = 128;  // threads of the inner kernel, four blocks a multiprocessor
constexpr int reduce_columns = 256;  // of the outer kernel

template <class F, class Out, class In> struct Reduce {
  typedef typename F::Acc Acc;
  static constexpr int width = sizeof(In) < 2 ? 8 : 16 / sizeof(In);  // elements a vector
  // Loads in flight of the inner kernel: as many as the registers that accumulators leave.
  static constexpr int unroll = width * sizeof(Acc) > 32 ? 4 : 8;

  static SINTER_FN Acc map(const F& f, In x) { return f.map(cast<compute_t<In>>(x)); }

  // A Slice is the part of the folded elements that a block takes.
  struct Slice {
    long long first, end;
  };

  static SINTER_FN Slice slice(long long count) {
    long long each = ((count + gridDim.y - 1) / gridDim.y + width - 1) / width * width;
    long long first = each * blockIdx.y, end = first + each;
    return {first < count ? first : count, end < count ? end : count};
  }

  static SINTER_FN void finish(const F& f, Acc a, Out* out, long long result, long long count, void* partial) {
    if (gridDim.y > 1) static_cast<Acc*>(partial)[result * gridDim.y + blockIdx.y] = a;
    else *out = cast<Out>(f.finish(a, count));
  }

  // fold_vectors folds the n vectors v, v + lanes, ..., those of them that are below
  // vectors; all says that every one is.
  template <int n, bool all>
  static SINTER_FN void fold_vectors(const F& f, Acc (&acc)[width], const In* body, long long v, long long vectors, int lanes) {
    Vector<In, width> t[n];
#pragma unroll
    for (int u = 0; u < n; u++) {
      if (all || v + u * lanes < vectors) t[u] = load_once<width>(body + (v + u * lanes) * width);
    }
#pragma unroll
    for (int u = 0; u < n; u++) {
      if (all || v + u * lanes < vectors) {
#pragma unroll
        for (int w = 0; w < width; w++) acc[w] = f.combine(acc[w], map(f, t[u].at[w]));
      }
    }
  }

  // fold_run folds n consecutive elements, of which this thread takes every
  // lanes-th vector from lane on.
  static SINTER_FN Acc fold_run(const F& f, const In* x, long long n, int lane, int lanes) {
    Acc acc[width];
#pragma unroll
    for (int w = 0; w < width; w++) acc[w] = f.init();
    long long head = (-(long long)(reinterpret_cast<unsigned long long>(x) / sizeof(In))) & (width - 1);
    if (head > n) head = n;
#pragma unroll 1
    for (int i = lane; i < head; i += lanes) acc[0] = f.combine(acc[0], map(f, x[i]));
    const In* body = x + head;
    const long long vectors = (n - head) / width;
    long long v = lane;
#pragma unroll 1
    for (; v + (unroll - 1) * lanes < vectors; v += lanes * unroll) fold_vectors<unroll, true>(f, acc, body, v, vectors, lanes);
#pragma unroll 1
    for (; v < vectors; v += lanes * 4) fold_vectors<4, false>(f, acc, body, v, vectors, lanes);
#pragma unroll 1
    for (long long i = head + vectors * width + lane; i < n; i += lanes) acc[0] = f.combine(acc[0], map(f, x[i]));
#pragma unroll
    for (int half = width / 2; half > 0; half /= 2) {
#pragma unroll
      for (int w = 0; w < half; w++) acc[w] = f.combine(acc[w], acc[w + half]);
    }
    return acc[0];
  }

  // fold_any folds the positions of a slice of a space of any layout.
  static SINTER_FN Acc fold_any(const F& f, const In* x, const Space<1>& folded, Slice s, int lane, int lanes) {
    constexpr int each = unroll;
    Acc acc = f.init();
    const unsigned end = unsigned(s.end);
#pragma unroll 1
    for (unsigned i = unsigned(s.first) + lane; i < end; i += lanes * each) {
      unsigned position[each];
      long long at[each][1] = {};
      In t[each];
#pragma unroll
      for (int e = 0; e < each; e++) position[e] = i + e * lanes < end ? i + e * lanes : i;
      locate(folded, position, at);
#pragma unroll
      for (int e = 0; e < each; e++) t[e] = x[at[e][0]];
#pragma unroll
      for (int e = 0; e < each; e++) {
        if (i + e * lanes < end) acc = f.combine(acc, map(f, t[e]));
      }
    }
    return acc;
  }

  // across combines the accumulators of the lanes of one result; lane 0 has it.
  // Every thread of the block calls it.
  static SINTER_FN Acc across(const F& f, Acc a, int lanes) {
    const int near = lanes < 32 ? lanes : 32;
    for (int mask = near / 2; mask > 0; mask /= 2) a = f.combine(a, shuffle_xor(a, mask));
    if (lanes > 32) {
      __shared__ alignas(16) unsigned char memory[sizeof(Acc) * (reduce_threads / 32)];
      Acc* warps = reinterpret_cast<Acc*>(memory);
      const int thread = threadIdx.y * blockDim.x + threadIdx.x, count = lanes / 32;
      if (thread % 32 == 0) warps[thread / 32] = a;
      __syncthreads();
      a = warps[threadIdx.y * count + thread % count];
      for (int mask = count / 2; mask > 0; mask /= 2) a = f.combine(a, shuffle_xor(a, mask));
      __syncthreads();
    }
    return a;
  }

  static SINTER_FN void inner(const Space<2>& kept, const Space<1>& folded, const Pointers<2>& p, void* partial, const F& f) {
    const int lane = threadIdx.x, lanes = blockDim.x;
    const Slice s = slice(folded.count);
    const bool run = folded.rank == 0 || (folded.rank == 1 && folded.strides[0][0] == 1);
#pragma unroll 1
    for (long long base = (long long)blockIdx.x * blockDim.y; base < kept.count; base += (long long)gridDim.x * blockDim.y) {
      const long long result = base + threadIdx.y;
      const Offsets<2> to = locate(kept, unsigned(result < kept.count ? result : base));
      const In* x = static_cast<const In*>(p.at[1]) + to.at[1];
      Acc a = run ? fold_run(f, x + s.first, s.end - s.first, lane, lanes) : fold_any(f, x, folded, s, lane, lanes);
      a = across(f, a, lanes);
      if (lane == 0 && result < kept.count) finish(f, a, static_cast<Out*>(p.at[0]) + to.at[0], result, folded.count, partial);
    }
  }

  // columns folds w neighbouring results a thread.
  template <int w>
  static SINTER_FN void columns(const Space<2>& kept, const Space<1>& folded, const Pointers<2>& p, void* partial, const F& f) {
    __shared__ alignas(16) unsigned char memory[sizeof(Acc) * reduce_columns * w];
    Acc* parts = reinterpret_cast<Acc*>(memory);
    constexpr int each = 4;
    const Slice s = slice(folded.count);
    const unsigned end = unsigned(s.end);
    const long long block = (long long)blockDim.x * w;  // results a block folds at once
    const int thread = threadIdx.y * blockDim.x + threadIdx.x, rows = blockDim.y;
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < kept.count; base += gridDim.x * block) {
      const long long first = base + threadIdx.x * w;
      const In* x = static_cast<const In*>(p.at[1]) + locate(kept, unsigned(first < kept.count ? first : base)).at[1];
      Acc acc[w];
#pragma unroll
      for (int k = 0; k < w; k++) acc[k] = f.init();
#pragma unroll 1
      for (unsigned i = unsigned(s.first) + threadIdx.y; i < end; i += rows * each) {
        unsigned position[each];
        long long row[each][1] = {};
        Vector<In, w> t[each];
#pragma unroll
        for (int e = 0; e < each; e++) position[e] = i + e * rows < end ? i + e * rows : i;
        locate(folded, position, row);
#pragma unroll
        for (int e = 0; e < each; e++) t[e] = load<w>(x + row[e][0]);
#pragma unroll
        for (int e = 0; e < each; e++) {
          if (i + e * rows < end) {
#pragma unroll
            for (int k = 0; k < w; k++) acc[k] = f.combine(acc[k], map(f, t[e].at[k]));
          }
        }
      }
#pragma unroll
      for (int k = 0; k < w; k++) parts[thread * w + k] = acc[k];
      __syncthreads();
#pragma unroll 1
      for (int c = thread; c < block && base + c < kept.count; c += blockDim.x * rows) {
        Acc a = parts[c];
#pragma unroll 1
        for (int y = 1; y < rows; y++) a = f.combine(a, parts[y * block + c]);
        Out* out = static_cast<Out*>(p.at[0]) + locate(kept, unsigned(base + c)).at[0];
        finish(f, a, out, base + c, folded.count, partial);
      }
      __syncthreads();
    }
  }

  // in_vectors reports whether neighbouring results can be loaded as vectors.
  static SINTER_FN bool in_vectors(const Space<2>& kept, const Space<1>& folded, const void* x) {
    if (kept.rank == 0 || kept.strides[1][0] != 1 || !aligned(x, sizeof(In) * width)) return false;
    long long bits = kept.extents[0].divisor;
    for (int d = 1; d < kept.rank; d++) bits |= kept.strides[1][d];
    for (int d = 0; d < folded.rank; d++) bits |= folded.strides[0][d];
    return (bits & (width - 1)) == 0;
  }

  static SINTER_FN void outer(const Space<2>& kept, const Space<1>& folded, const Pointers<2>& p, void* partial, const F& f) {
    if constexpr (width > 1) {
      if (in_vectors(kept, folded, p.at[1])) return columns<width>(kept, folded, p, partial, f);
    }
    columns<1>(kept, folded, p, partial, f);
  }

  // merge gives a warp to each result.
  static SINTER_FN void merge(const Space<2>& kept, const Pointers<2>& p, const void* partial, long long slices,
                              long long count, const F& f) {
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const long long step = (long long)gridDim.x * warps;
#pragma unroll 1
    for (long long result = (long long)blockIdx.x * warps + threadIdx.x / 32; result < kept.count; result += step) {
      const Acc* from = static_cast<const Acc*>(partial) + result * slices;
      Acc a = f.init();
#pragma unroll 8
      for (long long i = lane; i < slices; i += 32) a = f.combine(a, from[i]);
      for (int mask = 16; mask > 0; mask /= 2) a = f.combine(a, shuffle_xor(a, mask));
      if (lane == 0) static_cast<Out*>(p.at[0])[locate(kept, unsigned(result)).at[0]] = cast<Out>(f.finish(a, count));
    }
  }
};

}  // namespace sinter

#define SINTER_REDUCE(name, functor, out, in)                                                                          \
  extern "C" __global__ void __launch_bounds__(sinter::reduce_threads, 4) name##_inner(                               \
      sinter::Space<2> kept, sinter::Space<1> folded, sinter::Pointers<2> p, void* partial, functor f) {              \
    sinter::Reduce<functor, out, in>::inner(kept, folded, p, partial, f);                                             \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(sinter::reduce_columns) name##_outer(                                  \
      sinter::Space<2> kept, sinter::Space<1> folded, sinter::Pointers<2> p, void* partial, functor f) {              \
    sinter::Reduce<functor, out, in>::outer(kept, folded, p, partial, f);                                             \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(256) name##_merge(sinter::Space<2> kept, sinter::Pointers<2> p,        \
                                                                 const void* partial, long long slices,               \
                                                                 long long count, functor f) {                        \
    sinter::Reduce<functor, out, in>::merge(kept, p, partial, slices, count, f);                                      \
  }
