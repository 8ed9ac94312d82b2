// Loops of reductions of several operands or to several results, over a functor that is
// the operator's parts.
//
//   template <class T> struct AminmaxFn {
//     struct Acc { T low, high; };
//     struct First {};                                    // what is made of first elements
//     typedef Pack<T, T> Results;                         // where there are several
//     __device__ Acc init() const { ... }                 // the identity of combine
//     __device__ First first(T x) const { ... }           // of the first element of each operand
//     __device__ Acc map(First first, T x) const { ... }  // of one element of each operand
//     __device__ Acc combine(Acc a, Acc b) const { ... }
//     __device__ Results finish(Acc a, First first, long long count) const { ... }
//   };
//   SINTER_FOLD(aminmax_float16, AminmaxFn<float32>, 2, float16, float16, float16)
//
// The line names the kernels, the functor, how many results there are, and the storage
// types of the results, then of the operands; combine is associative and commutative. It
// is written inside namespace sinter. With r results and n of both it defines
//
//   NAME_inner(Space<n> kept, Space<n - r> folded, Pointers<n> p, void* partial, Functor f)
//       where consecutive folded elements lie closest together. Blocks of
//       (lanes, results), both powers of two, 32 to 128 threads, best 128; lanes
//       fold one result. Grid (ceil(kept.count / results), slices).
//   NAME_outer(Space<n> kept, Space<n - r> folded, Pointers<n> p, void* partial, Functor f)
//       where consecutive kept elements do. Blocks of (columns, parts), columns a multiple
//       of 32, at most 256 threads. Grid (any, slices).
//   NAME_merge(Space<n> kept, Pointers<n> p, const void* partial, long long slices, long long count, Functor f)
//       blocks of 256 threads, best with ceil(kept.count / 8) of them.
//
// Spaces, slices and partial are those of reduce.cuh, which has the loops of one operand
// and one result.

#pragma once

#include "elementwise.cuh"
#include "reduce.cuh"

