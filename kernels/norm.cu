// layer_norm and rms_norm: each row is brought to mean 0 (layer_norm alone) and
// variance or mean square 1, then multiplied by weight and added to bias.

#include "rows.cuh"

namespace sinter {

// Moments are the sums of some numbers and of their squares.
template <class T> struct Moments {
  T sum, squares;

  SINTER_FN void add(T d) {
    sum += d;
    squares = fma(d, d, squares);
  }
};

template <class T> SINTER_FN Moments<T> operator+(Moments<T> a, Moments<T> b) { return {a.sum + b.sum, a.squares + b.squares}; }

// Centred is whether the mean is subtracted.
template <class S, bool centred> struct Norm {
  typedef S Storage;
  typedef compute_t<S> T;
  S* out;
  const S* x;
  long long rows, along;
  const S* weight;  // along elements, or null
  const S* bias;    // likewise
  T* mean;          // an element a row, or null
  T* rstd;          // an element a row
  double eps;

  SINTER_FN T count() const { return T(along); }

  // correct takes the moments of what the group's threads hold of a row's distances
  // from a mean that was rounded: it returns what that is off by, and sets r to
  // 1/sqrt(variance + eps).
  template <class Group> SINTER_FN T correct(Group& g, Moments<T> d, T& r) const {
    T off = 0, squares;
    if constexpr (centred) {
      d = g.reduce(d, Moments<T>{T(0), T(0)}, Plus());
      off = d.sum / count();
      squares = d.squares - d.sum * off;
    } else {
      squares = g.reduce(d.squares, T(0), Plus());
    }
    r = T(1) / sqrt((squares < 0 ? T(0) : squares) / count() + T(eps));
    return off;
  }

  template <class Group> SINTER_FN void statistics(const Group& g, long long row, T m, T r) const {
    if (g.lane != 0) return;
    if (centred) mean[row] = m;
    rstd[row] = r;
  }

  // finish writes n elements of s, which have been scaled, from place first of a
  // row on.
  template <int vec, int values, class Group>
  SINTER_FN void finish(Slice<S, vec, values>& s, const Group& g, long long row, long long first, int n) const {
    if (weight != nullptr) s.with(weight + first, n, g, [](T y, T w) { return y * w; });
    if (bias != nullptr) s.with(bias + first, n, g, [](T y, T b) { return y + b; });
    s.store(out + row * along + first, n, g);
  }

  static SINTER_FN T pad() { return T(0); }

  template <int vec, int values, class Group> SINTER_FN void keep(Group& g, Slice<S, vec, values>& s, long long row, int n) const {
    T m = 0;
    if (centred) {
      m = g.reduce(s.fold(Plus()), T(0), Plus()) / count();
#pragma unroll
      for (int i = 0; i < values; i++) {  // places past the end stay 0
        bool there = Slice<S, vec, values>::place(i / vec, g.lane, g.lanes) < n;
        s.at[i] = there ? s.at[i] - m : T(0);
      }
    }
    Moments<T> d = {T(0), T(0)};
#pragma unroll
    for (int i = 0; i < values; i++) d.add(s.at[i]);
    T r;
    const T off = correct(g, d, r);
    s.each([&](T v) { return (v - off) * r; });
    if (row < rows) statistics(g, row, m + off, r);
    finish(s, g, row, 0, n);
  }

  template <int vec, int values, class Group> SINTER_FN void stream(Group& g, long long row) const {
    const S* from = x + row * along;
    T m = 0;
    if (centred) {
      pieces<values>(g, along, [&](long long first, int n) {
        Slice<S, vec, values> s;
        s.load(from + first, n, g, T(0));
        m += s.fold(Plus());
      });
      m = g.reduce(m, T(0), Plus()) / count();
    }
    Moments<T> d = {T(0), T(0)};
    pieces<values>(g, along, [&](long long first, int n) {
      Slice<S, vec, values> s;
      s.load(from + first, n, g, m);
      Moments<T> part = {T(0), T(0)};
#pragma unroll
      for (int i = 0; i < values; i++) part.add(s.at[i] - m);
      d = d + part;
    });
    T r;
    const T off = correct(g, d, r);
    statistics(g, row, m + off, r);
    pieces<values>(g, along, [&](long long first, int n) {
      Slice<S, vec, values> s;
      s.load(from + first, n, g, T(0));
      s.each([&](T v) { return (v - m - off) * r; });
      finish(s, g, row, first, n);
    });
  }
};

}  // namespace sinter

#define SINTER_NORM(name, dtype, centred)                  \
  typedef sinter::Norm<sinter::dtype, centred> name##_##dtype; \
  SINTER_ROWS(name, dtype, name##_##dtype)

SINTER_NORM(layer_norm, float16, true)
SINTER_NORM(layer_norm, bfloat16, true)
SINTER_NORM(layer_norm, float32, true)
SINTER_NORM(layer_norm, float64, true)
SINTER_NORM(rms_norm, float16, false)
SINTER_NORM(rms_norm, bfloat16, false)
SINTER_NORM(rms_norm, float32, false)
SINTER_NORM(rms_norm, float64, false)
