// Reading chosen elements.
//
//   gather_bN(Space<3> s, Pointers<3> p, Chosen c)
//       out[..] = x[.. + index[..] * step]: the operands are the result, the index
//       and x, which has stride 0 along the axis that the index chooses on. Units of
//       N bytes. Blocks of 256 threads, best with ceil(s.count / 1024) of them.

#include "index.cuh"

namespace sinter {

template <class T> struct Gather {
  static constexpr bool always = true;
  T* out;
  const T* x;
  T values[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long chosen, bool valid) {
    T none = {};
    values[e] = valid ? x[at[2] + chosen] : none;
  }
  SINTER_FN void store(int e, const long long (&at)[3], long long) { out[at[0]] = values[e]; }
};

template <class T> SINTER_FN void gather(const Space<3>& s, const Pointers<3>& p, const Chosen& c) {
  Gather<T> f;
  f.out = static_cast<T*>(p.at[0]);
  f.x = static_cast<const T*>(p.at[2]);
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

}  // namespace sinter

using namespace sinter;

#define SINTER_GATHER(n)                                                                                      \
  extern "C" __global__ void __launch_bounds__(index_threads) gather_b##n(Space<3> s, Pointers<3> p, Chosen c) { \
    gather<typename Raw<n>::type>(s, p, c);                                                                   \
  }
SINTER_GATHER(1)
SINTER_GATHER(2)
SINTER_GATHER(4)
SINTER_GATHER(8)
SINTER_GATHER(16)
