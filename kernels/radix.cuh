// What radix sorts share: how a block ranks elements by eight bits.

#pragma once

#include "order.cuh"

namespace sinter {

constexpr int digits = 256;

// exclusive_digits returns, to thread d < 256, the sum of n over the threads below
// d. All threads of the block call it.
template <class C> SINTER_FN C exclusive_digits(C n) {
  __shared__ C sums[digits / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  C to = n;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const C up = shuffle_up(to, d);
    if (lane >= d) to += up;
  }
  if (lane == 31 && warp < digits / 32) sums[warp] = to;
  __syncthreads();
  C before = to - n;
#pragma unroll
  for (int w = 0; w < digits / 32; w++) {
    if (w < warp) before += sums[w];
  }
  return before;
}

// peers_of returns the lanes of the warp whose digit is this one's.
SINTER_FN unsigned peers_of(unsigned digit) {
  unsigned peers = 0xffffffffu;
#pragma unroll
  for (int b = 0; b < 8; b++) {
    const bool set = digit >> b & 1;
    const unsigned those = __ballot_sync(0xffffffffu, set);
    peers &= set ? those : ~those;
  }
  return peers;
}

// rank_digits gives each of a thread's elements its rank among those of its warp
// with its digit, in the low half, and the digit, in the high half. digit(e) is that
// of element e, before which all of a lower e lie; counts are the warp's, zeros.
template <int items, class F> SINTER_FN void rank_digits(unsigned* counts, unsigned (&slot)[items], F digit) {
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
#pragma unroll
  for (int e = 0; e < items; e++) {
    const unsigned d = digit(e);
    const unsigned peers = peers_of(d), earlier = __popc(peers & below);
    const unsigned seen = counts[d];
    __syncwarp();
    if (earlier == 0) counts[d] = seen + __popc(peers);
    __syncwarp();
    slot[e] = d << 16 | (seen + earlier);
  }
}

}  // namespace sinter
