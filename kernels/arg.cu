// The place of the largest element.
//
//   arg_rows_DTYPE(Space<2> kept, Pointers<2> p, Line line, Best* partial, bool smallest)
//       where neighbours along the axis lie closest together. Blocks of (lanes,
//       results), both powers of two, 32 to 256 threads; lanes search one result,
//       best at most 128 where there are results for all multiprocessors.
//       Grid (ceil(kept.count / results), slices).
//   arg_columns_DTYPE(Space<2> kept, Pointers<2> p, Line line, Best* partial, bool smallest)
//       where neighbouring results do. Blocks of (columns, parts), columns a multiple
//       of 32, at most 256 threads. Grid (ceil(kept.count / columns), slices).
//   arg_merge_TYPE(Space<2> kept, Pointers<2> p, const Best* partial, int slices)
//       of Best with a value of that type. Blocks of 256 threads, best with
//       ceil(kept.count / 8) of them.
//
// kept has an axis for each axis of the result, with the strides of the int64
// result and of the operand. smallest looks for the smallest element. The first of
// equal elements wins, and a NaN wins over any number. With one slice the folding
// kernels write results, and partial is not used; with more, slice s of result r
// leaves partial[r * slices + s], of which arg_merge makes results. A slice has at
// least one and fewer than 2^31 elements.

#include "extreme.cuh"
#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int arg_threads = 256;

// A Line is the elements compared for one result.
struct Line {
  long long count, step;
};

// A Best is the best of some elements, the first of equal ones.
template <class T, class Index> struct Best {
  T value;
  Index at;

  // next offers an element that comes after all others.
  SINTER_FN void next(T v, Index i) {
    if (better(v, value)) {
      value = v;
      at = i;
    }
  }
  SINTER_FN void join(const Best& b) {
    if (better(b.value, value) || (!better(value, b.value) && b.at < at)) *this = b;
  }
};

// A Stored is a Best of a slice, in memory.
template <class T> using Stored = Best<T, long long>;

template <class S> struct Arg {
  typedef arg_t<S> T;
  typedef Best<T, int> Here;                          // counted from the slice's first element
  static constexpr int width = sizeof(S) < 2 ? 8 : 16 / sizeof(S);  // elements a vector
  static constexpr int unroll = 8;                    // loads in flight

  static SINTER_FN T value(S x, bool smallest) { return to_search<T>(cast<T>(x), smallest); }

  struct Slice {
    long long first;
    int count;
  };

  static SINTER_FN Slice slice(long long count) {
    const long long each = (count + gridDim.y - 1) / gridDim.y;
    long long first = each * blockIdx.y;
    if (first >= count) first = count - 1;  // an empty slice offers the last element again
    return {first, int(each < count - first ? each : count - first)};
  }

  static SINTER_FN void finish(const Here& best, const Slice& s, int64* out, long long result, void* partial) {
    if (gridDim.y == 1) *out = s.first + best.at;
    else static_cast<Stored<T>*>(partial)[result * gridDim.y + blockIdx.y] = {best.value, s.first + best.at};
  }

  // run searches n consecutive elements, of which this thread takes every lanes-th
  // vector from lane on.
  static SINTER_FN Here run(const S* x, int n, int lane, int lanes, bool smallest) {
    Here best[width], ends = {value(x[0], smallest), 0};
#pragma unroll
    for (int w = 0; w < width; w++) best[w] = {ends.value, -1};  // of a vector; before all: element 0
    int head = int(-(long long)(reinterpret_cast<unsigned long long>(x) / sizeof(S))) & (width - 1);
    if (head > n) head = n;
#pragma unroll 1
    for (int i = lane; i < head; i += lanes) ends.next(value(x[i], smallest), i);
    const S* body = x + head;
    const int vectors = (n - head) / width;
    int v = lane;
    // Without a condition on each, the loads are issued together.
#pragma unroll 1
    for (; v + (unroll - 1) * lanes < vectors; v += lanes * unroll) {
      Vector<S, width> t[unroll];
#pragma unroll
      for (int u = 0; u < unroll; u++) t[u] = load<width>(body + (long long)(v + u * lanes) * width);
#pragma unroll
      for (int u = 0; u < unroll; u++) {
#pragma unroll
        for (int w = 0; w < width; w++) best[w].next(value(t[u].at[w], smallest), v + u * lanes);
      }
    }
#pragma unroll 1
    for (; v < vectors; v += lanes * unroll) {
      Vector<S, width> t[unroll];
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        if (v + u * lanes < vectors) t[u] = load<width>(body + (long long)(v + u * lanes) * width);
      }
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        if (v + u * lanes < vectors) {
#pragma unroll
          for (int w = 0; w < width; w++) best[w].next(value(t[u].at[w], smallest), v + u * lanes);
        }
      }
    }
#pragma unroll
    for (int w = 0; w < width; w++) {
      best[w].at = best[w].at < 0 ? 0 : head + best[w].at * width + w;
      ends.join(best[w]);
    }
