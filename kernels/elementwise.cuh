// Loops of element-wise operators, over a functor that computes one element.
//
//   template <class T> struct LeakyRelu {
//     T slope;                                       // scalar attributes, in their order
//     __device__ T operator()(long long index, T x) const { return x > 0 ? x : slope * x; }
//   };
//   SINTER_ELEMENTWISE(leaky_relu_float16, LeakyRelu<float>, float16, float16)
//
// The line names the kernel, the functor, and the storage types of the result
// and of each operand. (A functor with a comma in its name needs a typedef.) It
// is written inside namespace sinter. The functor receives the linear index in
// the row-major iteration space and the operands' values in their compute types;
// its result is converted to the result's storage type. The line defines
//
//   NAME(long long count, Pointers<1 + operands> p, Functor f)
//       for a result and operands that are all contiguous. Any grid of blocks of
//       256 threads is right; the best is
//       ceil(count / (256 * elements a thread)), where a thread does
//       64 bytes of the widest type, at most 8 elements.
//   NAME_strided(Space<1 + operands> s, Pointers<1 + operands> p, Functor f)
//       for any layout whose offsets are below 2^31, blocks of 256 threads, best
//       with ceil(count / (256 * 4)) of them. The axes keep their order, for the
//       linear index, which the functor receives, follows from it.
//   NAME_rows(Space<1 + operands> s, Pointers<1 + operands> p, Functor f)
//       the same, for layouts whose innermost strides are all 0 or 1. Let V be
//       16 bytes of the widest storage type, at most 8 elements: the innermost
//       extent and all other strides are multiples of V, and every pointer is
//       aligned for V of its elements. s counts vectors: count and the innermost
//       extent are divided by V. Blocks of 256 threads, best with
//       ceil(s.count / 256) of them.
//
// p.at[0] is the result. It may be one of the operands if their layouts agree.
// An empty functor takes one byte as a kernel parameter.

#pragma once

#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int elementwise_threads = 256;

// Identity is the functor of copies and conversions.
struct Identity {
  template <class T> SINTER_FN T operator()(long long, T x) const { return x; }
};

