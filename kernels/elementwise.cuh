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
//   NAME(long long count, Operands<1 + operands> p, Functor f)
//       for a result and operands that are all contiguous. Blocks of 32 to 256
//       threads, any grid is right; the best is ceil(count / (threads * 2 V)):
//       a thread does two vectors, V as below. 128 threads are best where one
//       operand is read, 256 where more are.
//   NAME_strided(Space<1 + operands> s, Operands<1 + operands> p, Functor f)
//       for any layout whose offsets are below 2^31, blocks of 256 threads, best
//       with ceil(count / (256 * 4)) of them. The axes keep their order, for the
//       linear index, which the functor receives, follows from it.
//   NAME_rows(Space<1 + operands> s, Operands<1 + operands> p, Functor f)
//       the same, for layouts whose innermost strides are all 0 or 1. Let V be
//       16 bytes of the widest storage type, at most 8 elements: the innermost
//       extent and all other strides are multiples of V, and every pointer is
//       aligned for V of its elements. s counts vectors: count and the innermost
//       extent are divided by V. Blocks of 256 threads, best with
//       ceil(s.count / 256) of them.
//
// The result may be one of the operands if their layouts agree. Operands that are
// numbers come by value in Operands, and have strides 0 in a Space. An empty
// functor takes one byte as a kernel parameter.

#pragma once

#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int elementwise_threads = 256;

// Identity is the functor of copies and conversions.
struct Identity {
  template <class T> SINTER_FN T operator()(long long, T x) const { return x; }
};

// Operands are the address of the result, then of every operand an address or,
// where bit i of values is set for at[i], the number itself in its compute type,
// which has 8 bytes at most. A kernel of one operand does not look for numbers.
template <int n> struct Operands {
  void* at[n];
  unsigned values;
};

// Nth<i, T...>::type is the i-th type.
template <int i, class Head, class... Tail> struct Nth { typedef typename Nth<i - 1, Tail...>::type type; };
template <class Head, class... Tail> struct Nth<0, Head, Tail...> { typedef Head type; };