#pragma unroll 1
    for (int i = head + vectors * width + lane; i < n; i += lanes) ends.next(value(x[i], smallest), i);
    return ends;
  }

  static SINTER_FN Here strided(const S* x, long long step, int n, int lane, int lanes, bool smallest) {
    Here best = {value(x[0], smallest), 0};
#pragma unroll 1
    for (int i = lane; i < n; i += lanes * unroll) {
      S t[unroll];
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        if (i + u * lanes < n) t[u] = x[(i + u * lanes) * step];
      }
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        if (i + u * lanes < n) best.next(value(t[u], smallest), i + u * lanes);
      }
    }
    return best;
  }

  // across joins what the lanes of one result have; lane 0 has the best of all.
  // Every thread of the block calls it.
  static SINTER_FN Here across(Here a, int lanes) {
    const int near = lanes < 32 ? lanes : 32;
    for (int mask = near / 2; mask > 0; mask /= 2) a.join(shuffle_xor(a, mask));
    if (lanes > 32) {
      __shared__ __align__(16) unsigned char memory[sizeof(Here) * (arg_threads / 32)];
      Here* warps = reinterpret_cast<Here*>(memory);
      const int thread = threadIdx.y * blockDim.x + threadIdx.x, count = lanes / 32;
      if (thread % 32 == 0) warps[thread / 32] = a;
      __syncthreads();
      a = warps[threadIdx.y * count + thread % count];
      for (int mask = count / 2; mask > 0; mask /= 2) a.join(shuffle_xor(a, mask));
    }
    return a;
  }

  static SINTER_FN void rows(const Space<2>& kept, const Pointers<2>& p, const Line& line, void* partial, bool smallest) {
    const int lane = threadIdx.x, lanes = blockDim.x;
    const long long base = (long long)blockIdx.x * blockDim.y, result = base + threadIdx.y;
    const Slice s = slice(line.count);
    const Offsets<2> to = locate(kept, unsigned(result < kept.count ? result : base));
    const S* x = static_cast<const S*>(p.at[1]) + to.at[1] + s.first * line.step;
    Here a = line.step == 1 ? run(x, s.count, lane, lanes, smallest) : strided(x, line.step, s.count, lane, lanes, smallest);
    a = across(a, lanes);
    if (lane == 0 && result < kept.count) finish(a, s, static_cast<int64*>(p.at[0]) + to.at[0], result, partial);
  }

  static SINTER_FN void columns(const Space<2>& kept, const Pointers<2>& p, const Line& line, void* partial, bool smallest) {
    __shared__ __align__(16) unsigned char memory[sizeof(Here) * arg_threads];
    Here* parts = reinterpret_cast<Here*>(memory);
    const long long base = (long long)blockIdx.x * blockDim.x, result = base + threadIdx.x;
    const Slice s = slice(line.count);
    const Offsets<2> to = locate(kept, unsigned(result < kept.count ? result : base));
    const S* x = static_cast<const S*>(p.at[1]) + to.at[1] + s.first * line.step;
    Here a = strided(x, line.step, s.count, threadIdx.y, blockDim.y, smallest);
    parts[threadIdx.y * blockDim.x + threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.y != 0 || result >= kept.count) return;
#pragma unroll 1
    for (int y = 1; y < blockDim.y; y++) a.join(parts[y * blockDim.x + threadIdx.x]);
    finish(a, s, static_cast<int64*>(p.at[0]) + to.at[0], result, partial);
  }
};

// arg_merge gives a warp to each result.
template <class T>
SINTER_FN void arg_merge(const Space<2>& kept, const Pointers<2>& p, const Stored<T>* partial, int slices) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const long long step = (long long)gridDim.x * warps;
#pragma unroll 1
  for (long long result = (long long)blockIdx.x * warps + threadIdx.x / 32; result < kept.count; result += step) {
    const Stored<T>* from = partial + result * slices;
    Stored<T> a = from[0];
#pragma unroll 4
    for (int i = lane; i < slices; i += 32) a.join(from[i]);
    for (int mask = 16; mask > 0; mask /= 2) a.join(shuffle_xor(a, mask));
    if (lane == 0) static_cast<int64*>(p.at[0])[locate(kept, unsigned(result)).at[0]] = a.at;
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_ARG(S)                                                                                      \
  extern "C" __global__ void __launch_bounds__(arg_threads)                                                \
      arg_rows_##S(Space<2> kept, Pointers<2> p, sinter::Line line, void* partial, bool smallest) {        \
    Arg<S>::rows(kept, p, line, partial, smallest);                                                        \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(arg_threads)                                                \
      arg_columns_##S(Space<2> kept, Pointers<2> p, sinter::Line line, void* partial, bool smallest) {     \
    Arg<S>::columns(kept, p, line, partial, smallest);                                                     \
  }
#define SINTER_ARG_MERGE(T)                                                                                \
  extern "C" __global__ void __launch_bounds__(arg_threads)                                                \
      arg_merge_##T(Space<2> kept, Pointers<2> p, const Stored<T>* partial, int slices) {                  \
    arg_merge<T>(kept, p, partial, slices);                                                                \
  }
SINTER_ARG(uint8)
SINTER_ARG(int8)
SINTER_ARG(int16)
SINTER_ARG(int32)
SINTER_ARG(int64)
SINTER_ARG(float16)
SINTER_ARG(bfloat16)
SINTER_ARG(float32)
SINTER_ARG(float64)
SINTER_ARG_MERGE(int32)
SINTER_ARG_MERGE(int64)
SINTER_ARG_MERGE(float32)
SINTER_ARG_MERGE(float64)
