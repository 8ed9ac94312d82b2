// Loops of joint operators: expressions over lists of tensors, written over some of
// these, many tensors in one launch.
//
//   template <class T> struct StepFn {
//     T rate;                                          // scalar attributes, in their order
//     __device__ void operator()(T (&x)[2]) const { x[0] = x[0] - rate * x[1]; }
//   };
//   SINTER_JOINT(step_float16, StepFn<float>, float16, float16, 1, 2)
//
// The line names the kernel, the functor, the storage types of lists that are written
// and of those that are only read, how many lists are written and how many there are;
// those that are written come first. Lists that are only read may have narrower
// elements. It is written inside namespace sinter, and defines
//
//   NAME(Lists<lists> l, Functor f)
//       Tensors are dense. Blocks of 256 threads; tensor t takes the blocks from
//       first[t] to first[t+1], each for joint_chunk elements, and the grid is
//       first[count].
//
// The functor changes the first elements of what it is given, in the compute type.

#pragma once

#include "early.cuh"
#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int joint_threads = 256;
constexpr int joint_chunk = 4096;  // elements a block takes
constexpr int joint_tensors = 64;  // of each list in one launch

template <int n> struct Lists {
  long long elements[joint_tensors];
  void* at[n][joint_tensors];
  int first[joint_tensors + 1];
  int count;
};

// tensor_of returns the tensor that this block works on.
template <int n> SINTER_FN int tensor_of(const Lists<n>& l) {
  int low = 0, high = l.count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (l.first[middle] <= int(blockIdx.x)) low = middle;
    else high = middle - 1;
  }
  return low;
}

// joint applies f to every element of this block's chunk: vectors where all
// addresses allow it. Of n lists the first outs, of S, are written back; the others
// are of R.
template <class S, class R, int outs, int n, class F> SINTER_FN void joint(const Lists<n>& l, const F& f) {
  static_assert(sizeof(R) <= sizeof(S) && outs <= n, "vectors of both have as many elements");
  constexpr int width = 16 / sizeof(S), reads = n - outs;
  early();
  const int t = tensor_of(l);
  const long long start = (long long)(blockIdx.x - l.first[t]) * joint_chunk;
  const long long end = start + joint_chunk < l.elements[t] ? start + joint_chunk : l.elements[t];
  S* at[outs];
  const R* from[reads > 0 ? reads : 1];
  bool vectors = true;
#pragma unroll
  for (int k = 0; k < outs; k++) {
    at[k] = static_cast<S*>(l.at[k][t]);
    vectors = vectors && aligned(at[k], 16);
  }
#pragma unroll
  for (int k = 0; k < reads; k++) {
    from[k] = static_cast<const R*>(l.at[outs + k][t]);
    vectors = vectors && aligned(from[k], width * sizeof(R));
  }
  long long i = start + threadIdx.x * width;
  if (vectors) {
#pragma unroll 1
    for (; i + width <= end; i += joint_threads * width) {
      Vector<S, width> v[outs];
      Vector<R, width> w[reads > 0 ? reads : 1];
#pragma unroll
      for (int k = 0; k < outs; k++) v[k] = load<width>(at[k] + i);
#pragma unroll
      for (int k = 0; k < reads; k++) w[k] = load<width>(from[k] + i);
#pragma unroll
      for (int e = 0; e < width; e++) {
        compute_t<S> x[n];
#pragma unroll
        for (int k = 0; k < outs; k++) x[k] = cast<compute_t<S>>(v[k].at[e]);
#pragma unroll
        for (int k = 0; k < reads; k++) x[outs + k] = cast<compute_t<S>>(w[k].at[e]);
        f(x);
#pragma unroll
        for (int k = 0; k < outs; k++) v[k].at[e] = cast<S>(x[k]);
      }
#pragma unroll
      for (int k = 0; k < outs; k++) store(at[k] + i, v[k]);
    }
  }
  // What no whole vector covers: the thread whose vector is cut short takes it,
  // or without vectors each thread its own.
#pragma unroll 1
  for (; i < end; i += joint_threads * width) {
#pragma unroll 1
    for (long long e = i; e < i + width && e < end; e++) {
      compute_t<S> x[n];
#pragma unroll
      for (int k = 0; k < outs; k++) x[k] = cast<compute_t<S>>(at[k][e]);
#pragma unroll
      for (int k = 0; k < reads; k++) x[outs + k] = cast<compute_t<S>>(from[k][e]);
      f(x);
#pragma unroll
      for (int k = 0; k < outs; k++) at[k][e] = cast<S>(x[k]);
    }
  }
}

}  // namespace sinter

#define SINTER_JOINT(NAME, F, S, R, OUTS, LISTS)                                                                        \
  extern "C" __global__ void __launch_bounds__(sinter::joint_threads)                                                   \
      NAME(const __grid_constant__ sinter::Lists<LISTS> l, F f) {                                                       \
    sinter::joint<sinter::S, sinter::R, OUTS>(l, f);                                                                    \
  }