namespace sinter {

template <class F, int results, class... S> struct Fold {
  typedef typename F::Acc Acc;
  typedef typename F::First First;
  static constexpr int count = sizeof...(S), operands = count - results;
  static constexpr int each = 4;  // elements in flight
  typedef typename Indices<results>::type Results;
  typedef typename Indices<operands>::type Inputs;
  typedef Reduce<F, char, char> One;  // for what does not depend on types in memory

  // A Slice is the part of the folded elements that a block takes.
  struct Slice {
    long long first, end;
  };

  static SINTER_FN Slice slice(long long n) {
    const long long part = (n + gridDim.y - 1) / gridDim.y;
    const long long first = part * blockIdx.y, end = first + part;
    return {first < n ? first : n, end < n ? end : n};
  }

  template <int i> static SINTER_FN auto read(const Pointers<count>& p, long long at) {
    typedef typename Nth<results + i, S...>::type Stored;
    return cast<compute_t<Stored>>(static_cast<const Stored*>(p.at[results + i])[at]);
  }

  // element maps the elements of all operands at the places of one.
  template <int... i>
  static SINTER_FN Acc element(const F& f, const First& first, const Pointers<count>& p, const long long (&at)[operands], Sequence<i...>) {
    return f.map(first, read<i>(p, at[i])...);
  }

  // first_of is what is made of the first of n elements of a result; of none zeros.
  template <int... i>
  static SINTER_FN First first_of(const F& f, const Pointers<count>& p, const Offsets<count>& from, long long n, Sequence<i...>) {
    if (n == 0) return First();
    return f.first(read<i>(p, from.at[results + i])...);
  }

  template <int i, class T> static SINTER_FN void write(const Pointers<count>& p, long long at, T value) {
    typedef typename Nth<i, S...>::type Stored;
    static_cast<Stored*>(p.at[i])[at] = cast<Stored>(value);
  }

  template <int... o>
  static SINTER_FN void write_all(const F& f, Acc a, long long n, const Pointers<count>& p, const Offsets<count>& to, Sequence<o...>) {
    const First first = first_of(f, p, to, n, Inputs());
    if constexpr (results == 1) {
      write<0>(p, to.at[0], f.finish(a, first, n));
    } else {
      auto r = f.finish(a, first, n);
      (write<o>(p, to.at[o], get<o>(r)), ...);
    }
  }

  static SINTER_FN void finish(const F& f, Acc a, const Pointers<count>& p, const Offsets<count>& to, long long result, long long n,
                               void* partial) {
    if (gridDim.y > 1) static_cast<Acc*>(partial)[result * gridDim.y + blockIdx.y] = a;
    else write_all(f, a, n, p, to, Results());
  }

  // Where all operands are stored in types of one size, runs of theirs are loaded by vectors.
  template <int... i> static constexpr bool one_size(Sequence<i...>) {
    return ((sizeof(typename Nth<results + i, S...>::type) == sizeof(typename Nth<results, S...>::type)) && ...);
  }
  static constexpr int width = one_size(Inputs()) ? 16 / int(sizeof(typename Nth<results, S...>::type)) : 1;
  static constexpr int chains = width < 4 ? width : 4;  // accumulators of a thread
  static constexpr int vectors = 4;                     // in flight

  template <int i> static SINTER_FN auto operand(const Pointers<count>& p, long long at) {
    return static_cast<const typename Nth<results + i, S...>::type*>(p.at[results + i]) + at;
  }

  // head is how many elements of a run lie before the first whole vector of every operand;
  // -1 where operands differ in that.
  template <int... i> static SINTER_FN int head(const Pointers<count>& p, const Offsets<count>& from, long long first, Sequence<i...>) {
    const int heads[operands] = {int(-(long long)(reinterpret_cast<unsigned long long>(operand<i>(p, from.at[results + i] + first)) /
                                                  sizeof(typename Nth<results, S...>::type))) & (width - 1)...};
    for (int k = 1; k < operands; k++) {
      if (heads[k] != heads[0]) return -1;
    }
    return heads[0];
  }

  template <class T> static SINTER_FN auto widened(T x) { return cast<compute_t<T>>(x); }

  // fold_vector folds one vector of each operand.
  template <class... V> static SINTER_FN void fold_vector(const F& f, const First& start, Acc (&acc)[chains], const V&... v) {
#pragma unroll
    for (int w = 0; w < width; w++) acc[w % chains] = f.combine(acc[w % chains], f.map(start, widened(v.at[w])...));
  }

  // fold_run folds the elements first to end of a run, of which this thread takes every
  // lanes-th vector from lane on.
  template <int... i>
  static SINTER_FN Acc fold_run(const F& f, const Pointers<count>& p, const Offsets<count>& from, long long folded, long long first,
                                long long end, int before, int lane, int lanes, Sequence<i...> inputs) {
    const First start = first_of(f, p, from, folded, inputs);
    Acc acc[chains];
#pragma unroll
    for (int w = 0; w < chains; w++) acc[w] = f.init();
    const long long body = first + before < end ? first + before : end;
#pragma unroll 1
    for (long long k = first + lane; k < body; k += lanes) acc[0] = f.combine(acc[0], f.map(start, read<i>(p, from.at[results + i] + k)...));
    const long long last = body + (end - body) / width * width, step = (long long)lanes * width;
    long long k = body + lane * width;
#pragma unroll 1
    for (; k + (vectors - 1) * step < last; k += vectors * step) {
#pragma unroll
      for (int v = 0; v < vectors; v++) fold_vector(f, start, acc, load_once<width>(operand<i>(p, from.at[results + i] + k + v * step))...);
    }
#pragma unroll 1
    for (; k < last; k += step) fold_vector(f, start, acc, load_once<width>(operand<i>(p, from.at[results + i] + k))...);
#pragma unroll 1
    for (k = last + lane; k < end; k += lanes) acc[0] = f.combine(acc[0], f.map(start, read<i>(p, from.at[results + i] + k)...));
#pragma unroll
    for (int half = chains / 2; half > 0; half /= 2) {
#pragma unroll
      for (int w = 0; w < half; w++) acc[w] = f.combine(acc[w], acc[w + half]);
    }
    return acc[0];
  }

  // places sets at to where position i of the folded elements of a result is: next to each
  // other, or as folded says.
  static SINTER_FN void places(const Space<operands>& folded, bool run, long long i, const Offsets<count>& from, long long (&at)[operands]) {
    if (run) {
#pragma unroll
      for (int k = 0; k < operands; k++) at[k] = from.at[results + k] + i;
      return;
    }
    const Offsets<operands> o = locate(folded, unsigned(i));
#pragma unroll
    for (int k = 0; k < operands; k++) at[k] = from.at[results + k] + o.at[k];
  }

  // is_run reports whether the folded elements of every operand are next to each other.
  static SINTER_FN bool is_run(const Space<operands>& folded) {
    if (folded.rank > 1) return false;
    bool run = true;
    if (folded.rank == 1) {
#pragma unroll
      for (int k = 0; k < operands; k++) run = run && folded.strides[k][0] == 1;
    }
    return run;
  }

  // fold folds the elements first, first + step, ... of a result.
  static SINTER_FN Acc fold(const F& f, const Space<operands>& folded, const Pointers<count>& p, const Offsets<count>& from,
                            long long first, long long end, int step) {
    const bool run = is_run(folded);
    const First start = first_of(f, p, from, folded.count, Inputs());
    Acc acc = f.init();
#pragma unroll 1
    for (long long i = first; i < end; i += (long long)step * each) {
      Acc x[each];
#pragma unroll
      for (int e = 0; e < each; e++) {
        const long long position = i + e * step < end ? i + e * step : i;
        long long at[operands];
        places(folded, run, position, from, at);
        x[e] = element(f, start, p, at, Inputs());
      }
#pragma unroll
      for (int e = 0; e < each; e++) {
        if (i + e * step < end) acc = f.combine(acc, x[e]);
      }
    }
    return acc;
  }

  static SINTER_FN void inner(const Space<count>& kept, const Space<operands>& folded, const Pointers<count>& p, void* partial, const F& f) {
    const int lane = threadIdx.x, lanes = blockDim.x;
    const Slice s = slice(folded.count);
    const bool run = is_run(folded);
#pragma unroll 1
    for (long long base = (long long)blockIdx.x * blockDim.y; base < kept.count; base += (long long)gridDim.x * blockDim.y) {
      const long long result = base + threadIdx.y;
      const Offsets<count> to = locate(kept, unsigned(result < kept.count ? result : base));
      const int before = width > 1 && run ? head(p, to, s.first, Inputs()) : -1;
      const Acc mine = before < 0 ? fold(f, folded, p, to, s.first + lane, s.end, lanes)
                                  : fold_run(f, p, to, folded.count, s.first, s.end, before, lane, lanes, Inputs());
      const Acc a = One::across(f, mine, lanes);
      if (lane == 0 && result < kept.count) finish(f, a, p, to, result, folded.count, partial);
    }
  }

  // columns folds w neighbouring results a thread, whose elements lie next to each other in
  // every operand; with w of 1 operands may have any layout.
  template <int w, int... i>
  static SINTER_FN void columns(const Space<count>& kept, const Space<operands>& folded, const Pointers<count>& p, void* partial,
                                const F& f, Sequence<i...> inputs) {
    __shared__ alignas(16) unsigned char memory[sizeof(Acc) * reduce_columns * w];
    Acc* parts = reinterpret_cast<Acc*>(memory);
    const Slice s = slice(folded.count);
    const long long block = (long long)blockDim.x * w;  // results a block folds at once
    const int rows = blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < kept.count; base += gridDim.x * block) {
      const long long result = base + threadIdx.x * w;
      const Offsets<count> to = locate(kept, unsigned(result < kept.count ? result : base));
      if constexpr (w == 1) {
        parts[thread] = fold(f, folded, p, to, s.first + threadIdx.y, s.end, rows);
      } else {
        First start[w];
        Acc acc[w];
#pragma unroll
        for (int k = 0; k < w; k++) {
          Offsets<count> from = to;
          ((from.at[results + i] += k), ...);
          start[k] = first_of(f, p, from, folded.count, inputs);
          acc[k] = f.init();
        }
        const auto row = [&](long long position) {
          const Offsets<operands> o = locate(folded, unsigned(position));
          fold_row(f, start, acc, load<w>(operand<i>(p, to.at[results + i] + o.at[i]))...);
        };
        long long k = s.first + threadIdx.y;
#pragma unroll 1
        for (; k + (each - 1) * rows < s.end; k += each * rows) {
#pragma unroll
          for (int e = 0; e < each; e++) row(k + e * rows);
        }
#pragma unroll 1
        for (; k < s.end; k += rows) row(k);
#pragma unroll
        for (int k = 0; k < w; k++) parts[thread * w + k] = acc[k];
      }
      __syncthreads();
#pragma unroll 1
      for (int c = thread; c < block && base + c < kept.count; c += blockDim.x * rows) {
        Acc a = parts[c];
#pragma unroll 1
        for (int y = 1; y < rows; y++) a = f.combine(a, parts[y * block + c]);
        finish(f, a, p, locate(kept, unsigned(base + c)), base + c, folded.count, partial);
      }
      __syncthreads();
    }
  }