template <class F, class Out, class... In> struct Elementwise {
  static constexpr int operands = sizeof...(In);
  static constexpr int widest = max_size<Out, In...>();
  static constexpr int width = widest > 2 ? 16 / widest : 8;              // elements a vector
  static constexpr int unroll = widest > 8 ? 4 : widest > 4 ? 4 : 8 / width;  // vectors a thread
  typedef typename Indices<sizeof...(In)>::type All;

  // A Tile is the operands' values of n vectors of w elements.
  template <int w> struct Tile {
    Pack<Vector<In, w>...> values;
  };

  template <int w, int... i>
  static SINTER_FN Vector<Out, w> apply(const F& f, long long index, Tile<w>& t, Sequence<i...>) {
    Vector<Out, w> r;
#pragma unroll
    for (int v = 0; v < w; v++) r.at[v] = cast<Out>(f(index + v, cast<compute_t<In>>(get<i>(t.values).at[v])...));
    return r;
  }

  template <int w, int... i>
  static SINTER_FN void fetch(Tile<w>& t, const Pointers<1 + operands>& p, long long at, Sequence<i...>) {
    ((get<i>(t.values) = load<w>(static_cast<const In*>(p.at[1 + i]) + at)), ...);
  }

  // fetch_at reads at an offset of its own for each operand.
  template <int... i>
  static SINTER_FN void fetch_at(Tile<1>& t, const Pointers<1 + operands>& p, const unsigned (&at)[1 + operands],
                                 Sequence<i...>) {
    ((get<i>(t.values) = load<1>(static_cast<const In*>(p.at[1 + i]) + at[1 + i])), ...);
  }

  // fetch_row reads a vector, or one element for all of it where step is 0.
  template <class S> static SINTER_FN Vector<S, width> fetch_row(const S* p, bool repeated) {
    if (!repeated) return load<width>(p);
    Vector<S, width> v;
    S x = *p;
#pragma unroll
    for (int k = 0; k < width; k++) v.at[k] = x;
    return v;
  }

  template <int... i>
  static SINTER_FN void fetch_rows(Tile<width>& t, const Space<1 + operands>& s, const Pointers<1 + operands>& p,
                                   const unsigned (&at)[1 + operands], Sequence<i...>) {
    ((get<i>(t.values) = fetch_row(static_cast<const In*>(p.at[1 + i]) + at[1 + i], s.strides[1 + i][0] == 0)), ...);
  }

  template <int... i> static SINTER_FN bool all_aligned(const Pointers<1 + operands>& p, Sequence<i...>) {
    return aligned(p.at[0], sizeof(Out) * width) && (true && ... && aligned(p.at[1 + i], sizeof(In) * width));
  }

  static SINTER_FN void contiguous(long long count, const Pointers<1 + operands>& p, const F& f) {
    constexpr long long block = elementwise_threads * width * unroll;
    const bool vectors = all_aligned(p, All());
    Out* out = static_cast<Out*>(p.at[0]);
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < count; base += gridDim.x * block) {
      if (vectors && base + block <= count) {
        long long first = base + threadIdx.x * width;
        Tile<width> t[unroll];
#pragma unroll
        for (int u = 0; u < unroll; u++) fetch(t[u], p, first + u * elementwise_threads * width, All());
#pragma unroll
        for (int u = 0; u < unroll; u++) {
          long long at = first + u * elementwise_threads * width;
          store(out + at, apply(f, at, t[u], All()));
        }
      } else {
        long long end = base + block < count ? base + block : count;
#pragma unroll 1
        for (long long at = base + threadIdx.x; at < end; at += elementwise_threads) {
          Tile<1> t;
          fetch(t, p, at, All());
          store(out + at, apply(f, at, t, All()));
        }
      }
    }
  }

  // strided computes each elements a thread, blockDim apart, at a time.
  static SINTER_FN void strided(const Space<1 + operands>& s, const Pointers<1 + operands>& p, const F& f) {
    constexpr int each = 4;
    const unsigned count = unsigned(s.count), step = gridDim.x * (elementwise_threads * each);
#pragma unroll 1
    for (unsigned base = blockIdx.x * (elementwise_threads * each) + threadIdx.x; base < count; base += step) {
      Tile<1> t[each];
      unsigned i[each], at[each][1 + operands] = {};
#pragma unroll
      for (int e = 0; e < each; e++) i[e] = base + e * elementwise_threads < count ? base + e * elementwise_threads : base;
      locate(s, i, at);
#pragma unroll
      for (int e = 0; e < each; e++) fetch_at(t[e], p, at[e], All());
#pragma unroll
      for (int e = 0; e < each; e++) {
        unsigned position = base + e * elementwise_threads;
        if (position < count) store(static_cast<Out*>(p.at[0]) + at[e][0], apply(f, s.first + position, t[e], All()));
      }
    }
  }

  // rows is strided over vectors along the innermost axis.
  static SINTER_FN void rows(const Space<1 + operands>& s, const Pointers<1 + operands>& p, const F& f) {
    const unsigned count = unsigned(s.count), step = gridDim.x * elementwise_threads;
#pragma unroll 1
    for (unsigned i = blockIdx.x * elementwise_threads + threadIdx.x; i < count; i += step) {
      unsigned row[1] = {s.rank > 1 ? quotient(i, s.extents[0]) : 0}, at[1][1 + operands];
      unsigned start = (i - row[0] * s.extents[0].divisor) * width;
#pragma unroll
      for (int k = 0; k < 1 + operands; k++) at[0][k] = start * unsigned(s.strides[k][0]);
      locate(s, row, at, 1);
      Tile<width> t;
      fetch_rows(t, s, p, at[0], All());
      store(static_cast<Out*>(p.at[0]) + at[0][0], apply(f, s.first + (long long)i * width, t, All()));
    }
  }
};

// operands returns how many types it is given, less the result's.
template <class... T> constexpr int operands() { return int(sizeof...(T)) - 1; }

}  // namespace sinter

#define SINTER_ELEMENTWISE(name, functor, ...)                                                                           \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name(long long count, sinter::Pointers<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                       \
    sinter::Elementwise<functor, __VA_ARGS__>::contiguous(count, p, f);                                                 \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name##_strided(sinter::Space<1 + sinter::operands<__VA_ARGS__>()> s,                                              \
                     sinter::Pointers<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                              \
    sinter::Elementwise<functor, __VA_ARGS__>::strided(s, p, f);                                                        \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name##_rows(sinter::Space<1 + sinter::operands<__VA_ARGS__>()> s,                                                 \
                  sinter::Pointers<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                                 \
    sinter::Elementwise<functor, __VA_ARGS__>::rows(s, p, f);                                                           \
  }
