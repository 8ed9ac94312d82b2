// Moving elements to other places.
//
//   cat_bN(CatParts parts)
//       parts side by side in rows: row r of part i, width[i] units of N bytes that
//       follow its row r - 1, goes to unit r * pitch + at[i] of the result. Blocks of
//       256 threads, grid (any, parts).
//   window_bN(Space<2> s, Pointers<3> p, Window w, int size, int turn)
//       the result, operand 0, has operand 1 where every coordinate lies in the
//       window, and elsewhere the size bytes at the third pointer, which divide N, or
//       zeros if that is null. Strides may be negative. A turn that is not 0 is the
//       bytes of elements whose order in a unit of 16 is reversed. Blocks of 256
//       threads, best with ceil(s.count / 1024) of them.

#include "space.cuh"

namespace sinter {

constexpr int move_threads = 256;
constexpr int move_each = 4;  // units a thread
constexpr int cat_parts = 64;

struct CatPart {
  const void* x;
  long long at;
  Divider width;
  unsigned count;  // units in all, below 2^31
};

struct CatParts {
  void* out;
  long long pitch;
  CatPart parts[cat_parts];
};

template <class T> SINTER_FN void cat(const CatParts& c) {
  const CatPart& part = c.parts[blockIdx.y];
  const T* x = static_cast<const T*>(part.x);
  T* out = static_cast<T*>(c.out) + part.at;
  const unsigned count = part.count, step = gridDim.x * (move_threads * move_each);
#pragma unroll 1
  for (unsigned base = blockIdx.x * (move_threads * move_each) + threadIdx.x; base < count; base += step) {
    T v[move_each];
#pragma unroll
    for (int e = 0; e < move_each; e++) {
      const unsigned i = base + e * move_threads;
      if (i < count) v[e] = x[i];
    }
#pragma unroll
    for (int e = 0; e < move_each; e++) {
      const unsigned i = base + e * move_threads;
      if (i >= count) break;
      const unsigned row = quotient(i, part.width);
      out[row * c.pitch + (i - row * part.width.divisor)] = v[e];
    }
  }
}

// A Window is the coordinates low to high - 1 along each axis.
struct Window {
  unsigned low[max_rank], high[max_rank];
};

// turned returns v with its elements, of size bytes each, in the opposite order.
SINTER_FN uint4 turned(uint4 v, int size) {
  if (size == 16) return v;
  if (size == 8) return {v.z, v.w, v.x, v.y};
  v = {v.w, v.z, v.y, v.x};
  if (size == 4) return v;
  const unsigned order = size == 2 ? 0x1032 : 0x0123;
  return {__byte_perm(v.x, 0, order), __byte_perm(v.y, 0, order), __byte_perm(v.z, 0, order), __byte_perm(v.w, 0, order)};
}

template <class T> SINTER_FN T turned(T v, int) { return v; }

template <class T> SINTER_FN void window(const Space<2>& s, const Pointers<3>& p, const Window& w, int size, int turn) {
  constexpr int each = move_each;
  T outside = {};
  if (p.at[2] != nullptr) {
#pragma unroll
    for (int b = 0; b < int(sizeof(T)); b++) {
      reinterpret_cast<uint8*>(&outside)[b] = static_cast<const uint8*>(p.at[2])[b & (size - 1)];
    }
  }
  const unsigned count = unsigned(s.count), step = gridDim.x * (move_threads * each);
#pragma unroll 1
  for (unsigned base = blockIdx.x * (move_threads * each) + threadIdx.x; base < count; base += step) {
    unsigned i[each];
    long long to[each] = {}, from[each] = {};
    bool inside[each];
#pragma unroll
    for (int e = 0; e < each; e++) {
      i[e] = base + e * move_threads < count ? base + e * move_threads : base;
      inside[e] = true;
    }
#pragma unroll 1
    for (int d = 0; d < s.rank; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        unsigned coordinate = i[e];
        if (d < s.rank - 1) {
          i[e] = quotient(i[e], s.extents[d]);
          coordinate -= i[e] * s.extents[d].divisor;
        }
        inside[e] = inside[e] && coordinate >= w.low[d] && coordinate < w.high[d];
        to[e] += coordinate * s.strides[0][d];
        from[e] += coordinate * s.strides[1][d];
      }
    }
    T v[each];
#pragma unroll
    for (int e = 0; e < each; e++) v[e] = inside[e] ? static_cast<const T*>(p.at[1])[from[e]] : outside;
#pragma unroll
    for (int e = 0; e < each; e++) {
      if (base + e * move_threads < count) static_cast<T*>(p.at[0])[to[e]] = turn == 0 ? v[e] : turned(v[e], turn);
    }
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_MOVE(n)                                                                                             \
  extern "C" __global__ void __launch_bounds__(move_threads) cat_b##n(CatParts parts) { cat<Raw<n>::type>(parts); } \
  extern "C" __global__ void __launch_bounds__(move_threads)                                                       \
      window_b##n(Space<2> s, Pointers<3> p, Window w, int size, int turn) {                                                 \
    window<Raw<n>::type>(s, p, w, size, turn);                                                                           \
  }
SINTER_MOVE(1)
SINTER_MOVE(2)
SINTER_MOVE(4)
SINTER_MOVE(8)
SINTER_MOVE(16)
