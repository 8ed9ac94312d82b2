// Iteration spaces and memory access, shared by the loop templates.
//
// The structs here are kernel parameters: the host lays them out byte for byte
// as C does, 8-byte alignment.

#pragma once

#include "types.cuh"

namespace sinter {

constexpr int max_rank = 8;

// A Divider divides n < 2^31 by divisor: shift is the least with
// 2^shift >= divisor, multiplier is floor(2^32 (2^shift - divisor) / divisor) + 1.
struct Divider {
  unsigned divisor, multiplier, shift;
};

SINTER_FN unsigned quotient(unsigned n, const Divider& d) { return (__umulhi(n, d.multiplier) + n) >> d.shift; }

// A Space is a row-major iteration space of less than 2^31 positions, axes from
// the innermost out. Neighbouring axes that are one run in every operand should
// have been joined, those of extent 1 dropped. A larger space is launched in
// pieces, cut along its outermost axis.
template <int operands> struct Space {
  long long first;  // linear index of position 0 in the space it is a piece of
  long long count;  // product of the extents
  int rank;         // 0 to 8
  Divider extents[max_rank];
  long long strides[operands][max_rank];  // in elements, never negative; 0 repeats an element
};

// locate adds to at[e] the offsets of position i[e] of the space in every
// operand, walking axes from start on.
template <class Offset, int each, int operands>
SINTER_FN void locate(const Space<operands>& s, unsigned (&i)[each], Offset (&at)[each][operands], int start = 0) {
#pragma unroll 1
  for (int d = start; d < s.rank; d++) {
#pragma unroll
    for (int e = 0; e < each; e++) {
      unsigned coordinate = i[e];
      if (d < s.rank - 1) {
        i[e] = quotient(i[e], s.extents[d]);
        coordinate -= i[e] * s.extents[d].divisor;
      }
#pragma unroll
      for (int k = 0; k < operands; k++) at[e][k] += Offset(coordinate) * Offset(s.strides[k][d]);
    }
  }
}

// Offsets are those of one position in every operand.
template <int operands> struct Offsets {
  long long at[operands];
};

template <int operands> SINTER_FN Offsets<operands> locate(const Space<operands>& s, unsigned i) {
  unsigned position[1] = {i};
  long long at[1][operands] = {};
  locate(s, position, at);
  Offsets<operands> r;
#pragma unroll
  for (int k = 0; k < operands; k++) r.at[k] = at[0][k];
  return r;
}

// The pointers of a kernel: the result's, then the operands'.
template <int n> struct Pointers {
  void* at[n];
};

// Raw<n> is a type of n bytes that is loaded and stored in one access.
template <int bytes> struct Raw;
template <> struct Raw<1> { typedef unsigned char type; };
template <> struct Raw<2> { typedef unsigned short type; };
template <> struct Raw<4> { typedef unsigned type; };
template <> struct Raw<8> { typedef uint2 type; };
template <> struct Raw<16> { typedef uint4 type; };

// A Vector is n elements that are loaded and stored at once; n times the size of
// an element is at most 16 bytes, and the address a multiple of it.
template <class S, int n> struct Vector {
  typedef typename Raw<sizeof(S) * n>::type raw;
  union {
    raw all;
    S at[n];
  };
};

template <int n, class S> SINTER_FN Vector<S, n> load(const S* p) {
  Vector<S, n> v;
  v.all = *reinterpret_cast<const typename Vector<S, n>::raw*>(p);
  return v;
}

// load_once is load for what no thread reads again soon, and none writes meanwhile:
// the first-level cache keeps none of it.
template <int n, class S> SINTER_FN Vector<S, n> load_once(const S* p) {
  if constexpr (sizeof(S) * n == 16) {
    Vector<S, n> v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.all.x), "=r"(v.all.y), "=r"(v.all.z), "=r"(v.all.w)
                 : "l"(p));
    return v;
  } else {
    return load<n>(p);
  }
}

template <int n, class S> SINTER_FN void store(S* p, const Vector<S, n>& v) {
  *reinterpret_cast<typename Vector<S, n>::raw*>(p) = v.all;
}

SINTER_FN bool aligned(const void* p, int bytes) { return (reinterpret_cast<unsigned long long>(p) & (bytes - 1)) == 0; }

// max_size returns the size of the largest type.
template <class S, class... Rest> constexpr int max_size() {
  if constexpr (sizeof...(Rest) == 0) {
    return sizeof(S);
  } else {
    constexpr int rest = max_size<Rest...>();
    return sizeof(S) > rest ? int(sizeof(S)) : rest;
  }
}

// A Pack holds one value of each type; get<i> is the i-th.
template <class... T> struct Pack {};
template <class Head, class... Tail> struct Pack<Head, Tail...> {
  Head head;
  Pack<Tail...> tail;
};

template <int i, class Head, class... Tail> SINTER_FN auto& get(Pack<Head, Tail...>& p) {
  if constexpr (i == 0) return p.head;
  else return get<i - 1>(p.tail);
}

// Indices<n>::type is Sequence<0, ..., n-1>.
template <int... i> struct Sequence {};
template <int n, int... i> struct Indices : Indices<n - 1, n - 1, i...> {};
template <int... i> struct Indices<0, i...> { typedef Sequence<i...> type; };

// Words are a value as the shuffle instructions take it.
template <class A> union Words {
  A value;
  unsigned words[(sizeof(A) + 3) / 4];
  SINTER_FN Words() {}
};

// shuffle_xor returns what the lane with the number of this one ^ mask holds.
template <class A> SINTER_FN A shuffle_xor(A a, int mask) {
  Words<A> w;
  w.words[sizeof(w.words) / 4 - 1] = 0;
  w.value = a;
#pragma unroll
  for (int i = 0; i < int(sizeof(w.words) / 4); i++) w.words[i] = __shfl_xor_sync(0xffffffffu, w.words[i], mask);
  return w.value;
}

// shuffle_up returns what the lane delta below this one holds; its own below that.
template <class A> SINTER_FN A shuffle_up(A a, int delta) {
  Words<A> w;
  w.words[sizeof(w.words) / 4 - 1] = 0;
  w.value = a;
#pragma unroll
  for (int i = 0; i < int(sizeof(w.words) / 4); i++) w.words[i] = __shfl_up_sync(0xffffffffu, w.words[i], delta);
  return w.value;
}

}  // namespace sinter
