// Parts of kernels that compute several operators row by row: folds of what is computed of
// a row's elements, and stores. Who makes such kernels while a program runs prints the
// rest: the functors, and a lambda for each value that is folded or stored.
//
// Blocks are (lanes, rows), both powers of two, 128 threads; lanes work on one row. The
// order of a fold is that of reduce.cuh with one slice over a row in memory whose vectors
// begin at head.

#pragma once

#include "elementwise.cuh"
#include "reduce.cuh"

namespace sinter {

// number is an element as it is computed with.
template <class S> SINTER_FN compute_t<S> number(S x) { return cast<compute_t<S>>(x); }

// A RowView is where an operand or a result lies: distances are in elements.
struct RowView {
  void* at;
  long long row, element;
};

// head_of returns how many elements lie before the first whole vector, in memory whose
// first element is so many from one.
template <int width> SINTER_FN long long head_of(unsigned long long elements) { return -(long long)elements & (width - 1); }

template <class S, int width> SINTER_FN long long head_at(const RowView& v, long long row) {
  return head_of<width>(reinterpret_cast<unsigned long long>(static_cast<const S*>(v.at) + row * v.row) / sizeof(S));
}

// A RowOf is the elements of one row of an operand. Vectors begin at head.
template <class S> struct RowOf {
  const S* at;
  long long step;
  bool vectors;

  template <int width> static SINTER_FN RowOf of(const RowView& v, long long row, long long head) {
    const S* at = static_cast<const S*>(v.at) + row * v.row;
    return {at, v.element, v.element == 1 && aligned(at + head, sizeof(S) * width)};
  }

  SINTER_FN S one(long long k) const { return at[k * step]; }

  template <int width> SINTER_FN Vector<S, width> some(long long k) const {
    if (vectors) return load<width>(at + k);
    Vector<S, width> v;
#pragma unroll
    for (int w = 0; w < width; w++) v.at[w] = at[(k + w) * step];
    return v;
  }
};

template <int width, class F, class Get, class... V>
SINTER_FN void fold_some(const F& f, typename F::Acc (&acc)[width], const Get& get, const V&... x) {
#pragma unroll
  for (int w = 0; w < width; w++) acc[w] = f.combine(acc[w], f.map(get(x.at[w]...)));
}

// fold_row folds what get makes of the n elements of each operand's row. All lanes return it.
template <int width, class F, class Get, class... S>
SINTER_FN typename F::Acc fold_row(const F& f, long long n, long long head, const Get& get, const RowOf<S>&... x) {
  const int lane = threadIdx.x, lanes = blockDim.x;
  typename F::Acc acc[width];
#pragma unroll
  for (int w = 0; w < width; w++) acc[w] = f.init();
  if (head > n) head = n;
#pragma unroll 1
  for (long long k = lane; k < head; k += lanes) acc[0] = f.combine(acc[0], f.map(get(x.one(k)...)));
  const long long vectors = (n - head) / width;
#pragma unroll 4
  for (long long v = lane; v < vectors; v += lanes) fold_some<width>(f, acc, get, x.template some<width>(head + v * width)...);
#pragma unroll 1
  for (long long k = head + vectors * width + lane; k < n; k += lanes) acc[0] = f.combine(acc[0], f.map(get(x.one(k)...)));
#pragma unroll
  for (int half = width / 2; half > 0; half /= 2) {
#pragma unroll
    for (int w = 0; w < half; w++) acc[w] = f.combine(acc[w], acc[w + half]);
  }
  return Reduce<F, char, char>::across(f, acc[0], lanes);
}

template <int width, class Out, class Get, class... V> SINTER_FN void store_some(Out* to, const Get& get, const V&... x) {
  Vector<Out, width> v;
#pragma unroll
  for (int w = 0; w < width; w++) v.at[w] = cast<Out>(get(x.at[w]...));
  store<width>(to, v);
}

// store_row stores what get makes of the n elements of each operand's row, to elements next
// to each other.
template <int width, class Out, class Get, class... S>
SINTER_FN void store_row(Out* to, long long n, long long head, const Get& get, const RowOf<S>&... x) {
  const int lane = threadIdx.x, lanes = blockDim.x;
  if (head > n || !aligned(to + head, sizeof(Out) * width)) head = n;
#pragma unroll 1
  for (long long k = lane; k < head; k += lanes) to[k] = cast<Out>(get(x.one(k)...));
  const long long vectors = (n - head) / width;
#pragma unroll 4
  for (long long v = lane; v < vectors; v += lanes) store_some<width>(to + head + v * width, get, x.template some<width>(head + v * width)...);
#pragma unroll 1
  for (long long k = head + vectors * width + lane; k < n; k += lanes) to[k] = cast<Out>(get(x.one(k)...));
}

// What follows works on rows of whole vectors, of which every lane has at most so many, held:
// what is read or computed once and needed again stays in registers. some returns what is
// folded or stored, of the lane's vector i, which begins at element k.

// hold reads a lane's vectors, all of them before the first is used.
template <int width, int held, class S>
SINTER_FN void hold(Vector<S, width> (&to)[held], int vectors, const RowOf<S>& x) {
#pragma unroll
  for (int i = 0; i < held; i++) {
    const int v = threadIdx.x + i * blockDim.x;
    if (v < vectors) to[i] = x.template some<width>(v * width);
  }
}

// fold_held is fold_row.
template <int width, int held, class F, class Some>
SINTER_FN typename F::Acc fold_held(const F& f, int vectors, const Some& some) {
  const int lane = threadIdx.x, lanes = blockDim.x;
  typename F::Acc acc[width];
#pragma unroll
  for (int w = 0; w < width; w++) acc[w] = f.init();
#pragma unroll
  for (int i = 0; i < held; i++) {
    const int v = lane + i * lanes;
    if (v >= vectors) continue;
    const auto x = some(i, v * width);
#pragma unroll
    for (int w = 0; w < width; w++) acc[w] = f.combine(acc[w], f.map(number(x.at[w])));
  }
#pragma unroll
  for (int half = width / 2; half > 0; half /= 2) {
#pragma unroll
    for (int w = 0; w < half; w++) acc[w] = f.combine(acc[w], acc[w + half]);
  }
  return Reduce<F, char, char>::across(f, acc[0], lanes);
}

// store_whole is store for global memory. What it stores is computed before it: a compiler
// makes several stores of a plain one, each behind the part that it needs.
template <int width, class S> SINTER_FN void store_whole(S* p, const Vector<S, width>& v) {
  if constexpr (sizeof(S) * width == 16) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.all.x), "r"(v.all.y), "r"(v.all.z), "r"(v.all.w) : "memory");
  } else {
    store<width>(p, v);
  }
}

// store_held is store_row.
template <int width, int held, class Out, class Some> SINTER_FN void store_held(Out* to, int vectors, const Some& some) {
  const int lane = threadIdx.x, lanes = blockDim.x;
#pragma unroll
  for (int i = 0; i < held; i++) {
    const int v = lane + i * lanes;
    if (v < vectors) store_whole<width>(to + v * width, some(i, v * width));
  }
}

}  // namespace sinter
