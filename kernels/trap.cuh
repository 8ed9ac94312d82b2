// The record of faults that kernels find in their operands' values: package
// backend/cuda/trap.

#pragma once

#include "types.cuh"

namespace sinter {

struct Trap {
  unsigned state;  // 0: nothing recorded, 1: being written, 2: recorded
  unsigned who;
  long long value, limit;
};

// fault records the first fault. No trap, nothing recorded.
SINTER_FN void fault(Trap* trap, unsigned who, long long value, long long limit) {
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  if (trap == nullptr || (__activemask() & below) != 0) return;  // one lane speaks for the warp
  if (atomicCAS(&trap->state, 0u, 1u) != 0) return;
  volatile Trap* t = trap;
  t->who = who;
  t->value = value;
  t->limit = limit;
  __threadfence_system();
  t->state = 2;
}

}  // namespace sinter
