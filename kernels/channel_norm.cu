// channel_norm_affine and its gradient: each channel of contiguous images [images,
// channels, size] is brought to mean 0 and variance 1, then multiplied by its weight and
// added to its bias.
//
// Channels are cut into parts of the same number of units, a vector or an element each:
// one launch has a block for each part find sums, a second one has the same blocks put
// those of a channel together, in one order, and write. Grids are of channels * parts
// blocks of 256 threads.
//
//   channel_moments_DTYPE, channel_norm_DTYPE    (ChannelNorm<DTYPE> f)
//   channel_sums_DTYPE, channel_grad_DTYPE       (ChannelGrad<DTYPE> f)
//
// and the same with the suffix _vector, where everything begins at multiples of 16 bytes
// and so does each image of a channel.

#include "channel.cuh"

namespace sinter {

// Channels says how channels lie in memory and are cut. Numbers are of units.
struct Channels {
  long long units;   // of a channel
  long long size;    // of a channel in an image
  long long stride;  // from an image to the next
  long long each;    // of a part
  long long parts;
};

// A Walk is a thread's way through its block's part of a channel.
struct Walk {
  long long at, end;         // of the channel's units, all images after another
  long long image, place;    // at is place of image
  long long images, places;  // from a unit of the thread to its next one
  const Channels& c;

  SINTER_FN Walk(const Channels& c, int part) : c(c) {
    at = part * c.each + threadIdx.x;
    end = (part + 1) * c.each < c.units ? (part + 1) * c.each : c.units;
    image = at / c.size;
    place = at - image * c.size;
    images = channel_threads / c.size;
    places = channel_threads - images * c.size;
  }

  // here returns where the unit is, counted from the channel's first one.
  SINTER_FN long long here() const { return image * c.stride + place; }

  SINTER_FN void next() {
    at += channel_threads;
    image += images;
    place += places;
    if (place >= c.size) place -= c.size, image++;
  }

