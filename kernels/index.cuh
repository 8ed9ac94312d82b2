// What the operators that read or write chosen elements share: a space over the
// index, and what the index says of one operand.

#pragma once

#include "space.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int index_threads = 256;
constexpr int index_each = 4;  // positions a thread

// A Chosen operand has at element k along the axis an offset of k * step; k is 0
// to limit - 1, or where wraps is not 0 as many less than that, and anything else is a fault of operator who.
struct Chosen {
  long long step, limit;
  Trap* trap;
  unsigned who, wraps;

  // has reports whether k is one, and makes it one that is not negative.
  SINTER_FN bool has(int64& k) const {
    if (wraps && k < 0 && k >= -limit) k += limit;
    if (static_cast<unsigned long long>(k) < static_cast<unsigned long long>(limit)) return true;
    fault(trap, who, k, limit);
    return false;
  }
};

// each_index calls f(offsets, index) for the positions of s, a block's threads
// taking neighbours. The operands of s are three, of which number 1 is the index.
// f.load(e, at, k, valid) is called for all of a thread's positions before
// f.store(e, at, k): loads are in flight together. Where the index is out of range
// valid is false and store is not called unless F::always.
template <class F> SINTER_FN void each_index(const Space<3>& s, const int64* index, const Chosen& chosen, F& f) {
  constexpr int each = index_each;
  const unsigned count = unsigned(s.count), step = gridDim.x * (index_threads * each);
#pragma unroll 1
  for (unsigned base = blockIdx.x * (index_threads * each) + threadIdx.x; base < count; base += step) {
    unsigned i[each];
    long long at[each][3] = {};
    int64 k[each];
    bool valid[each];
#pragma unroll
    for (int e = 0; e < each; e++) i[e] = base + e * index_threads < count ? base + e * index_threads : base;
    locate(s, i, at);
#pragma unroll
    for (int e = 0; e < each; e++) k[e] = index[at[e][1]];
#pragma unroll
    for (int e = 0; e < each; e++) {
      valid[e] = chosen.has(k[e]);
      f.load(e, at[e], k[e] * chosen.step, valid[e]);
    }
#pragma unroll
    for (int e = 0; e < each; e++) {
      if (base + e * index_threads < count && (F::always || valid[e])) f.store(e, at[e], k[e] * chosen.step);
    }
  }
}

}  // namespace sinter