template <class F, class Out, class... In> struct Elementwise {
  static constexpr int operands = sizeof...(In);
  typedef Operands<1 + operands> Args;
  static constexpr int widest = max_size<Out, In...>();
  static constexpr int width = widest > 2 ? 16 / widest : 8;  // elements a vector
  static constexpr int unroll = 2;                            // vectors a thread
  typedef typename Indices<sizeof...(In)>::type All;

  // A Tile is the operands' values of n vectors of w elements.
  template <int w> struct Tile {
    Pack<Vector<In, w>...> values;
  };

  // number reports whether operand i is a number.
  template <int i> static SINTER_FN bool number(const Args& p) {
    if constexpr (operands < 2 || sizeof(compute_t<typename Nth<i, In...>::type>) > 8) return false;
    else return p.values >> (1 + i) & 1;
  }

  // value returns element v of operand i.
  template <int i, int w> static SINTER_FN auto value(const Args& p, Tile<w>& t, int v) {
    typedef compute_t<typename Nth<i, In...>::type> T;
    if constexpr (sizeof(T) <= 8) {
      union {
        void* slot;
        T number;
      } u;
      u.slot = p.at[1 + i];
      if (number<i>(p)) return u.number;
    }
    return cast<T>(get<i>(t.values).at[v]);
  }

  template <int w, int... i>
  static SINTER_FN Vector<Out, w> apply(const F& f, long long index, const Args& p, Tile<w>& t, Sequence<i...>) {
    Vector<Out, w> r;
    index &= -(long long)w;  // it is a multiple: so told, the compiler shares what neighbours have in common
#pragma unroll
    for (int v = 0; v < w; v++) r.at[v] = cast<Out>(f(index | v, value<i>(p, t, v)...));
    return r;
  }

  // fetch_one reads a vector of operand i.
  template <int i, int w> static SINTER_FN void fetch_one(Tile<w>& t, const Args& p, long long at) {
    typedef typename Nth<i, In...>::type S;
    if (!number<i>(p)) get<i>(t.values) = load<w>(static_cast<const S*>(p.at[1 + i]) + at);
  }

  template <int w, int... i> static SINTER_FN void fetch(Tile<w>& t, const Args& p, long long at, Sequence<i...>) {
    (fetch_one<i>(t, p, at), ...);
  }

  // fetch_at reads at an offset of its own for each operand.
  template <int... i>
  static SINTER_FN void fetch_at(Tile<1>& t, const Args& p, const unsigned (&at)[1 + operands], Sequence<i...>) {
    (fetch_one<i>(t, p, at[1 + i]), ...);
  }

  // fetch_row reads a vector, or one element for all of it where it is repeated.
  template <int i> static SINTER_FN void fetch_row(Tile<width>& t, const Args& p, unsigned at, bool repeated) {
    typedef typename Nth<i, In...>::type S;
    if (number<i>(p)) return;
    const S* x = static_cast<const S*>(p.at[1 + i]) + at;
    Vector<S, width>& v = get<i>(t.values);
    if (!repeated) {
      v = load<width>(x);
      return;
    }
    S one = *x;
#pragma unroll
    for (int k = 0; k < width; k++) v.at[k] = one;
  }

  template <int... i>
  static SINTER_FN void fetch_rows(Tile<width>& t, const Space<1 + operands>& s, const Args& p,
                                   const unsigned (&at)[1 + operands], Sequence<i...>) {
    (fetch_row<i>(t, p, at[1 + i], s.strides[1 + i][0] == 0), ...);
  }

  template <int... i> static SINTER_FN bool all_aligned(const Args& p, Sequence<i...>) {
    return aligned(p.at[0], sizeof(Out) * width) &&
           (true && ... && (number<i>(p) || aligned(p.at[1 + i], sizeof(In) * width)));
  }

  // single computes the elements [at, end) one by one, step apart.
  static SINTER_FN void single(long long at, long long end, int step, const Args& p, const F& f) {
#pragma unroll 1
    for (; at < end; at += step) {
      Tile<1> t;
      fetch(t, p, at, All());
      store(static_cast<Out*>(p.at[0]) + at, apply(f, at, p, t, All()));
    }
  }

  static SINTER_FN void contiguous(long long count, const Args& p, const F& f) {
    const int step = blockDim.x * width;
    const long long block = step * unroll;
    const bool vectors = all_aligned(p, All());
    Out* out = static_cast<Out*>(p.at[0]);
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < count; base += gridDim.x * block) {
      const long long first = base + threadIdx.x * width;
      if (vectors && base + block <= count) {
        Tile<width> t[unroll];
#pragma unroll
        for (int u = 0; u < unroll; u++) fetch(t[u], p, first + u * step, All());
#pragma unroll
        for (int u = 0; u < unroll; u++) store(out + first + u * step, apply(f, first + u * step, p, t[u], All()));
      } else if (vectors) {
#pragma unroll 1
        for (long long at = first; at < base + block && at < count; at += step) {
          if (at + width <= count) {
            Tile<width> t;
            fetch(t, p, at, All());
            store(out + at, apply(f, at, p, t, All()));
          } else {
            single(at, count, 1, p, f);
          }
        }
      } else {
        single(base + threadIdx.x, base + block < count ? base + block : count, blockDim.x, p, f);
      }
    }
  }

  // strided computes each elements a thread, blockDim apart, at a time.
  static SINTER_FN void strided(const Space<1 + operands>& s, const Args& p, const F& f) {
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
        if (position < count) store(static_cast<Out*>(p.at[0]) + at[e][0], apply(f, s.first + position, p, t[e], All()));
      }
    }
  }

  // rows is strided over vectors along the innermost axis.
  static SINTER_FN void rows(const Space<1 + operands>& s, const Args& p, const F& f) {
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
      store(static_cast<Out*>(p.at[0]) + at[0][0], apply(f, s.first + (long long)i * width, p, t, All()));
    }
  }
};

// operands returns how many types it is given, less the result's.
template <class... T> constexpr int operands() { return int(sizeof...(T)) - 1; }

}  // namespace sinter

// SINTER_ELEMENTWISE_ANY leaves NAME_rows out.
#define SINTER_ELEMENTWISE_ANY(name, functor, ...)                                                                       \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name(long long count, sinter::Operands<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                       \
    sinter::Elementwise<functor, __VA_ARGS__>::contiguous(count, p, f);                                                 \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name##_strided(sinter::Space<1 + sinter::operands<__VA_ARGS__>()> s,                                              \
                     sinter::Operands<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                              \
    sinter::Elementwise<functor, __VA_ARGS__>::strided(s, p, f);                                                        \
  }

#define SINTER_ELEMENTWISE(name, functor, ...)                                                                           \
  SINTER_ELEMENTWISE_ANY(name, functor, __VA_ARGS__)                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name##_rows(sinter::Space<1 + sinter::operands<__VA_ARGS__>()> s,                                                 \
                  sinter::Operands<1 + sinter::operands<__VA_ARGS__>()> p, functor f) {                                 \
    sinter::Elementwise<functor, __VA_ARGS__>::rows(s, p, f);                                                           \
  }