  // left reports whether there are n units from here on.
  SINTER_FN bool left(int n) const { return at + (n - 1) * channel_threads < end; }
};

struct Together {
  template <class T> SINTER_FN Moments<T> operator()(const Moments<T>& a, const Moments<T>& b) const {
    const T n = a.n + b.n;
    if (n == T(0)) return a;
    const T part = b.n / n, d = b.mean - a.mean;
    return {n, fma(d, part, a.mean), fma(d * (a.n * part), d, a.squares + b.squares), a.sum + b.sum};
  }
};

// first returns what thread 0 has of a.
template <class A> SINTER_FN A first(const A& a) {
  __shared__ A one;
  if (threadIdx.x == 0) one = a;
  __syncthreads();
  return one;
}

// all returns f of the parts of the block's channel.
template <class A, class F> SINTER_FN A all(const A* parts, const Channels& c, A identity, F f) {
  BlockGroup g = {int(threadIdx.x), channel_threads, 0};
  const int own = threadIdx.x;
  return first(g.reduce(own < c.parts ? parts[blockIdx.x / int(c.parts) * c.parts + own] : identity, identity, f));
}

template <class S> struct ChannelNorm {
  typedef compute_t<S> T;
  Channels c;
  S* out;
  const S* x;
  const S* weight;  // an element a channel, as all that follow
  const S* bias;
  S* average;
  S* variance;
  double* wide_average;  // the same, unrounded
  double* wide_variance;
  Moments<T>* moments;  // an element a part
  double eps;

  template <int vec> SINTER_FN void measure() const {
    constexpr int together = 4;
    const int parts = c.parts, channel = blockIdx.x / parts, part = blockIdx.x % parts;
    const S* from = x + channel * c.size * vec;
    const Moments<T> none = {T(0), T(0), T(0), T(0)};
    Moments<T> m = none;
    Walk w(c, part);
    while (w.left(together)) {
      Vector<S, vec> raw[together];
#pragma unroll
      for (int k = 0; k < together; k++, w.next()) raw[k] = load<vec>(from + w.here() * vec);
      T v[together * vec];
#pragma unroll
      for (int i = 0; i < together * vec; i++) v[i] = cast<T>(raw[i / vec].at[i % vec]);
      m = Together()(m, Moments<T>::of(v));
    }
    for (; w.left(1); w.next()) {
      Vector<S, vec> raw = load<vec>(from + w.here() * vec);
      T v[vec];
#pragma unroll
      for (int i = 0; i < vec; i++) v[i] = cast<T>(raw.at[i]);
      m = Together()(m, Moments<T>::of(v));
    }
    BlockGroup g = {int(threadIdx.x), channel_threads, 0};
    m = g.reduce(m, none, Together());
    if (threadIdx.x == 0) moments[blockIdx.x] = m;
  }

  template <int vec> SINTER_FN void write() const {
    const int parts = c.parts, channel = blockIdx.x / parts, part = blockIdx.x % parts;
    const Moments<T> m = all(moments, c, Moments<T>{T(0), T(0), T(0), T(0)}, Together());
    const T mean = m.mean == m.mean && m.n > T(0) ? m.mean : m.sum / m.n;
    const T spread = m.squares / m.n;
    if (threadIdx.x == 0 && part == 0) {
      average[channel] = cast<S>(mean);
      variance[channel] = cast<S>(spread);
      wide_average[channel] = mean;
      wide_variance[channel] = spread;
    }
    const T factor = cast<T>(weight[channel]) / sqrt(spread + T(eps)), shift = cast<T>(bias[channel]);
    const S* from = x + channel * c.size * vec;
    S* to = out + channel * c.size * vec;
#pragma unroll 4
    for (Walk w(c, part); w.left(1); w.next()) {
      const long long at = w.here() * vec;
      Vector<S, vec> v = load<vec>(from + at);
#pragma unroll
      for (int i = 0; i < vec; i++) v.at[i] = cast<S>(fma(cast<T>(v.at[i]) - mean, factor, shift));
      store<vec>(to + at, v);
    }
  }
};

template <class S> struct ChannelGrad {
  typedef compute_t<S> T;
  Channels c;
  S* dx;
  const S* g;
  const S* x;
  const S* weight;  // an element a channel, as all that follow
  const double* average;
  const double* variance;
  S* dweight;
  S* dbias;
  Sums<T>* sums;  // an element a part
  double eps;

  template <int vec> SINTER_FN void measure() const {
    constexpr int together = 4;
    const int parts = c.parts, channel = blockIdx.x / parts, part = blockIdx.x % parts;
    const long long base = channel * c.size * vec;
    const T mean = T(average[channel]);
    Sums<T> s[together] = {};
    auto add = [&](Sums<T>& to, const Vector<S, vec>& dy, const Vector<S, vec>& v) {
#pragma unroll
      for (int i = 0; i < vec; i++) {
        const T d = cast<T>(dy.at[i]);
        to.plain += d;
        to.product = fma(d, cast<T>(v.at[i]) - mean, to.product);
      }
    };
    Walk w(c, part);
    while (w.left(together)) {
      Vector<S, vec> dy[together], v[together];
#pragma unroll
      for (int k = 0; k < together; k++, w.next()) {
        const long long at = base + w.here() * vec;
        dy[k] = load<vec>(g + at);
        v[k] = load<vec>(x + at);
      }
#pragma unroll
      for (int k = 0; k < together; k++) add(s[k], dy[k], v[k]);
    }
    for (; w.left(1); w.next()) {
      const long long at = base + w.here() * vec;
      add(s[0], load<vec>(g + at), load<vec>(x + at));
    }
    BlockGroup group = {int(threadIdx.x), channel_threads, 0};
    const Sums<T> sum = group.reduce((s[0] + s[1]) + (s[2] + s[3]), Sums<T>{T(0), T(0)}, Plus());
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }

  template <int vec> SINTER_FN void write() const {
    const int parts = c.parts, channel = blockIdx.x / parts, part = blockIdx.x % parts;
    const long long base = channel * c.size * vec;
    const Sums<T> sum = all(sums, c, Sums<T>{T(0), T(0)}, Plus());
    const T mean = T(average[channel]), rstd = T(1) / sqrt(T(variance[channel]) + T(eps));
    if (threadIdx.x == 0 && part == 0) {
      dweight[channel] = cast<S>(sum.product * rstd);
      dbias[channel] = cast<S>(sum.plain);
    }
    const T n = T(c.units) * vec, factor = cast<T>(weight[channel]) * rstd;
    const T plain = sum.plain / n, slope = sum.product / n * rstd * rstd;
#pragma unroll 4
    for (Walk w(c, part); w.left(1); w.next()) {
      const long long at = base + w.here() * vec;
      Vector<S, vec> dy = load<vec>(g + at), v = load<vec>(x + at);
#pragma unroll
      for (int i = 0; i < vec; i++) {
        const T d = fma(mean - cast<T>(v.at[i]), slope, cast<T>(dy.at[i]) - plain);
        dy.at[i] = cast<S>(d * factor);
      }
      store<vec>(dx + at, dy);
    }
  }
};

template <int vec, class Op> SINTER_FN void channel_measure(const Op& f) { f.template measure<vec>(); }
template <int vec, class Op> SINTER_FN void channel_write(const Op& f) { f.template write<vec>(); }

}  // namespace sinter

#define SINTER_CHANNELS_BY(dtype, suffix, vec, Norm, Grad)                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) channel_moments_##dtype##suffix(Norm f) { sinter::channel_measure<vec>(f); } \
  extern "C" __global__ void __launch_bounds__(256) channel_norm_##dtype##suffix(Norm f) { sinter::channel_write<vec>(f); }      \
  extern "C" __global__ void __launch_bounds__(256) channel_sums_##dtype##suffix(Grad f) { sinter::channel_measure<vec>(f); }    \
  extern "C" __global__ void __launch_bounds__(256) channel_grad_##dtype##suffix(Grad f) { sinter::channel_write<vec>(f); }

#define SINTER_CHANNELS(dtype)                                             \
  typedef sinter::ChannelNorm<sinter::dtype> norm_##dtype;                 \
  typedef sinter::ChannelGrad<sinter::dtype> grad_##dtype;                 \
  SINTER_CHANNELS_BY(dtype, , 1, norm_##dtype, grad_##dtype)               \
  SINTER_CHANNELS_BY(dtype, _vector, (16 / sizeof(sinter::dtype)), norm_##dtype, grad_##dtype)

SINTER_CHANNELS(float16)
SINTER_CHANNELS(bfloat16)
SINTER_CHANNELS(float32)
SINTER_CHANNELS(float64)
