// Loops of inclusive scans along one axis, over the functor of a reduction
// (reduce.cuh). The line
//
//   SINTER_SCAN(cumsum_float16, Sum<float>, float16, float16)
//
// names the kernels, the functor, and the storage types of the result and of
// the operand. Result i of a line is finish(the fold of elements 0 to i, i + 1);
// combine is associative, and its operands keep their order. kept has the axes
// that are not scanned, with the strides of the result and of the operand. The
// line defines
//
//   NAME_rows(Space<2> kept, Line line, Pointers<2> p, const void* carry, Functor f)
//       where consecutive elements of a line lie closest together. Blocks of
//       (32, lines), or of (threads, 1) with threads a multiple of 32, at most
//       256 in all. Grid (any, slices).
//   NAME_columns(Space<2> kept, Line line, Pointers<2> p, const void* carry, Functor f)
//       where elements of neighbouring lines do. A thread takes a line. Grid
//       (any, slices).
//
// The state of a functor that keeps_places (see there) has the place of an element, which
// is a second result; p is Pointers<3> then, and p.at[2] has the places, like the values.
//
// Both are right for every layout and grid. What lies ahead of a tile of a line, or of
// 32 elements of a column, is folded in a Carry, apart from what is inside: the error
// of a result grows with the logarithm of its place, as that of a pairwise sum.
// Lines too few to fill the device are
// cut into slices, which take three launches:
//
//   NAME_totals, NAME_column_totals, with the grid and the parameters of the scan,
//       leave the fold of each slice in carry, which has room for
//       kept.count * slices accumulators;
//   NAME_carry(long long lines, long long slices, void* carry, Functor f)
//       replaces each by the fold of the slices before it; a warp takes a line;
//   NAME_rows, NAME_columns with that carry. Without slices carry is null.

#pragma once

#include "num.cuh"
#include "space.cuh"

