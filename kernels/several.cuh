// Loops of element-wise operators with several results, over a functor that computes
// one element of each.
//
//   template <class T> struct FrexpFn {
//     typedef Pack<T, long long> Results;
//     __device__ Results operator()(long long index, T x) const { ... }
//   };
//   SINTER_SEVERAL(frexp_float16, FrexpFn<float>, 2, float16, int64, float16)
//
// The line names the kernels, the functor, how many results there are, and the storage
// types of the results, then of the operands. It is written inside namespace sinter.
// (A functor with a comma in its name needs a typedef.) With n results and operands it
// defines
//
//   NAME(long long count, Operands<n> p, Functor f)
//       for results and operands that are all contiguous.
//   NAME_strided(Space<n> s, Operands<n> p, Functor f)
//       for any layout whose offsets are below 2^31. The axes keep their order, for the
//       linear index follows from it.
//
// Operands are those of elementwise.cuh, results first. Blocks of 256 threads, best
// with ceil(count / (256 * 4)) of them; any grid is right. No result may be an operand.

#pragma once

#include "elementwise.cuh"

namespace sinter {

template <class F, int results, class... S> struct Several {
  static constexpr int count = sizeof...(S), operands = count - results;
  static constexpr int threads = elementwise_threads, each = 4;
  typedef Operands<count> Args;
  typedef typename Indices<results>::type Results;
  typedef typename Indices<operands>::type Inputs;

  // read returns an element of operand i, or the number that it is.
  template <int i> static SINTER_FN auto read(const Args& p, long long at) {
    typedef typename Nth<results + i, S...>::type Stored;
    typedef compute_t<Stored> T;
    if constexpr (sizeof(T) <= 8) {
      union {
        void* slot;
        T number;
      } u;
      u.slot = p.at[results + i];
      if (p.values >> (results + i) & 1) return u.number;
    }
    return cast<T>(static_cast<const Stored*>(p.at[results + i])[at]);
  }

  // write stores an element of result i.
  template <int i, class T> static SINTER_FN void write(const Args& p, long long at, T value) {
    typedef typename Nth<i, S...>::type Stored;
    static_cast<Stored*>(p.at[i])[at] = cast<Stored>(value);
  }

  // one computes an element, of which at has the place in every result and operand.
  template <class At, int... o, int... i>
  static SINTER_FN void one(const F& f, long long index, const Args& p, const At& at, Sequence<o...>, Sequence<i...>) {
    auto r = f(index, read<i>(p, at[results + i])...);
    (write<o>(p, at[o], get<o>(r)), ...);
  }

  // Same is one place in all.
  struct Same {
    long long at;
    SINTER_FN long long operator[](int) const { return at; }
  };

  static SINTER_FN void contiguous(long long n, const Args& p, const F& f) {
    const long long step = (long long)gridDim.x * (threads * each);
#pragma unroll 1
    for (long long base = (long long)blockIdx.x * (threads * each) + threadIdx.x; base < n; base += step) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const long long i = base + e * threads;
        if (i < n) one(f, i, p, Same{i}, Results(), Inputs());
      }
    }
  }

  static SINTER_FN void strided(const Space<count>& s, const Args& p, const F& f) {
    const unsigned n = unsigned(s.count), step = gridDim.x * (threads * each);
#pragma unroll 1
    for (unsigned base = blockIdx.x * (threads * each) + threadIdx.x; base < n; base += step) {
      unsigned i[each], at[each][count] = {};
#pragma unroll
      for (int e = 0; e < each; e++) i[e] = base + e * threads < n ? base + e * threads : base;
      locate(s, i, at);
#pragma unroll
      for (int e = 0; e < each; e++) {
        const unsigned position = base + e * threads;
        if (position < n) one(f, s.first + position, p, at[e], Results(), Inputs());
      }
    }
  }
};

// several returns how many types it is given.
template <class... T> constexpr int several() { return int(sizeof...(T)); }

}  // namespace sinter

#define SINTER_SEVERAL(name, functor, results, ...)                                                                      \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name(long long count, sinter::Operands<sinter::several<__VA_ARGS__>()> p, functor f) {                            \
    sinter::Several<functor, results, __VA_ARGS__>::contiguous(count, p, f);                                            \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(sinter::elementwise_threads)                                             \
      name##_strided(sinter::Space<sinter::several<__VA_ARGS__>()> s, sinter::Operands<sinter::several<__VA_ARGS__>()> p, \
                     functor f) {                                                                                       \
    sinter::Several<functor, results, __VA_ARGS__>::strided(s, p, f);                                                   \
  }
