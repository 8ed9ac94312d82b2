// Loops of element-wise operators whose functors are large and are compiled while a program
// runs, which takes the longer the more often the functor is in the kernel.

#pragma once

#include "elementwise.cuh"

namespace sinter {

// Compact is Elementwise. Its loop over what is contiguous has the functor for one vector
// and for one element: a thread reads its vectors before it computes the first, and then
// computes one after the other with the same code.
template <class F, class Out, class... In> struct Compact : Elementwise<F, Out, In...> {
  typedef Elementwise<F, Out, In...> Loops;
  typedef typename Loops::Args Args;
  typedef typename Loops::All All;

  static SINTER_FN void contiguous(long long count, const Args& p, const F& f) {
    constexpr int width = Loops::width, unroll = Loops::unroll;
    const int step = blockDim.x * width;
    const long long block = step * unroll;
    const bool vectors = Loops::all_aligned(p, All());
    Out* out = static_cast<Out*>(p.at[0]);
#pragma unroll 1
    for (long long base = blockIdx.x * block; base < count; base += gridDim.x * block) {
      const long long end = base + block < count ? base + block : count;
      long long at = base + threadIdx.x * width;
      if (vectors) {
        typename Loops::template Tile<width> t[unroll];
#pragma unroll
        for (int u = 0; u < unroll; u++) {
          if (at + u * step + width <= end) Loops::fetch(t[u], p, at + u * step, All());
        }
#pragma unroll 1
        for (; at + width <= end; at += step) {
          store(out + at, Loops::apply(f, at, p, t[0], All()));
#pragma unroll
          for (int u = 0; u + 1 < unroll; u++) t[u] = t[u + 1];
        }
      }
      // What is left is less than a vector at the end, or all.
      Loops::single(vectors ? at : base + threadIdx.x, end, vectors ? 1 : blockDim.x, p, f);
    }
  }
};

}  // namespace sinter
