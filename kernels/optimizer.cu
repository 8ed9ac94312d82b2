// Steps of optimizers over many tensors in one launch.
//
//   sgd_step_<dtype>(Lists<3> l, SGDArgs a)      at: parameters, gradients, momenta (null without momentum)
//   adam_step_<dtype>(Lists<4> l, AdamArgs a)    at: parameters, gradients, first moments, second moments
//
// Tensors are dense and of one dtype. Blocks of 256 threads; tensor t takes the
// blocks from first[t] to first[t+1], each for chunk elements, and the grid is
// first[count]. Arithmetic is that of the compute type; numbers are given as
// double and rounded to it.

#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int optimizer_threads = 256;
constexpr int optimizer_chunk = 4096;  // elements a block takes
constexpr int max_tensors = 64;

template <int n> struct Lists {
  long long elements[max_tensors];
  void* at[n][max_tensors];
  int first[max_tensors + 1];
  int count;
};

struct SGDArgs {
  double rate, momentum, share, decay;  // share: of the gradient that joins the momentum
  bool nesterov;
};

struct AdamArgs {
  double step, beta1, beta2, eps, decay, shrink;  // shrink: factor of the parameter before the step
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

// update applies f to every element of this block's chunk: vectors where all
// addresses allow it. f changes the values it is given; those of constant lists
// are not written back.
template <class S, int n, class F> SINTER_FN void update(const Lists<n>& l, const F& f) {
  constexpr int width = 16 / sizeof(S);
  const int t = tensor_of(l);
  const long long start = (long long)(blockIdx.x - l.first[t]) * optimizer_chunk;
  const long long end = start + optimizer_chunk < l.elements[t] ? start + optimizer_chunk : l.elements[t];
  S* at[n];
  bool vectors = true;
#pragma unroll
  for (int k = 0; k < n; k++) {
    at[k] = static_cast<S*>(l.at[k][t]);
    vectors = vectors && aligned(at[k], 16);
  }
  long long i = start + threadIdx.x * width;
  if (vectors) {
#pragma unroll 1
    for (; i + width <= end; i += optimizer_threads * width) {
      Vector<S, width> v[n];
#pragma unroll
      for (int k = 0; k < n; k++)
        if (at[k]) v[k] = load<width>(at[k] + i);
#pragma unroll
      for (int e = 0; e < width; e++) {
        compute_t<S> x[n];
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = at[k] ? cast<compute_t<S>>(v[k].at[e]) : compute_t<S>(0);
        f(x);
#pragma unroll
        for (int k = 0; k < n; k++) v[k].at[e] = cast<S>(x[k]);
      }
#pragma unroll
      for (int k = 0; k < n; k++)
        if (at[k] && k != 1) store(at[k] + i, v[k]);
    }
  }
  // What no whole vector covers: the thread whose vector is cut short takes it,
  // or without vectors each thread its own.
#pragma unroll 1
  for (; i < end; i += optimizer_threads * width) {
#pragma unroll 1
    for (long long e = i; e < i + width && e < end; e++) {
      compute_t<S> x[n];
#pragma unroll
      for (int k = 0; k < n; k++) x[k] = at[k] ? cast<compute_t<S>>(at[k][e]) : compute_t<S>(0);
      f(x);
#pragma unroll
      for (int k = 0; k < n; k++)
        if (at[k] && k != 1) at[k][e] = cast<S>(x[k]);
    }
  }
}

// SGDStep is one element's step: parameter, gradient, momentum.
template <class T> struct SGDStep {
  T rate, momentum, share, decay;
  bool nesterov, keeps;
  SINTER_FN SGDStep(const SGDArgs& a, bool keeps)
      : rate(T(a.rate)), momentum(T(a.momentum)), share(T(a.share)), decay(T(a.decay)), nesterov(a.nesterov), keeps(keeps) {}
  SINTER_FN void operator()(T (&x)[3]) const {
    T d = x[1] + decay * x[0];
    if (keeps) {
      x[2] = momentum * x[2] + share * d;
      d = nesterov ? d + momentum * x[2] : x[2];
    }
    x[0] -= rate * d;
  }
};

// AdamStep is one element's step: parameter, gradient, moments.
template <class T> struct AdamStep {
  T step, gain1, beta2, gain2, eps, decay, shrink;  // the gains are 1 - beta, rounded once
  SINTER_FN AdamStep(const AdamArgs& a)
      : step(T(a.step)), gain1(T(1 - a.beta1)), beta2(T(a.beta2)), gain2(T(1 - a.beta2)), eps(T(a.eps)), decay(T(a.decay)), shrink(T(a.shrink)) {}
  SINTER_FN void operator()(T (&x)[4]) const {
    T p = x[0] * shrink, g = x[1] + decay * x[0];
    x[2] += gain1 * (g - x[2]);
    x[3] = beta2 * x[3] + gain2 * (g * g);
    x[0] = p - step * (x[2] / (sinter::sqrt(x[3]) + eps));
  }
};

}  // namespace sinter

#define SINTER_OPTIMIZER(S)                                                                                             \
  extern "C" __global__ void __launch_bounds__(sinter::optimizer_threads)                                               \
      sgd_step_##S(const __grid_constant__ sinter::Lists<3> l, sinter::SGDArgs a) {                                     \
    sinter::update<sinter::S>(l, sinter::SGDStep<sinter::compute_t<sinter::S>>(a, l.at[2][0] != nullptr));              \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(sinter::optimizer_threads)                                               \
      adam_step_##S(const __grid_constant__ sinter::Lists<4> l, sinter::AdamArgs a) {                                   \
    sinter::update<sinter::S>(l, sinter::AdamStep<sinter::compute_t<sinter::S>>(a));                                    \
  }

SINTER_OPTIMIZER(float16)
SINTER_OPTIMIZER(bfloat16)
SINTER_OPTIMIZER(float32)
SINTER_OPTIMIZER(float64)
