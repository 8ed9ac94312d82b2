// Operators over rows: contiguous tensors [rows, along] whose rows are each
// normalized by something computed of all of the row.
//
// An operator is a struct, the one parameter of its kernels, with
//
//   typedef S Storage;                     // of an element
//   const S* x;
//   long long rows, along;
//   static T pad();                        // what the places past a row's end hold
//   // a row that the group's threads hold between them, of n elements (none for
//   // threads without a row)
//   template <int vec, int values, class Group> void keep(Group& g, Slice<S, vec, values>& s, long long row, int n) const;
//   // any row; it is read more than once
//   template <int vec, int values, class Group> void stream(Group& g, long long row) const;
//
// SINTER_ROWS(name, dtype, Operator) defines
//
//   NAME_DTYPE_warp8, NAME_DTYPE_warp32    (Operator f, int lanes)
//       lanes, a power of two up to 32, threads a row, which has at most 8 (32)
//       elements for each. Blocks of 128 threads, grid ceil(rows / (128 / lanes)).
//   NAME_DTYPE_block                       (Operator f)
//       a block of whole warps a row, of at most 16 (float64: 8) elements for each thread.
//   NAME_DTYPE_stream                      (Operator f)
//       a block of whole warps a row of any length.
//
// and the same with the suffix _vector, for rows that begin at multiples of 16
// bytes and are a multiple of 16 bytes long.

#pragma once

#include "real.cuh"
#include "space.cuh"

namespace sinter {

// A WarpGroup is lanes neighbouring threads of a warp. All groups of a warp call
// reduce together.
struct WarpGroup {
  int lane, lanes;

  // reduce combines the values of the group's threads; identity is one of f.
  template <class T, class F> SINTER_FN T reduce(T a, T identity, F f) {
#pragma unroll 1
    for (int mask = lanes / 2; mask > 0; mask /= 2) a = f(a, shuffle_xor(a, mask));
    return a;
  }
};

// A BlockGroup is a block of whole warps.
struct BlockGroup {
  int lane, lanes;
  int slot;  // of the parts: neighbouring calls use different ones, so that one barrier a call is enough

  template <class T, class F> SINTER_FN T reduce(T a, T identity, F f) {
    __shared__ T parts[2][32];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) a = f(a, shuffle_xor(a, mask));
    if (lane % 32 == 0) parts[slot][lane / 32] = a;
    __syncthreads();
    a = lane % 32 < lanes / 32 ? parts[slot][lane % 32] : identity;
    slot ^= 1;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) a = f(a, shuffle_xor(a, mask));
    return a;
  }
};

struct Plus {
  template <class T> SINTER_FN T operator()(T a, T b) const { return a + b; }
};

// Larger is the maximum where any NaN wins.
struct Larger {
  template <class T> SINTER_FN T operator()(T a, T b) const { return a < b || b != b ? b : a; }
};

// A Slice is what one thread of a group holds of a row: every lanes-th vector
// from its own on.
template <class S, int vec, int values> struct Slice {
  typedef compute_t<S> T;
  T at[values];

  static SINTER_FN int place(int v, int lane, int lanes) { return (v * lanes + lane) * vec; }

  // load reads a row of n elements, whose missing ones are pad.
  template <class Group> SINTER_FN void load(const S* row, int n, const Group& g, T pad) {
#pragma unroll
    for (int v = 0; v < values / vec; v++) {
      int i = place(v, g.lane, g.lanes);
      if (i < n) {
        Vector<S, vec> raw = sinter::load<vec>(row + i);
#pragma unroll
        for (int w = 0; w < vec; w++) at[v * vec + w] = cast<T>(raw.at[w]);
      } else {
#pragma unroll
        for (int w = 0; w < vec; w++) at[v * vec + w] = pad;
      }
    }
  }

  template <class Group> SINTER_FN void store(S* row, int n, const Group& g) const {
#pragma unroll
    for (int v = 0; v < values / vec; v++) {
      int i = place(v, g.lane, g.lanes);
      if (i >= n) continue;
      Vector<S, vec> raw;
#pragma unroll
      for (int w = 0; w < vec; w++) raw.at[w] = cast<S>(at[v * vec + w]);
      sinter::store<vec>(row + i, raw);
    }
  }

  // fold combines the elements that the thread holds.
  template <class F> SINTER_FN T fold(F f) const {
    T a = at[0];
#pragma unroll
    for (int i = 1; i < values; i++) a = f(a, at[i]);
    return a;
  }

  // each sets every element to f of it.
  template <class F> SINTER_FN void each(F f) {
#pragma unroll
    for (int i = 0; i < values; i++) at[i] = f(at[i]);
  }

  // with sets every element to f of it and of the element of the same place of
  // other, a row of n elements.
  template <class Group, class F> SINTER_FN void with(const S* other, int n, const Group& g, F f) {
#pragma unroll
    for (int v = 0; v < values / vec; v++) {
      int i = place(v, g.lane, g.lanes);
      if (i >= n) continue;
      Vector<S, vec> raw = sinter::load<vec>(other + i);
#pragma unroll
      for (int w = 0; w < vec; w++) at[v * vec + w] = f(at[v * vec + w], cast<T>(raw.at[w]));
    }
  }
};

