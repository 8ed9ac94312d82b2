// Images surrounded by elements.
//
//   pad_bN(Pad d, void* out, const void* x, const void* value)
//       the result has elements of N bytes of up to three axes of x, moved, and outside them the
//       value, or zeros if that is null, or what d.how says: elements mirrored at the edges, those at
//       the edges, or those at the other end. Both lie without gaps, out at a multiple of 16 bytes.
//       Blocks of 256 threads, best with ceil(d.count * N / 4096) of them.

#include "space.cuh"

namespace sinter {

constexpr int pad_threads = 256;

enum { pad_constant, pad_reflect, pad_replicate, pad_circular };

// A PadAxis is one axis of count elements of x, the first of which is element before.
struct PadAxis {
  Divider size;  // of the result
  int count, before;
};

// A Pad is the geometry: planes of three axes, from the innermost out. Count, the elements of
// the result, is below 2^31.
struct Pad {
  unsigned count;
  int how;
  PadAxis axes[3];
};

// place returns the element of x that is at o along an axis; -1 where there is none.
SINTER_FN int place(const PadAxis& a, int o, int how) {
  int at = o - a.before;
  if (unsigned(at) < unsigned(a.count)) return at;
  switch (how) {
    case pad_reflect: return at < 0 ? -at : 2 * (a.count - 1) - at;
    case pad_replicate: return at < 0 ? 0 : a.count - 1;
    case pad_circular: return at < 0 ? at + a.count : at - a.count;
  }
  return -1;
}

// line returns where in x line i of the result begins; -1 where there is none.
SINTER_FN long long line(const Pad& d, unsigned i) {
  const unsigned up = quotient(i, d.axes[1].size), plane = quotient(up, d.axes[2].size);
  const int row = place(d.axes[1], int(i - up * d.axes[1].size.divisor), d.how);
  const int layer = place(d.axes[2], int(up - plane * d.axes[2].size.divisor), d.how);
  if ((row | layer) < 0) return -1;
  return (((long long)plane * d.axes[2].count + layer) * d.axes[1].count + row) * d.axes[0].count;
}

template <class S> SINTER_FN void pad(const Pad& d, S* out, const S* x, const S* value) {
  constexpr int width = 16 / sizeof(S);  // elements a thread makes
  const unsigned vectors = (d.count + width - 1) / width, step = gridDim.x * pad_threads;
  const int columns = int(d.axes[0].size.divisor);
  S outside = {};
  if (value != nullptr) outside = *value;
#pragma unroll 1
  for (unsigned v = blockIdx.x * pad_threads + threadIdx.x; v < vectors; v += step) {
    const unsigned i = v * width;
    unsigned y = quotient(i, d.axes[0].size);
    int column = int(i - y * d.axes[0].size.divisor);
    long long from = line(d, y);
    const int n = d.count - i < width ? int(d.count - i) : width;
    Vector<S, width> r;
#pragma unroll
    for (int k = 0; k < width; k++) {
      r.at[k] = outside;
      const int at = place(d.axes[0], column, d.how);
      if (k < n && at >= 0 && from >= 0) r.at[k] = x[from + at];
      if (++column == columns) {
        column = 0;
        y++;
        from = k + 1 < n ? line(d, y) : -1;
      }
    }
    if (n == width) {
      store(out + i, r);
    } else {
#pragma unroll 1
      for (int k = 0; k < n; k++) out[i + k] = r.at[k];
    }
  }
}

}  // namespace sinter

using namespace sinter;

#define SINTER_PAD(bytes)                                                                                   \
  extern "C" __global__ void __launch_bounds__(pad_threads)                                                 \
      pad_b##bytes(Pad d, void* out, const void* x, const void* value) {                                    \
    typedef Raw<bytes>::type S;                                                                             \
    pad<S>(d, static_cast<S*>(out), static_cast<const S*>(x), static_cast<const S*>(value));                \
  }
SINTER_PAD(1)
SINTER_PAD(2)
SINTER_PAD(4)
SINTER_PAD(8)
SINTER_PAD(16)
