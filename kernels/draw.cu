// Random numbers in kernels that do more than to compute an element from its index.
//
//   bernoulli_DTYPE(long long count, DTYPE* out, const DTYPE* x, long long seed, long long offset, Trap* trap, unsigned who)
//       1 where the uniform number of an element's index is below the element, a probability,
//       else 0. Best with ceil(count / (256 * 32 bytes of elements, 16 elements at most)) blocks.
//       It is a fault of who if an element is no number from 0 to 1.
//   randint_short(long long count, long long* out, long long low, Short by, long long seed, long long offset)
//   randint_long(long long count, long long* out, long long low, Long by, long long seed, long long offset)
//       low and the remainder of an element's random bits by a number. Best with
//       ceil(count / (256 * 8)) blocks.
//
// Blocks of 256 threads; any grid is right.

#include "random.cuh"
#include "remainder.cuh"
#include "space.cuh"
#include "trap.cuh"

namespace sinter {

constexpr int draw_threads = 256;

// draw calls f with each of count indices that this thread has, width neighbours at a time where
// in_vectors says so, unroll such vectors under way at once.
template <int width, int unroll, class Vectors, class One>
SINTER_FN void draw(long long count, bool in_vectors, Vectors vectors, One one) {
  constexpr int step = draw_threads * width;
  constexpr long long block = (long long)step * unroll;
#pragma unroll 1
  for (long long base = blockIdx.x * block; base < count; base += gridDim.x * block) {
    if (in_vectors && base + block <= count) {
      vectors((base + threadIdx.x * width) & -(long long)width, step);  // so told, the compiler has neighbours share a block of words
    } else {
      const long long end = base + block < count ? base + block : count;
#pragma unroll 1
      for (long long at = base + threadIdx.x; at < end; at += draw_threads) one(at);
    }
  }
}

template <class S>
SINTER_FN void bernoulli(long long count, S* out, const S* x, int64 seed, int64 offset, Trap* trap, unsigned who) {
  typedef compute_t<S> T;
  constexpr int width = sizeof(S) > 2 ? 16 / sizeof(S) : 8, unroll = 2;
  bool bad = false;
  const auto of = [&](S stored, int64 index) {
    const T p = cast<T>(stored);
    bad = bad || !(p >= T(0) && p <= T(1));
    return cast<S>(uniform<T>(seed, offset, index) < p ? T(1) : T(0));
  };
  const auto vectors = [&](int64 first, int step) {
    Vector<S, width> v[unroll];
#pragma unroll
    for (int u = 0; u < unroll; u++) v[u] = load<width>(x + first + u * step);
#pragma unroll
    for (int u = 0; u < unroll; u++) {
#pragma unroll
      for (int k = 0; k < width; k++) v[u].at[k] = of(v[u].at[k], (first + u * step) | k);
      store(out + first + u * step, v[u]);
    }
  };
  const bool in_vectors = aligned(out, sizeof(S) * width) && aligned(x, sizeof(S) * width);
  draw<width, unroll>(count, in_vectors, vectors, [&](int64 at) { out[at] = of(x[at], at); });
  if (bad) fault(trap, who, 0, 0);
}

// A Long is what remainders by a d below 2^63 share: its reciprocal, and 2^63 modulo d.
struct Long {
  unsigned long long d, reciprocal, top;

  SINTER_FN int64 of(int64 a) const {
    const unsigned long long r = least_remainder((unsigned long long)a ^ 1ull << 63, d, reciprocal) - top;
    return int64(r < r + d ? r : r + d);
  }
};

template <class By> SINTER_FN void randint(long long count, int64* out, int64 low, const By& by, int64 seed, int64 offset) {
  constexpr int width = 2, unroll = 4;
  const auto of = [&](int64 index) { return low + int64(by.of(random_bits(seed, offset, index))); };
  const auto vectors = [&](int64 first, int step) {
#pragma unroll
    for (int u = 0; u < unroll; u++) {
      Vector<int64, width> v;
#pragma unroll
      for (int k = 0; k < width; k++) v.at[k] = of((first + u * step) | k);
      store(out + first + u * step, v);
    }
  };
  draw<width, unroll>(count, aligned(out, 16), vectors, [&](int64 at) { out[at] = of(at); });
}

}  // namespace sinter

using namespace sinter;

#define SINTER_BERNOULLI(dtype)                                                                                           \
  extern "C" __global__ void __launch_bounds__(draw_threads) bernoulli_##dtype(                                           \
      long long count, dtype* out, const dtype* x, long long seed, long long offset, Trap* trap, unsigned who) {          \
    bernoulli(count, out, x, seed, offset, trap, who);                                                                    \
  }

SINTER_BERNOULLI(float16)
SINTER_BERNOULLI(bfloat16)
SINTER_BERNOULLI(float32)
SINTER_BERNOULLI(float64)

extern "C" __global__ void __launch_bounds__(draw_threads, 6)
    randint_short(long long count, long long* out, long long low, Short by, long long seed, long long offset) {
  randint(count, out, low, by, seed, offset);
}

extern "C" __global__ void __launch_bounds__(draw_threads, 6)
    randint_long(long long count, long long* out, long long low, Long by, long long seed, long long offset) {
  randint(count, out, low, by, seed, offset);
}