  // fold_row folds neighbours of a row into the accumulators of their columns.
  template <int w, class... V> static SINTER_FN void fold_row(const F& f, const First (&start)[w], Acc (&acc)[w], const V&... v) {
#pragma unroll
    for (int k = 0; k < w; k++) acc[k] = f.combine(acc[k], f.map(start[k], widened(v.at[k])...));
  }

  // together is how many columns a thread takes: four, if a vector has as many elements of
  // each operand and the block's memory holds the states.
  static constexpr int together = width < 4 || sizeof(Acc) * reduce_columns * 4 > 32768 ? 1 : 4;

  // in_vectors reports whether neighbouring results can be loaded as vectors.
  template <int... i>
  static SINTER_FN bool in_vectors(const Space<count>& kept, const Space<operands>& folded, const Pointers<count>& p, Sequence<i...>) {
    if (kept.rank == 0 || !(aligned(operand<i>(p, 0), sizeof(typename Nth<results, S...>::type) * together) && ...)) return false;
    long long bits = kept.extents[0].divisor;
    for (int k = 0; k < operands; k++) {
      if (kept.strides[results + k][0] != 1) return false;
      for (int d = 1; d < kept.rank; d++) bits |= kept.strides[results + k][d];
      for (int d = 0; d < folded.rank; d++) bits |= folded.strides[k][d];
    }
    return (bits & (together - 1)) == 0;
  }