namespace sinter {

constexpr int scan_threads = 256;

// A Line is the scanned axis.
struct Line {
  long long extent;
  long long out_step, x_step;  // in elements
};

// A functor F with keeps_places<F> has map(x, place) for map(x), and a state with a member
// place. It picks one of the elements: nothing rounds, however the elements are grouped.
template <class F> constexpr bool keeps_places = false;

template <class F, class Out, class In> struct Scan {
  typedef typename F::Acc Acc;
  static constexpr int widest = max_size<In, Out>() > 8 || !keeps_places<F> ? max_size<In, Out>() : 8;
  static constexpr int items = widest > 8 ? 2 : widest > 4 ? 4 : 8;  // consecutive elements a thread takes
  template <class S> static constexpr int width = items * sizeof(S) > 16 ? 16 / sizeof(S) : items;

  // A Target is where the results of a line go; places is null where there are none.
  struct Target {
    Out* values;
    int64* places;

    template <int n> static SINTER_FN Target of(const Pointers<n>& p) {
      Target t = {static_cast<Out*>(p.at[0]), nullptr};
      if constexpr (keeps_places<F>) t.places = static_cast<int64*>(p.at[2]);
      return t;
    }
    SINTER_FN Target operator+(long long offset) const { return {values + offset, keeps_places<F> ? places + offset : nullptr}; }
    SINTER_FN void set(const F& f, Acc a, long long count) const {
      *values = cast<Out>(f.finish(a, count));
      if constexpr (keeps_places<F>) *places = a.place;
    }
  };

  static SINTER_FN Acc map(const F& f, In x, long long place) {
    if constexpr (keeps_places<F>) return f.map(cast<compute_t<In>>(x), place);
    else return f.map(cast<compute_t<In>>(x));
  }

  // A Carry is the fold of what lies ahead. Every 32 parts are folded with one another
  // before they join the like of them, and so on: level[k] is that of up to 31 times 32
  // to the power k parts, outer that of all levels but the lowest.
  struct Carry {
    Acc level[4], outer;
    unsigned count;

    SINTER_FN void begin(const F& f, Acc ahead) {
      level[0] = level[1] = level[2] = f.init();
      level[3] = outer = ahead;
      count = 0;
    }

    SINTER_FN Acc all(const F& f) const { return keeps_places<F> ? outer : f.combine(outer, level[0]); }

    SINTER_FN void add(const F& f, Acc part) {
      if constexpr (keeps_places<F>) {
        outer = f.combine(outer, part);
        return;
      }
      level[0] = f.combine(level[0], part);
      if (++count % 32 != 0) return;
      level[1] = f.combine(level[1], level[0]);
      level[0] = f.init();
      if (count % 1024 == 0) {
        level[2] = f.combine(level[2], level[1]);
        level[1] = f.init();
        if (count % 32768 == 0) {
          level[3] = f.combine(level[3], level[2]);
          level[2] = f.init();
        }
      }
      outer = f.combine(f.combine(level[3], level[2]), level[1]);
    }
  };

  // warp_scan replaces a by the fold of it and of the lanes' below, of which the first
  // lanes have any.
  template <int lanes = 32> static SINTER_FN Acc warp_scan(const F& f, Acc a) {
#pragma unroll
    for (int d = 1; d < lanes; d *= 2) {
      Acc below = shuffle_up(a, d);
      if (threadIdx.x % 32 >= d) a = f.combine(below, a);
    }
    return a;
  }

  // read fetches n <= items elements, the identity for the rest, mapped. The first is at
  // place first.
  static SINTER_FN void read(const F& f, const In* x, long long step, int n, long long first, Acc (&a)[items]) {
    constexpr int in_width = width<In>;
    if (step == 1 && n == items && aligned(x, sizeof(In) * in_width)) {
      Vector<In, in_width> t[items / in_width];
#pragma unroll
      for (int v = 0; v < items / in_width; v++) t[v] = load<in_width>(x + v * in_width);
#pragma unroll
      for (int i = 0; i < items; i++) a[i] = map(f, t[i / in_width].at[i % in_width], first + i);
      return;
    }
#pragma unroll
    for (int i = 0; i < items; i++) {
      a[i] = f.init();
      if (i < n) a[i] = map(f, x[i * step], first + i);
    }
  }

  // put stores n <= items elements.
  template <class S> static SINTER_FN void put(S* to, long long step, int n, const Vector<S, width<S>> (&t)[items / width<S>]) {
    if (step == 1 && n == items && aligned(to, sizeof(S) * width<S>)) {
#pragma unroll
      for (int v = 0; v < items / width<S>; v++) store(to + v * width<S>, t[v]);
      return;
    }
#pragma unroll
    for (int i = 0; i < items; i++) {
      if (i < n) to[i * step] = t[i / width<S>].at[i % width<S>];
    }
  }

  // write finishes n <= items folds, the first of which has position first.
  static SINTER_FN void write(const F& f, Target out, long long step, int n, long long first, Acc before, Acc (&a)[items]) {
    Vector<Out, width<Out>> t[items / width<Out>];
#pragma unroll
    for (int i = 0; i < items; i++) {
      a[i] = f.combine(before, a[i]);
      t[i / width<Out>].at[i % width<Out>] = cast<Out>(f.finish(a[i], first + i + 1));
    }
    put(out.values, step, n, t);
    if constexpr (keeps_places<F>) {
      Vector<int64, width<int64>> places[items / width<int64>];
#pragma unroll
      for (int i = 0; i < items; i++) places[i / width<int64>].at[i % width<int64>] = a[i].place;
      put(out.places, step, n, places);
    }
  }

  // line scans the positions [first, end), carrying on from acc, and returns the
  // fold of all. The lanes of the line call it; out has no values where only the fold
  // is wanted.
  static SINTER_FN Acc line(const F& f, const Line& l, const In* x, Target out, long long first, long long end, Acc acc) {
    __shared__ alignas(16) unsigned char memory[sizeof(Acc) * (scan_threads / 32)];
    Acc* warps = reinterpret_cast<Acc*>(memory);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = blockDim.x / 32;
    Carry carry;
    carry.begin(f, acc);
#pragma unroll 1
    for (long long base = first; base < end; base += blockDim.x * items) {
      const long long from = base + threadIdx.x * items;
      const int n = from >= end ? 0 : end - from < items ? int(end - from) : items;
      Acc a[items];
      read(f, x + from * l.x_step, l.x_step, n, from, a);
#pragma unroll
      for (int i = 1; i < items; i++) a[i] = f.combine(a[i - 1], a[i]);
      Acc through = warp_scan(f, a[items - 1]), below = shuffle_up(through, 1);
      Acc before = carry.all(f);
      if (count == 1) {
        carry.add(f, from_lane(through, 31));
      } else {
        if (lane == 31) warps[warp] = through;
        __syncthreads();
        Acc tile = f.init();
        if (lane < count) tile = warps[lane];
        tile = warp_scan<scan_threads / 32>(f, tile);
        if (warp > 0) before = f.combine(before, from_lane(tile, warp - 1));
        carry.add(f, from_lane(tile, count - 1));
        __syncthreads();
      }
      if (lane > 0) before = f.combine(before, below);
      if (out.values && n > 0) write(f, out + from * l.out_step, l.out_step, n, from, before, a);
    }
    return carry.all(f);
  }

  // from_lane returns what a lane holds.
  static SINTER_FN Acc from_lane(Acc a, int lane) {
    Words<Acc> w;
    w.words[sizeof(w.words) / 4 - 1] = 0;
    w.value = a;
#pragma unroll
    for (int i = 0; i < int(sizeof(w.words) / 4); i++) w.words[i] = __shfl_sync(0xffffffffu, w.words[i], lane);
    return w.value;
  }

  // slices calls line for every line of the block's slice. All threads of the
  // block take part in every step of the loop.
  template <bool totals, int n>
  static SINTER_FN void slices(const Space<2>& kept, const Line& l, const Pointers<n>& p, void* carry, const F& f) {
    const long long each = ((l.extent + gridDim.y - 1) / gridDim.y + items - 1) / items * items;
    const long long first = each * blockIdx.y < l.extent ? each * blockIdx.y : l.extent;
    const long long end = first + each < l.extent ? first + each : l.extent;
    const long long step = (long long)gridDim.x * blockDim.y;
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * blockDim.y + threadIdx.y; i < kept.count; i += step) {
      const Offsets<2> to = locate(kept, unsigned(i));
      const In* x = static_cast<const In*>(p.at[1]) + to.at[1];
      Acc* slot = static_cast<Acc*>(carry) + i * gridDim.y + blockIdx.y;
      if constexpr (totals) {
        Acc all = line(f, l, x, Target{}, first, end, f.init());
        if (threadIdx.x == 0) *slot = all;
      } else {
        line(f, l, x, Target::of(p) + to.at[0], first, end, carry ? *slot : f.init());
      }
    }
  }

