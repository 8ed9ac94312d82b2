// Writing and adding to chosen elements.
//
//   scatter_bN(Space<3> s, Pointers<3> p, Chosen c)
//       out[.. + index[..] * step] = src[..]: the operands are src, the index and
//       the result, which has stride 0 along the axis that the index chooses on.
//       Where an element is named more than once one of the writes wins. Units of N
//       bytes. Blocks of 256 threads, best with ceil(s.count / 1024) of them.
//   scatter_add_DTYPE(Space<3> s, Pointers<3> p, Chosen c)
//       the same, adding, in any order.

#include "index.cuh"

namespace sinter {

template <class T> struct Scatter {
  static constexpr bool always = false;
  T* out;
  const T* src;
  T values[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long, bool) { values[e] = src[at[0]]; }
  SINTER_FN void store(int e, const long long (&at)[3], long long chosen) { out[at[2] + chosen] = values[e]; }
};

template <class T> struct ScatterAdd : Scatter<T> {
  SINTER_FN void store(int e, const long long (&at)[3], long long chosen) {
    atomicAdd(this->out + at[2] + chosen, this->values[e]);
  }
};

template <class F, class T> SINTER_FN void scatter(const Space<3>& s, const Pointers<3>& p, const Chosen& c) {
  F f;
  f.src = static_cast<const T*>(p.at[0]);
  f.out = static_cast<T*>(p.at[2]);
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

}  // namespace sinter

using namespace sinter;

#define SINTER_SCATTER(name, functor, ...)                                                             \
  extern "C" __global__ void __launch_bounds__(index_threads) name(Space<3> s, Pointers<3> p, Chosen c) { \
    scatter<functor<__VA_ARGS__>, __VA_ARGS__>(s, p, c);                                               \
  }
SINTER_SCATTER(scatter_b1, Scatter, Raw<1>::type)
SINTER_SCATTER(scatter_b2, Scatter, Raw<2>::type)
SINTER_SCATTER(scatter_b4, Scatter, Raw<4>::type)
SINTER_SCATTER(scatter_b8, Scatter, Raw<8>::type)
SINTER_SCATTER(scatter_b16, Scatter, Raw<16>::type)
SINTER_SCATTER(scatter_add_int32, ScatterAdd, unsigned)
SINTER_SCATTER(scatter_add_int64, ScatterAdd, unsigned long long)
SINTER_SCATTER(scatter_add_float32, ScatterAdd, float)
SINTER_SCATTER(scatter_add_float64, ScatterAdd, double)
