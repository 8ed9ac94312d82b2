// Kernels that may begin before those in front of them on the stream have ended.

#pragma once

#include "types.cuh"

namespace sinter {

// early comes first in a kernel that may be launched early, before it reads or writes memory: it lets
// the next kernel of the stream begin, once all blocks have come here, and waits until what is in front has
// ended and its memory can be seen. So a kernel that ends has all in front of it behind it. In one that was
// launched as any other it does nothing.
SINTER_FN void early() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace sinter