  // carries makes totals exclusive prefixes.
  static SINTER_FN void carries(long long lines, long long count, void* carry, const F& f) {
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * warps + threadIdx.x / 32; i < lines; i += (long long)gridDim.x * warps) {
      Acc* slots = static_cast<Acc*>(carry) + i * count;
      Acc acc = f.init();
#pragma unroll 1
      for (long long base = 0; base < count; base += 32) {
        Acc a = base + lane < count ? slots[base + lane] : f.init();
        Acc through = warp_scan(f, a), below = shuffle_up(through, 1);
        if (base + lane < count) slots[base + lane] = lane > 0 ? f.combine(acc, below) : acc;
        acc = f.combine(acc, from_lane(through, 31));
      }
    }
  }

  // columns gives each line to a thread, of the block's slice.
  template <bool totals, int n>
  static SINTER_FN void columns(const Space<2>& kept, const Line& l, const Pointers<n>& p, void* carry, const F& f) {
    constexpr int unroll = 4;  // loads in flight
    const long long each = (l.extent + gridDim.y - 1) / gridDim.y;
    const long long first = each * blockIdx.y < l.extent ? each * blockIdx.y : l.extent;
    const long long end = first + each < l.extent ? first + each : l.extent;
    const long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 1
    for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < kept.count; c += step) {
      const Offsets<2> to = locate(kept, unsigned(c));
      const In* x = static_cast<const In*>(p.at[1]) + to.at[1];
      const Target out = Target::of(p) + to.at[0];
      Acc* slot = static_cast<Acc*>(carry) + c * gridDim.y + blockIdx.y;
      Carry ahead;
      ahead.begin(f, !totals && carry ? *slot : f.init());
      Acc acc = f.init(), before = ahead.all(f);  // of the 32 elements under way, and of what lies ahead of them
#pragma unroll 1
      for (long long i = first; i < end; i += unroll) {
        In t[unroll];
#pragma unroll
        for (int u = 0; u < unroll; u++) t[u] = x[(i + u < end ? i + u : i) * l.x_step];
#pragma unroll
        for (int u = 0; u < unroll; u++) {
          if (i + u >= end) break;
          acc = f.combine(acc, map(f, t[u], i + u));
          if constexpr (!totals) (out + (i + u) * l.out_step).set(f, f.combine(before, acc), i + u + 1);
        }
        if ((i + unroll - first) % 32 == 0) {
          ahead.add(f, acc);
          acc = f.init();
          before = ahead.all(f);
        }
      }
      if constexpr (totals) *slot = f.combine(before, acc);
    }
  }
};

}  // namespace sinter

#define SINTER_SCAN(name, functor, out, in) SINTER_SCAN_OF(name, functor, out, in, 2)

// SINTER_SCAN_OF has the number of pointers, too.
#define SINTER_SCAN_OF(name, functor, out, in, pointers)                                                                \
  extern "C" __global__ void __launch_bounds__(sinter::scan_threads) name##_rows(                                      \
      sinter::Space<2> kept, sinter::Line line, sinter::Pointers<pointers> p, const void* carry, functor f) {          \
    sinter::Scan<functor, out, in>::template slices<false>(kept, line, p, const_cast<void*>(carry), f);                \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::scan_threads) name##_totals(                                    \
      sinter::Space<2> kept, sinter::Line line, sinter::Pointers<pointers> p, void* carry, functor f) {                \
    sinter::Scan<functor, out, in>::template slices<true>(kept, line, p, carry, f);                                    \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::scan_threads) name##_carry(long long lines, long long slices,   \
                                                                                  void* carry, functor f) {            \
    sinter::Scan<functor, out, in>::carries(lines, slices, carry, f);                                                  \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::scan_threads) name##_columns(                                   \
      sinter::Space<2> kept, sinter::Line line, sinter::Pointers<pointers> p, const void* carry, functor f) {          \
    sinter::Scan<functor, out, in>::template columns<false>(kept, line, p, const_cast<void*>(carry), f);               \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(sinter::scan_threads) name##_column_totals(                             \
      sinter::Space<2> kept, sinter::Line line, sinter::Pointers<pointers> p, void* carry, functor f) {                \
    sinter::Scan<functor, out, in>::template columns<true>(kept, line, p, carry, f);                                   \
  }
