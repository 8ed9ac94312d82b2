// one_hot(long long count, long long* out, const long long* x, long long classes, Divider by, Trap* trap, unsigned who)
//     writes count numbers: 1 at the class, of so many, that an element of x names, and 0 elsewhere. The divider
//     is that of the classes where count is below 2^31. A class that is out of range is a fault of who. out
//     is aligned for two numbers. Blocks of 256 threads, best with ceil(count / 2048) of them.

#include "space.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int hot_threads = 256, hot_vectors = 4;

template <class Row> SINTER_FN void one_hot(long long count, int64* out, const int64* x, int64 classes, Trap* trap, unsigned who, const Row& row_of) {
  constexpr int step = hot_threads * 2;
#pragma unroll 1
  for (long long base = (long long)blockIdx.x * (step * hot_vectors) + threadIdx.x * 2; base < count; base += (long long)gridDim.x * (step * hot_vectors)) {
#pragma unroll
    for (int u = 0; u < hot_vectors; u++) {
      const long long i = base + u * step;
      if (i >= count) break;
      const long long row = row_of(i), c = i - row * classes;
      const int64 k = x[row];
      if ((unsigned long long)k >= (unsigned long long)classes) fault(trap, who, k, classes);
      Vector<int64, 2> v;
      v.at[0] = k == c;
      if (i + 1 == count) {
        out[i] = v.at[0];
        break;
      }
      if (c + 1 < classes) {
        v.at[1] = k == c + 1;
      } else {
        const int64 next = x[row + 1];
        if ((unsigned long long)next >= (unsigned long long)classes) fault(trap, who, next, classes);
        v.at[1] = next == 0;
      }
      store(out + i, v);
    }
  }
}

}  // namespace sinter

using namespace sinter;

extern "C" __global__ void __launch_bounds__(hot_threads)
    one_hot(long long count, long long* out, const long long* x, long long classes, Divider by, Trap* trap, unsigned who) {
  one_hot(count, out, x, classes, trap, who, [&](long long i) { return (long long)quotient(unsigned(i), by); });
}

extern "C" __global__ void __launch_bounds__(hot_threads)
    one_hot_far(long long count, long long* out, const long long* x, long long classes, Divider by, Trap* trap, unsigned who) {
  one_hot(count, out, x, classes, trap, who, [&](long long i) { return i / classes; });
}
