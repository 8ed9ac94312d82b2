// Sampling at places that a grid names, and its gradients. A thread takes one
// point for all channels. Operands are contiguous: x and its gradient
// [images, channels, in...], the result and its gradient
// [images, channels, points], grid and its gradient [images, points, axes].
//
//   grid_sample_DTYPE(Sampling s, DTYPE* out, const DTYPE* x, const DTYPE* grid)
//   grid_sample_plane_DTYPE(Sampling s, DTYPE* out, const DTYPE* x, const DTYPE* grid)
//       grid_sample with two spatial axes, bilinear, not differentiated. Of a grid's
//       second extent, each takes plane_channels channels.
//   grid_sample_grad_input_DTYPE(Sampling s, ACC* out, const DTYPE* g, const DTYPE* grid)
//       adds to out, which is zeros, in any order
//   grid_sample_grad_grid_DTYPE(Sampling s, DTYPE* out, const DTYPE* g, const DTYPE* x, const DTYPE* grid)
//
// Blocks of 256 threads, which go on with what is left.

#include "real.cuh"

namespace sinter {

enum { bilinear, nearest, bicubic };
enum { zeros, border, reflection };

// Coordinate 0 is along x's last axis; where there are two, the third has extent 1.
struct Sampling {
  long long images, channels, points, in_size;
  int in[3];
  int order[3];  // derivatives by each coordinate
  int axes, mode, outside, corners;
};

constexpr int most_taps = 4;

// The elements along one coordinate that a sample is made of: where they lie, -1
// outside, their weights, and the derivatives of these by the coordinate.
template <class T> struct Taps {
  int n;
  long long at[most_taps];
  T weight[most_taps], slope[most_taps];
};

// A place so many elements from the first one is none any more: it lies outside with
// zeros and at the border with that, and is the first element with reflection.
constexpr int far_away = 1 << 30;

template <class T> SINTER_FN bool is_near(T at) { return at > T(-far_away) && at < T(far_away); }

template <class T> SINTER_LONG_FN T reflected(T at, int low, int high, T& slope) {
  if (low == high) {
    slope = 0;
    return 0;
  }
  const T from = T(low) / T(2), span = T(high - low) / T(2);
  slope = 1;
  at -= from;
  if (at < T(0)) {
    at = -at;
    slope = -1;
  }
  const T rest = ::fmod(at, span);
  if (::fmod(::floor(at / span), T(2)) == T(0)) return rest + from;
  slope = -slope;
  return span - rest + from;
}

// settled returns the place that stands for at, and the derivative of the one by
// the other.
template <class T> SINTER_FN T settled(const Sampling& s, T at, int size, T& slope) {
  slope = 1;
  if (s.outside == zeros) return at;
  if (s.outside == reflection && !is_near(at)) {
    slope = 0;
    return 0;
  }
  if (s.outside == reflection) at = s.corners ? reflected(at, 0, 2 * (size - 1), slope) : reflected(at, -1, 2 * size - 1, slope);
  const T last = T(size - 1);
  if (!(at > T(0))) {
    slope = 0;
    return 0;
  }
  if (at >= last) {
    slope = 0;
    return last;
  }
  return at;
}

// cubic is a derivative of the cubic convolution kernel with a = -0.75.
template <class T> SINTER_LONG_FN T cubic(T x, int order) {
  const T a = T(-0.75);
  const bool near = x <= T(1);
  switch (order) {
    case 0: return near ? ((a + T(2)) * x - (a + T(3))) * x * x + T(1) : ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
    case 1: return near ? (T(3) * (a + T(2)) * x - T(2) * (a + T(3))) * x : (T(3) * a * x - T(10) * a) * x + T(8) * a;
    case 2: return near ? T(6) * (a + T(2)) * x - T(2) * (a + T(3)) : T(6) * a * x - T(10) * a;
    case 3: return near ? T(6) * (a + T(2)) : T(6) * a;
  }
  return 0;
}

// weight_of is a derivative of tap k's weight by the fraction that the sample lies
// beyond the first tap.
template <class T> SINTER_LONG_FN T weight_of(int mode, int k, T fraction, int order) {
  if (mode == nearest) return order == 0 ? T(1) : T(0);
  if (mode == bilinear) {
    if (order == 0) return k == 0 ? T(1) - fraction : fraction;
    return order == 1 ? T(2 * k - 1) : T(0);
  }
  const T distance = fraction - T(k);
  const T w = cubic(distance < T(0) ? -distance : distance, order);
  return order % 2 == 1 && distance < T(0) ? -w : w;
}

// position returns where along an axis a coordinate lies, in elements, and the
// derivative of the one by the other. Cubic samples settle their elements instead, but
// far away. It is NaN where the coordinate is not finite and nothing says what element
// stands for it.
template <class T> SINTER_FN T position(const Sampling& s, T coordinate, int size, T& slope) {
  T at;
  if (s.corners) {
    slope = T(size - 1) / T(2);
    at = (coordinate + T(1)) / T(2) * T(size - 1);
  } else {
    slope = T(size) / T(2);
    at = ((coordinate + T(1)) * T(size) - T(1)) / T(2);
  }
  if (s.mode != bicubic) {
    T turn;
    at = settled(s, at, size, turn);
    slope *= turn;
  }
  if (is_near(at)) return at;
  if (s.mode != nearest && !(coordinate - coordinate == T(0))) return coordinate - coordinate;
  if (s.outside == zeros) return T(-100);
  T unused;
  at = settled(s, at, size, unused);
  slope = 0;
  return at;
}

// It is one function for all coordinates, as the loops below are not unrolled: the
// code would be long, and what a point costs is its reads. It reports whether there are
// taps: there are none of a position that is NaN.
template <class T> SINTER_LONG_FN bool place(const Sampling& s, int i, T coordinate, long long step, Taps<T>& t) {
  const int size = s.in[i];
  T slope;
  const T at = position(s, coordinate, size, slope);
  if (!is_near(at)) return false;
  int first;
  if (s.mode == nearest) {
    first = int(::rint(at));
    t.n = 1;
  } else {
    first = int(::floor(at)) - (s.mode == bicubic ? 1 : 0);
    t.n = s.mode == bicubic ? 4 : 2;
  }
  T factor = 1;
#pragma unroll 1
  for (int k = 0; k < s.order[i]; k++) factor *= slope;
  const T fraction = at - T(first);
#pragma unroll 1
  for (int k = 0; k < t.n; k++) {
    int p = first + k;
    if (s.mode == bicubic && s.outside != zeros) {
      T unused;
      p = int(settled(s, T(p), size, unused));
    }
    t.at[k] = p < 0 || p >= size ? -1 : p * step;
    t.weight[k] = factor * weight_of(s.mode, k, fraction, s.order[i]);
    t.slope[k] = factor * slope * weight_of(s.mode, k, fraction, s.order[i] + 1);
  }
  return true;
}

// Neighbours are the elements of x that a point is made of: one of the weight NaN where
// it is nowhere.
template <class S> struct Neighbours {
  typedef compute_t<S> T;
  Taps<T> t[3];
  bool nowhere;

  SINTER_FN Neighbours(const Sampling& s, const S* grid) : nowhere(false) {
    long long step = 1;
#pragma unroll 1
    for (int i = 0; i < 3; i++) {
      if (i < s.axes) {
        nowhere = !place(s, i, cast<T>(grid[i]), step, t[i]) || nowhere;
        step *= s.in[i];
      } else {
        t[i].n = 1;
        t[i].at[0] = 0;
        t[i].weight[0] = 1;
        t[i].slope[0] = 0;
      }
    }
    if (!nowhere) return;
    const T none = quiet_nan<T>();
#pragma unroll 1
    for (int i = 0; i < 3; i++) {
      t[i].n = 1;
      t[i].at[0] = 0;
      t[i].weight[0] = none;
      t[i].slope[0] = none;
    }
  }

  // each calls f(offset, weight, slopes by each coordinate).
  template <class F> SINTER_FN void each(F f) const {
#pragma unroll 1
    for (int z = 0; z < t[2].n; z++) {
#pragma unroll 1
      for (int y = 0; y < t[1].n; y++) {
#pragma unroll 1
        for (int x = 0; x < t[0].n; x++) {
          if (t[0].at[x] < 0 || t[1].at[y] < 0 || t[2].at[z] < 0) continue;
          const T wx = t[0].weight[x], wy = t[1].weight[y], wz = t[2].weight[z];
          const T slopes[3] = {t[0].slope[x] * wy * wz, wx * t[1].slope[y] * wz, wx * wy * t[2].slope[z]};
          f(t[0].at[x] + t[1].at[y] + t[2].at[z], wx * wy * wz, slopes);
        }
      }
    }
  }
};

// each_point calls f with the number of a point of all images.
template <class F> SINTER_FN void each_point(const Sampling& s, F f) {
  const long long step = (long long)(gridDim.x) * blockDim.x;
  for (long long i = (long long)(blockIdx.x) * blockDim.x + threadIdx.x; i < s.images * s.points; i += step) f(i);
}

template <class S> SINTER_FN void sample(const Sampling& s, S* out, const S* x, const S* grid) {
  typedef compute_t<S> T;
  each_point(s, [&](long long i) {
    const long long n = i / s.points, first = n * s.channels;
    S* to = out + first * s.points + (i - n * s.points);
    const S* from = x + first * s.in_size;
    const Neighbours<S> near(s, grid + i * s.axes);
    for (long long ch = 0; ch < s.channels; ch += 4) {
      T sum[4] = {0, 0, 0, 0};
      near.each([&](long long at, T weight, const T(&)[3]) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
          if (ch + k < s.channels) sum[k] += cast<T>(from[(ch + k) * s.in_size + at]) * weight;
        }
      });
#pragma unroll
      for (int k = 0; k < 4; k++) {
        if (ch + k < s.channels) to[(ch + k) * s.points] = cast<S>(sum[k]);
      }
    }
  });
}

