// The gradient of a largest or smallest element, shared by all that are equal to it.
//
//   scatter_share_start_DTYPE(long long n, Pointers<3> p)
//       of the elements of x, y and marks, which are n without gaps: where x is y the mark
//       says that x has a part, else that nothing has.
//   scatter_share_clear(Space<3> s, Pointers<3> p, Chosen c)
//       marks where the index says that x does not count; the operands are those below.
//   scatter_share_count_DTYPE(Space<3> s, Pointers<4> p, Chosen c)
//       src[..] has a part of y[.. + index[..] * step] if they are equal, and is counted
//       there. The operands are src, the index, and marks and y, which have one layout, with
//       stride 0 along the axis that the index chooses on.
//   scatter_share_self_DTYPE(long long n, Pointers<3> p)
//       writes dx, of g and the marks: a part of g for an x that has one.
//   scatter_share_give_DTYPE(Space<3> s, Pointers<6> p, Chosen c)
//       writes dsrc likewise, where src lies; the last two operands are g, laid out as y is,
//       and dsrc.
//
// A mark is how many elements of src have a part, plus share_self if x has one, or plus
// share_none if x does not count. Blocks of 256
// threads, best with ceil(count / 1024) of them.

#include "index.cuh"
#include "num.cuh"

namespace sinter {

constexpr unsigned share_self = 1u << 31, share_none = 1u << 30;
constexpr int share_each = 4;

// part is what one of the elements that share g gets, or with has of 0 what one gets that
// has no part: 0, unless no element has one.
template <class T> SINTER_FN T part(T g, unsigned mark, bool has) {
  return T(has ? 1 : 0) * (g / T((mark & ~(share_self | share_none)) + (mark / share_self)));
}

template <class S> SINTER_FN void share_start(long long n, const Pointers<3>& p) {
  typedef compute_t<S> T;
  const long long step = (long long)gridDim.x * index_threads;
#pragma unroll share_each
  for (long long i = (long long)blockIdx.x * index_threads + threadIdx.x; i < n; i += step) {
    const T x = cast<T>(static_cast<const S*>(p.at[0])[i]), y = cast<T>(static_cast<const S*>(p.at[1])[i]);
    static_cast<unsigned*>(p.at[2])[i] = x == y ? share_self : 0u;
  }
}

template <class S> SINTER_FN void share_self_part(long long n, const Pointers<3>& p) {
  typedef compute_t<S> T;
  const long long step = (long long)gridDim.x * index_threads;
#pragma unroll share_each
  for (long long i = (long long)blockIdx.x * index_threads + threadIdx.x; i < n; i += step) {
    const unsigned mark = static_cast<const unsigned*>(p.at[1])[i];
    const T dx = mark & share_none ? T(0) : part(cast<T>(static_cast<const S*>(p.at[0])[i]), mark, mark >= share_self);
    static_cast<S*>(p.at[2])[i] = cast<S>(dx);
  }
}

struct ShareClear {
  static constexpr bool always = false;
  unsigned* marks;

  SINTER_FN void load(int, const long long (&)[3], long long, bool) {}
  SINTER_FN void store(int, const long long (&at)[3], long long chosen) { marks[at[2] + chosen] = share_none; }
};

template <class S> struct ShareCount {
  static constexpr bool always = false;
  const S* src;
  const S* y;
  unsigned* marks;
  bool equal[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long chosen, bool valid) {
    equal[e] = valid && cast<compute_t<S>>(src[at[0]]) == cast<compute_t<S>>(y[at[2] + chosen]);
  }
  SINTER_FN void store(int e, const long long (&at)[3], long long chosen) {
    if (equal[e]) atomicAdd(marks + at[2] + chosen, 1u);
  }
};

template <class S> struct ShareGive {
  typedef compute_t<S> T;
  static constexpr bool always = true;
  const S* src;
  const S* y;
  const S* g;
  const unsigned* marks;
  S* dsrc;
  T parts[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long chosen, bool valid) {
    parts[e] = T(0);
    if (!valid) return;
    const long long to = at[2] + chosen;
    parts[e] = part(cast<T>(g[to]), marks[to], cast<T>(src[at[0]]) == cast<T>(y[to]));
  }
  SINTER_FN void store(int e, const long long (&at)[3], long long) { dsrc[at[0]] = cast<S>(parts[e]); }
};

SINTER_FN void share_clear(const Space<3>& s, const Pointers<3>& p, const Chosen& c) {
  ShareClear f = {static_cast<unsigned*>(p.at[2])};
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

template <class S> SINTER_FN void share_count(const Space<3>& s, const Pointers<4>& p, const Chosen& c) {
  ShareCount<S> f = {static_cast<const S*>(p.at[0]), static_cast<const S*>(p.at[3]), static_cast<unsigned*>(p.at[2])};
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

template <class S> SINTER_FN void share_give(const Space<3>& s, const Pointers<6>& p, const Chosen& c) {
  ShareGive<S> f = {static_cast<const S*>(p.at[0]), static_cast<const S*>(p.at[3]), static_cast<const S*>(p.at[4]),
                    static_cast<const unsigned*>(p.at[2]), static_cast<S*>(p.at[5])};
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

}  // namespace sinter

using namespace sinter;

extern "C" __global__ void __launch_bounds__(index_threads) scatter_share_clear(Space<3> s, Pointers<3> p, Chosen c) {
  share_clear(s, p, c);
}

#define SINTER_SHARE(S)                                                                                                     \
  extern "C" __global__ void __launch_bounds__(index_threads) scatter_share_start_##S(long long n, Pointers<3> p) {       \
    share_start<S>(n, p);                                                                                                   \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(index_threads) scatter_share_self_##S(long long n, Pointers<3> p) {        \
    share_self_part<S>(n, p);                                                                                               \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(index_threads) scatter_share_count_##S(Space<3> s, Pointers<4> p, Chosen c) { \
    share_count<S>(s, p, c);                                                                                                \
  }                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(index_threads) scatter_share_give_##S(Space<3> s, Pointers<6> p, Chosen c) { \
    share_give<S>(s, p, c);                                                                                                 \
  }
SINTER_SHARE(float16)
SINTER_SHARE(bfloat16)
SINTER_SHARE(float32)
SINTER_SHARE(float64)
