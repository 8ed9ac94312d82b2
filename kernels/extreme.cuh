// Comparisons of elements of which the largest is wanted, or the smallest.

#pragma once

#include "types.cuh"

namespace sinter {

// arg_t<S> is the type that elements stored as S are compared in.
template <class S> struct arg_type { typedef int32 type; };
template <> struct arg_type<int64> { typedef int64 type; };
template <> struct arg_type<float16> { typedef float type; };
template <> struct arg_type<bfloat16> { typedef float type; };
template <> struct arg_type<float> { typedef float type; };
template <> struct arg_type<double> { typedef double type; };
template <class S> using arg_t = typename arg_type<S>::type;

// to_search makes the search for the smallest one for the largest.
template <class T> SINTER_FN T to_search(T x, bool smallest) {
  if constexpr (traits<T>::is_float) return smallest ? -x : x;
  else return smallest ? ~x : x;
}

// better compares twice where a > b || (a != a && b == b) does three times.
template <class T> SINTER_FN bool better(T a, T b) { return !(a <= b) && b == b; }

// The smaller and the larger of two floats as real.cuh has them, where a fold takes one of
// each element: one instruction instead of ten. NaN comes before every number, and -0 below 0.
#if __CUDA_ARCH__ >= 800
SINTER_FN float min(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

SINTER_FN float max(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#endif

}  // namespace sinter