constexpr int plane_channels = 16;

// sample_plane takes the elements in the order that sample does.
template <class S> SINTER_FN void sample_plane(const Sampling& s, S* out, const S* x, const S* grid) {
  typedef compute_t<S> T;
  const long long start = (long long)blockIdx.y * plane_channels;
  each_point(s, [&](long long i) {
    const long long n = i / s.points;
    T unused;
    const T across = position(s, cast<T>(grid[2 * i]), s.in[0], unused);
    const T down = position(s, cast<T>(grid[2 * i + 1]), s.in[1], unused);
    const bool nowhere = !is_near(across) || !is_near(down);
    const int left = nowhere ? 0 : int(::floor(across)), top = nowhere ? 0 : int(::floor(down));
    const T right_part = across - T(left), low_part = down - T(top);
    bool there[4];
    T weight[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int column = left + k % 2, row = top + k / 2;
      there[k] = column >= 0 && column < s.in[0] && row >= 0 && row < s.in[1];
      there[k] = there[k] || nowhere && k == 0;
      weight[k] = (k % 2 == 0 ? T(1) - right_part : right_part) * (k / 2 == 0 ? T(1) - low_part : low_part);
    }
    const S* from = x + (n * s.channels + start) * s.in_size + ((long long)top * s.in[0] + left);
    S* to = out + (n * s.channels + start) * s.points + (i - n * s.points);
    const int channels = s.channels - start < plane_channels ? int(s.channels - start) : plane_channels;
#pragma unroll 4
    for (int ch = 0; ch < channels; ch++) {
      T sum = 0;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        if (there[k]) sum += cast<T>(from[k % 2 + k / 2 * s.in[0]]) * weight[k];
      }
      *to = cast<S>(sum);
      from += s.in_size;
      to += s.points;
    }
  });
}