  static SINTER_FN void outer(const Space<count>& kept, const Space<operands>& folded, const Pointers<count>& p, void* partial, const F& f) {
    if constexpr (together > 1) {
      if (in_vectors(kept, folded, p, Inputs())) return columns<together>(kept, folded, p, partial, f, Inputs());
    }
    columns<1>(kept, folded, p, partial, f, Inputs());
  }

  // merge gives a warp to each result.
  static SINTER_FN void merge(const Space<count>& kept, const Pointers<count>& p, const void* partial, long long slices, long long n,
                              const F& f) {
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const long long step = (long long)gridDim.x * warps;
#pragma unroll 1
    for (long long result = (long long)blockIdx.x * warps + threadIdx.x / 32; result < kept.count; result += step) {
      const Acc* from = static_cast<const Acc*>(partial) + result * slices;
      Acc a = f.init();
#pragma unroll 4
      for (long long i = lane; i < slices; i += 32) a = f.combine(a, from[i]);
      for (int mask = 16; mask > 0; mask /= 2) a = f.combine(a, shuffle_xor(a, mask));
      if (lane == 0) write_all(f, a, n, p, locate(kept, unsigned(result)), Results());
    }
  }
};

// types returns how many types it is given.
template <class... T> constexpr int types() { return int(sizeof...(T)); }

}  // namespace sinter

#define SINTER_COUNT(...) sinter::types<__VA_ARGS__>()

#define SINTER_FOLD(name, functor, results, ...)                                                                       \
  extern "C" __global__ void __launch_bounds__(sinter::reduce_threads) name##_inner(                                  \
      sinter::Space<SINTER_COUNT(__VA_ARGS__)> kept, sinter::Space<SINTER_COUNT(__VA_ARGS__) - results> folded,       \
      sinter::Pointers<SINTER_COUNT(__VA_ARGS__)> p, void* partial, functor f) {                                      \
    sinter::Fold<functor, results, __VA_ARGS__>::inner(kept, folded, p, partial, f);                                  \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(sinter::reduce_columns) name##_outer(                                  \
      sinter::Space<SINTER_COUNT(__VA_ARGS__)> kept, sinter::Space<SINTER_COUNT(__VA_ARGS__) - results> folded,       \
      sinter::Pointers<SINTER_COUNT(__VA_ARGS__)> p, void* partial, functor f) {                                      \
    sinter::Fold<functor, results, __VA_ARGS__>::outer(kept, folded, p, partial, f);                                  \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(256) name##_merge(                                                     \
      sinter::Space<SINTER_COUNT(__VA_ARGS__)> kept, sinter::Pointers<SINTER_COUNT(__VA_ARGS__)> p,                   \
      const void* partial, long long slices, long long count, functor f) {                                            \
    sinter::Fold<functor, results, __VA_ARGS__>::merge(kept, p, partial, slices, count, f);                           \
  }