// pieces calls f(first, n) for the pieces of a row of along elements that a
// group holds at once.
template <int values, class Group, class F> SINTER_FN void pieces(const Group& g, long long along, F f) {
  const long long piece = (long long)(g.lanes) * values;
#pragma unroll 1
  for (long long first = 0; first < along; first += piece) f(first, int(along - first < piece ? along - first : piece));
}

constexpr int warp_rows_threads = 128;

template <int vec, int values, class Op> SINTER_FN void warp_rows(const Op& f, int lanes) {
  WarpGroup g = {int(threadIdx.x) & (lanes - 1), lanes};
  long long row = (long long)(blockIdx.x) * (warp_rows_threads / lanes) + threadIdx.x / lanes;
  const int n = row < f.rows ? int(f.along) : 0;
  Slice<typename Op::Storage, vec, values> s;
  s.load(f.x + row * f.along, n, g, Op::pad());
  f.keep(g, s, row, n);
}

template <class Op> constexpr int block_values = sizeof(typename Op::Storage) == 8 ? 8 : 16;

template <int vec, int values, class Op> SINTER_FN void block_rows(const Op& f) {
  BlockGroup g = {int(threadIdx.x), int(blockDim.x), 0};
  Slice<typename Op::Storage, vec, values> s;
  s.load(f.x + blockIdx.x * f.along, int(f.along), g, Op::pad());
  f.keep(g, s, blockIdx.x, int(f.along));
}

template <int vec, int values, class Op> SINTER_FN void stream_rows(const Op& f) {
  BlockGroup g = {int(threadIdx.x), int(blockDim.x), 0};
  f.template stream<vec, values>(g, blockIdx.x);
}

}  // namespace sinter

#define SINTER_ROWS_OF(name, width, ...)                                                                                     \
  extern "C" __global__ void __launch_bounds__(128) name##_warp8(__VA_ARGS__ f, int lanes) {                                 \
    sinter::warp_rows<1, 8>(f, lanes);                                                                                       \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(128) name##_warp32(__VA_ARGS__ f, int lanes) {                                \
    sinter::warp_rows<1, 32>(f, lanes);                                                                                      \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(128) name##_warp8_vector(__VA_ARGS__ f, int lanes) {                          \
    sinter::warp_rows<width, 8>(f, lanes);                                                                                   \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(128) name##_warp32_vector(__VA_ARGS__ f, int lanes) {                         \
    sinter::warp_rows<width, 32>(f, lanes);                                                                                  \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(1024) name##_block(__VA_ARGS__ f) { sinter::block_rows<1, sinter::block_values<__VA_ARGS__>>(f); }           \
  extern "C" __global__ void __launch_bounds__(1024) name##_block_vector(__VA_ARGS__ f) { sinter::block_rows<width, sinter::block_values<__VA_ARGS__>>(f); } \
  extern "C" __global__ void __launch_bounds__(1024) name##_stream(__VA_ARGS__ f) { sinter::stream_rows<1, 8>(f); }          \
  extern "C" __global__ void __launch_bounds__(1024) name##_stream_vector(__VA_ARGS__ f) { sinter::stream_rows<width, 8>(f); }

#define SINTER_ROWS(name, dtype, ...) SINTER_ROWS_OF(name##_##dtype, (16 / sizeof(sinter::dtype)), __VA_ARGS__)