template <class S> SINTER_FN void sample_grad_input(const Sampling& s, compute_t<S>* out, const S* g, const S* grid) {
  typedef compute_t<S> T;
  each_point(s, [&](long long i) {
    const long long n = i / s.points, first = n * s.channels;
    const S* from = g + first * s.points + (i - n * s.points);
    T* to = out + first * s.in_size;
    const Neighbours<S> near(s, grid + i * s.axes);
    if (near.nowhere) return;
    near.each([&](long long at, T weight, const T(&)[3]) {
      for (long long ch = 0; ch < s.channels; ch++) atomicAdd(to + ch * s.in_size + at, cast<T>(from[ch * s.points]) * weight);
    });
  });
}

template <class S> SINTER_FN void sample_grad_grid(const Sampling& s, S* out, const S* g, const S* x, const S* grid) {
  typedef compute_t<S> T;
  each_point(s, [&](long long i) {
    const long long n = i / s.points, first = n * s.channels;
    const S* from = g + first * s.points + (i - n * s.points);
    const S* data = x + first * s.in_size;
    T sums[3] = {0, 0, 0};
    Neighbours<S>(s, grid + i * s.axes).each([&](long long at, T, const T(&slopes)[3]) {
      T dot = 0;
      for (long long ch = 0; ch < s.channels; ch++) dot += cast<T>(from[ch * s.points]) * cast<T>(data[ch * s.in_size + at]);
#pragma unroll
      for (int a = 0; a < 3; a++) sums[a] += dot * slopes[a];
    });
    for (int a = 0; a < s.axes; a++) out[i * s.axes + a] = cast<S>(sums[a]);
  });
}

}  // namespace sinter

#define SINTER_SAMPLE(dtype)                                                                                               \
  extern "C" __global__ void __launch_bounds__(256) grid_sample_##dtype(sinter::Sampling s, sinter::dtype* out,             \
                                                                        const sinter::dtype* x, const sinter::dtype* grid) { \
    sinter::sample(s, out, x, grid);                                                                                       \
  }                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256) grid_sample_plane_##dtype(                                             \
      sinter::Sampling s, sinter::dtype* out, const sinter::dtype* x, const sinter::dtype* grid) {                         \
    sinter::sample_plane(s, out, x, grid);                                                                                 \
  }                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                                        \
      grid_sample_grad_input_##dtype(sinter::Sampling s, sinter::compute_t<sinter::dtype>* out, const sinter::dtype* g,     \
                                     const sinter::dtype* grid) {                                                          \
    sinter::sample_grad_input(s, out, g, grid);                                                                            \
  }                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                                        \
      grid_sample_grad_grid_##dtype(sinter::Sampling s, sinter::dtype* out, const sinter::dtype* g, const sinter::dtype* x, \
                                    const sinter::dtype* grid) {                                                           \
    sinter::sample_grad_grid(s, out, g, x, grid);                                                                          \
  }

SINTER_SAMPLE(float16)
SINTER_SAMPLE(bfloat16)
SINTER_SAMPLE(float32)
SINTER_SAMPLE(float64)
