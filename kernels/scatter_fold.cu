// Folding into chosen elements.
//
//   scatter_FOLD_DTYPE(Space<3> s, Pointers<3> p, Chosen c)
//       out[.. + index[..] * step] = fold(that, src[..]), in any order: the operands
//       are src, the index and the result, which has stride 0 along the axis that the
//       index chooses on. FOLD is prod, amax or amin. Blocks of 256 threads, best with
//       ceil(s.count / 1024) of them.
//   scatter_FOLD_start_DTYPE(Space<3> s, Pointers<3> p, Chosen c)
//       the same, writing the number that the fold leaves any other as it is with.

#include "index.cuh"
#include "num.cuh"

namespace sinter {

// word_of<T> is the integer as wide as T that memory is compared and exchanged as.
template <class T> struct word_of { typedef unsigned type; };
template <> struct word_of<int64> { typedef unsigned long long type; };
template <> struct word_of<double> { typedef unsigned long long type; };
template <class T> using word_t = typename word_of<T>::type;

SINTER_FN unsigned to_word(int32 x) { return unsigned(x); }
SINTER_FN unsigned to_word(float x) { return __float_as_uint(x); }
SINTER_FN unsigned long long to_word(int64 x) { return (unsigned long long)x; }
SINTER_FN unsigned long long to_word(double x) { return (unsigned long long)__double_as_longlong(x); }

template <class T> SINTER_FN T from_word(word_t<T> w) {
  if constexpr (is_same<T, float>::value) return __uint_as_float(w);
  else if constexpr (is_same<T, double>::value) return __longlong_as_double((long long)w);
  else return T(w);
}

struct Prod {
  template <class T> static SINTER_FN T join(T a, T b) { return mul(a, b); }
  template <class T> static SINTER_FN T none() { return T(1); }
};

struct Amax {
  template <class T> static SINTER_FN T join(T a, T b) { return max(a, b); }
  template <class T> static SINTER_FN T none() {
    if constexpr (traits<T>::is_float) return -infinity<T>();
    else return traits<T>::lowest;
  }
};

struct Amin {
  template <class T> static SINTER_FN T join(T a, T b) { return min(a, b); }
  template <class T> static SINTER_FN T none() {
    if constexpr (traits<T>::is_float) return infinity<T>();
    else return traits<T>::highest;
  }
};

template <class F, class T> struct Fold {
  static constexpr bool always = false;
  T* out;
  const T* src;
  T values[index_each];

  SINTER_FN void load(int e, const long long (&at)[3], long long, bool) { values[e] = src[at[0]]; }
  SINTER_FN void store(int e, const long long (&at)[3], long long chosen) {
    word_t<T>* to = reinterpret_cast<word_t<T>*>(out + at[2] + chosen);
    word_t<T> seen = *to;
#pragma unroll 1
    for (;;) {
      const word_t<T> next = to_word(F::join(from_word<T>(seen), values[e]));
      if (next == seen) return;
      const word_t<T> found = atomicCAS(to, seen, next);
      if (found == seen) return;
      seen = found;
    }
  }
};

template <class F, class T> struct FoldStart : Fold<F, T> {
  SINTER_FN void load(int, const long long (&)[3], long long, bool) {}
  SINTER_FN void store(int, const long long (&at)[3], long long chosen) {
    this->out[at[2] + chosen] = F::template none<T>();
  }
};

template <class F, class T> SINTER_FN void scatter_fold(const Space<3>& s, const Pointers<3>& p, const Chosen& c) {
  F f;
  f.src = static_cast<const T*>(p.at[0]);
  f.out = static_cast<T*>(p.at[2]);
  each_index(s, static_cast<const int64*>(p.at[1]), c, f);
}

}  // namespace sinter

using namespace sinter;

#define SINTER_FOLD(name, functor, F, T)                                                               \
  extern "C" __global__ void __launch_bounds__(index_threads) name(Space<3> s, Pointers<3> p, Chosen c) { \
    scatter_fold<functor<F, T>, T>(s, p, c);                                                           \
  }
SINTER_FOLD(scatter_prod_int32, Fold, Prod, int32)
SINTER_FOLD(scatter_prod_start_int32, FoldStart, Prod, int32)
SINTER_FOLD(scatter_prod_int64, Fold, Prod, int64)
SINTER_FOLD(scatter_prod_start_int64, FoldStart, Prod, int64)
SINTER_FOLD(scatter_prod_float32, Fold, Prod, float32)
SINTER_FOLD(scatter_prod_start_float32, FoldStart, Prod, float32)
SINTER_FOLD(scatter_prod_float64, Fold, Prod, float64)
SINTER_FOLD(scatter_prod_start_float64, FoldStart, Prod, float64)
SINTER_FOLD(scatter_amax_int32, Fold, Amax, int32)
SINTER_FOLD(scatter_amax_start_int32, FoldStart, Amax, int32)
SINTER_FOLD(scatter_amax_int64, Fold, Amax, int64)
SINTER_FOLD(scatter_amax_start_int64, FoldStart, Amax, int64)
SINTER_FOLD(scatter_amax_float32, Fold, Amax, float32)
SINTER_FOLD(scatter_amax_start_float32, FoldStart, Amax, float32)
SINTER_FOLD(scatter_amax_float64, Fold, Amax, float64)
SINTER_FOLD(scatter_amax_start_float64, FoldStart, Amax, float64)
SINTER_FOLD(scatter_amin_int32, Fold, Amin, int32)
SINTER_FOLD(scatter_amin_start_int32, FoldStart, Amin, int32)
SINTER_FOLD(scatter_amin_int64, Fold, Amin, int64)
SINTER_FOLD(scatter_amin_start_int64, FoldStart, Amin, int64)
SINTER_FOLD(scatter_amin_float32, Fold, Amin, float32)
SINTER_FOLD(scatter_amin_start_float32, FoldStart, Amin, float32)
SINTER_FOLD(scatter_amin_float64, Fold, Amin, float64)
SINTER_FOLD(scatter_amin_start_float64, FoldStart, Amin, float64)
