// channel_norm_affine and its gradient, as in channel_norm.cu, for images of 16 bits whose channels
// are last in memory.
//
// They are rows of channels, one for each place of each image; everything begins at multiples of 16
// bytes, and so does each row. They are cut into parts of the same number of rows, and these into
// slices of channels: blocks are of 256 threads, x is of slices and y of parts. What parts give is
// put together in one order by a launch of its own, of blocks of 8 channels.
//
//   last_moments_DTYPE, last_norm_end_DTYPE, last_norm_DTYPE    (NormLast<DTYPE> f)
//   last_sums_DTYPE, last_grad_end_DTYPE, last_grad_DTYPE       (GradLast<DTYPE> f)

#include "channel.cuh"

namespace sinter {

// Last says how rows of channels are cut.
struct Last {
  long long rows, channels;
  long long each;  // rows of a part
  long long parts;
  int lanes;  // threads a row of a slice, a power of two up to 32, each of a vector of channels
};

// Every multiprocessor has that many blocks at once.
constexpr int last_blocks = 4;

// Rows is how many rows are read at once.
template <int n> struct Rows {
  static constexpr int count = n;
};

// A Column is a thread's way along its vector of channels in its block's part: down, and back up
// when it reads again, as what was read last may still be in the cache.
template <int vec> struct Column {
  const long long first;  // of the channels
  const bool there;
  const int lines;  // rows that a block has at once
  long long step;   // from a row of the thread to its next one, in elements
  long long at;     // where the thread is, in elements
  int left;         // rows from there on

  SINTER_FN Column(const Last& c, bool up = false)
      : first((long long)(blockIdx.x * c.lanes + threadIdx.x % c.lanes) * vec), there(first < c.channels), lines(channel_threads / c.lanes), step(lines * c.channels) {
    const long long begin = blockIdx.y * c.each, line = threadIdx.x / c.lanes;
    const long long rows = c.rows - begin < c.each ? c.rows - begin : c.each;
    at = (begin + line) * c.channels + first;
    left = there && line < rows ? int((rows - line + lines - 1) / lines) : 0;
    if (!up) return;
    at += (left - 1) * step;
    step = -step;
  }

  // here returns where the k-th row from here on has the thread's channels.
  SINTER_FN long long here(int k) const { return at + k * step; }

  SINTER_FN void next(int n) {
    at += n * step;
    left -= n;
  }

  // each calls f for n rows at once, and then for those that are left one by one. Its argument tells how many.
  template <int n, class F> SINTER_FN void each(const F& f) {
    for (; left >= n; next(n)) f(Rows<n>());
    for (; left > 0; next(1)) f(Rows<1>());
  }
};

// columns adds up what threads of a block have of the same channels, which every lanes-th has.
// The first lanes threads have all then.
template <class A, int n> SINTER_FN void columns(A (&a)[n], int lanes) {
  __shared__ A other[n][channel_threads / 2];
  const int own = threadIdx.x;
#pragma unroll 1
  for (int half = channel_threads / 2; half >= lanes; half /= 2) {
    if (own >= half && own < 2 * half) {
#pragma unroll
      for (int i = 0; i < n; i++) other[i][own - half] = a[i];
    }
    __syncthreads();
    if (own < half) {
#pragma unroll
      for (int i = 0; i < n; i++) a[i] = a[i] + other[i][own];
    }
    __syncthreads();
  }
}

constexpr int end_channels = 8;  // of a block that puts parts together

// An End is a thread's way through the parts of one of its block's channels.
struct End {
  const long long channel;
  const bool there;

  SINTER_FN End(const Last& c) : channel((long long)(blockIdx.x) * end_channels + threadIdx.x % end_channels), there(channel < c.channels) {}

  // each calls f with what the thread's parts have.
  template <class A, class F> SINTER_FN void each(const A* parts, const Last& c, F f) const {
    if (!there) return;
#pragma unroll 4
    for (long long p = threadIdx.x / end_channels; p < c.parts; p += channel_threads / end_channels) f(parts[p * c.channels + channel]);
  }

  // first reports whether the thread is the one that writes what its channel has.
  SINTER_FN bool first() const { return there && threadIdx.x < end_channels; }
};

// Few are the moments of a thread's channels, all of the same number of rows.
template <class T, int vec> struct Few {
  T n, mean[vec], squares[vec], sum[vec];

  // add puts others of m numbers to them.
  template <class F> SINTER_FN void add(T m, F of) {
    const T all = n + m, part = m / all, before = n * part;
#pragma unroll
    for (int i = 0; i < vec; i++) {
      const Moments<T> other = of(i);
      const T d = other.mean - mean[i];
      mean[i] = fma(d, part, mean[i]);
      squares[i] = fma(d * before, d, squares[i] + other.squares);
      sum[i] += other.sum;
    }
    n = all;
  }

  // columns puts together what threads of a block have of the same channels, as columns does.
  SINTER_FN void columns(int lanes) {
    __shared__ T other[1 + 3 * vec][channel_threads / 2];
    const int own = threadIdx.x;
#pragma unroll 1
    for (int half = channel_threads / 2; half >= lanes; half /= 2) {
      if (own >= half && own < 2 * half) {
        other[0][own - half] = n;
#pragma unroll
        for (int i = 0; i < vec; i++) {
          other[1 + i][own - half] = mean[i];
          other[1 + vec + i][own - half] = squares[i];
          other[1 + 2 * vec + i][own - half] = sum[i];
        }
      }
      __syncthreads();
      if (own < half && other[0][own] > T(0)) {
        add(other[0][own], [&](int i) { return Moments<T>{T(0), other[1 + i][own], other[1 + vec + i][own], other[1 + 2 * vec + i][own]}; });
      }
      __syncthreads();
    }
  }
};

template <class S> struct NormLast {
  typedef compute_t<S> T;
  static constexpr int vec = 16 / sizeof(S), together = 4;  // rows at once
  struct By {
    T mean, factor, shift;
  };
  Last c;
  S* out;
  const S* x;
  const S* weight;  // an element a channel, as all that follow
  const S* bias;
  S* average;
  S* variance;
  double* wide_average;  // the same, unrounded
  double* wide_variance;
  Moments<T>* moments;  // [parts, channels]
  By* by;
  double eps;

  SINTER_FN void measure() const {
    Column<vec> w(c);
    Few<T, vec> m = {};
    for (; w.left >= together; w.next(together)) {
      Vector<S, vec> raw[together];
#pragma unroll
      for (int k = 0; k < together; k++) raw[k] = load<vec>(x + w.here(k));
      m.add(T(together), [&](int i) {
        T v[together];
#pragma unroll
        for (int k = 0; k < together; k++) v[k] = cast<T>(raw[k].at[i]);
        return Moments<T>::of(v);
      });
    }
    for (; w.left > 0; w.next(1)) {
      const Vector<S, vec> raw = load<vec>(x + w.here(0));
      m.add(T(1), [&](int i) {
        const T v = cast<T>(raw.at[i]);
        return Moments<T>{T(1), v, T(0), v};
      });
    }
    m.columns(c.lanes);
    if (threadIdx.x >= c.lanes || !w.there) return;
#pragma unroll
    for (int i = 0; i < vec; i++) moments[blockIdx.y * c.channels + w.first + i] = {m.n, m.mean[i], m.squares[i], m.sum[i]};
  }

  // end adds up in float64: the mean of all from those of parts, then their squared distances
  // from it.
  SINTER_FN void end() const {
    __shared__ double means[end_channels];
    const End w(c);
    double s[3] = {};  // elements, means times elements, and the sum, which serves where means came from infinities
    w.each(moments, c, [&](const Moments<T>& m) {
      s[0] += double(m.n);
      s[1] = fma(double(m.n), double(m.mean), s[1]);
      s[2] += double(m.sum);
    });
    columns(s, end_channels);
    const double product = s[1] / s[0], mean = product == product ? product : s[2] / s[0];
    if (threadIdx.x < end_channels) means[threadIdx.x] = mean;
    __syncthreads();
    const double middle = means[threadIdx.x % end_channels];
    double squares[1] = {};
    w.each(moments, c, [&](const Moments<T>& m) {
      const double d = double(m.mean) - middle;
      squares[0] += fma(double(m.n), d * d, double(m.squares));
    });
    columns(squares, end_channels);
    if (!w.first()) return;
    const T rounded = T(mean), spread = T(squares[0] / s[0]);
    average[w.channel] = cast<S>(rounded);
    variance[w.channel] = cast<S>(spread);
    wide_average[w.channel] = rounded;
    wide_variance[w.channel] = spread;
    by[w.channel] = {rounded, cast<T>(weight[w.channel]) / sqrt(spread + T(eps)), cast<T>(bias[w.channel])};
  }

  SINTER_FN void write() const {
    Column<vec> w(c, true);
    if (!w.there) return;
    By k[vec];
#pragma unroll
    for (int i = 0; i < vec; i++) k[i] = by[w.first + i];
    const auto one = [&](Vector<S, vec>& v) {
#pragma unroll
      for (int i = 0; i < vec; i++) v.at[i] = cast<S>(fma(cast<T>(v.at[i]) - k[i].mean, k[i].factor, k[i].shift));
    };
    w.template each<together>([&](auto rows) {
      constexpr int n = decltype(rows)::count;
      Vector<S, vec> v[n];
#pragma unroll
      for (int j = 0; j < n; j++) v[j] = load<vec>(x + w.here(j));
#pragma unroll
      for (int j = 0; j < n; j++) {
        one(v[j]);
        store<vec>(out + w.here(j), v[j]);
      }
    });
  }
};

template <class S> struct GradLast {
  typedef compute_t<S> T;
  static constexpr int vec = 16 / sizeof(S), together = 4, written = 2;  // rows at once
  struct By {
    T mean, plain, slope, factor;
  };
  Last c;
  S* dx;
  const S* g;
  const S* x;
  const S* weight;  // an element a channel, as all that follow
  const double* average;
  const double* variance;
  S* dweight;
  S* dbias;
  Sums<T>* sums;  // [parts, channels]
  By* by;
  double eps;

  SINTER_FN void measure() const {
    Column<vec> w(c);
    T mean[vec] = {};
    if (w.there) {
#pragma unroll
      for (int i = 0; i < vec; i++) mean[i] = T(average[w.first + i]);
    }
    Sums<T> s[vec] = {};
    const auto add = [&](const Vector<S, vec>& dy, const Vector<S, vec>& v) {
#pragma unroll
      for (int i = 0; i < vec; i++) {
        const T d = cast<T>(dy.at[i]);
        s[i].plain += d;
        s[i].product = fma(d, cast<T>(v.at[i]) - mean[i], s[i].product);
      }
    };
    w.template each<together>([&](auto rows) {
      constexpr int n = decltype(rows)::count;
      Vector<S, vec> dy[n], v[n];
#pragma unroll
      for (int k = 0; k < n; k++) {
        dy[k] = load<vec>(g + w.here(k));
        v[k] = load<vec>(x + w.here(k));
      }
#pragma unroll
      for (int k = 0; k < n; k++) add(dy[k], v[k]);
    });
    columns(s, c.lanes);
    if (threadIdx.x >= c.lanes || !w.there) return;
#pragma unroll
    for (int i = 0; i < vec; i++) sums[blockIdx.y * c.channels + w.first + i] = s[i];
  }

  SINTER_FN void end() const {
    const End w(c);
    Sums<T> sum[1] = {};
    w.each(sums, c, [&](const Sums<T>& part) { sum[0] = sum[0] + part; });
    columns(sum, end_channels);
    if (!w.first()) return;
    const T rstd = T(1) / sqrt(T(variance[w.channel]) + T(eps)), n = T(c.rows);
    dweight[w.channel] = cast<S>(sum[0].product * rstd);
    dbias[w.channel] = cast<S>(sum[0].plain);
    by[w.channel] = {T(average[w.channel]), sum[0].plain / n, sum[0].product / n * rstd * rstd, cast<T>(weight[w.channel]) * rstd};
  }

  SINTER_FN void write() const {
    Column<vec> w(c, true);
    if (!w.there) return;
    By k[vec];
#pragma unroll
    for (int i = 0; i < vec; i++) k[i] = by[w.first + i];
    const auto one = [&](Vector<S, vec>& dy, const Vector<S, vec>& v) {
#pragma unroll
      for (int i = 0; i < vec; i++) {
        const T d = fma(k[i].mean - cast<T>(v.at[i]), k[i].slope, cast<T>(dy.at[i]) - k[i].plain);
        dy.at[i] = cast<S>(d * k[i].factor);
      }
    };
    w.template each<written>([&](auto rows) {
      constexpr int n = decltype(rows)::count;
      Vector<S, vec> dy[n], v[n];
#pragma unroll
      for (int j = 0; j < n; j++) {
        dy[j] = load<vec>(g + w.here(j));
        v[j] = load<vec>(x + w.here(j));
      }
#pragma unroll
      for (int j = 0; j < n; j++) {
        one(dy[j], v[j]);
        store<vec>(dx + w.here(j), dy[j]);
      }
    });
  }
};

}  // namespace sinter

#define SINTER_LAST_BY(dtype, first, second, third, Op)                                                                       \
  extern "C" __global__ void __launch_bounds__(256, sinter::last_blocks) first##_##dtype(Op<sinter::dtype> f) { f.measure(); } \
  extern "C" __global__ void __launch_bounds__(256) second##_##dtype(Op<sinter::dtype> f) { f.end(); }                         \
  extern "C" __global__ void __launch_bounds__(256, sinter::last_blocks) third##_##dtype(Op<sinter::dtype> f) { f.write(); }

#define SINTER_LAST(dtype)                                                        \
  SINTER_LAST_BY(dtype, last_moments, last_norm_end, last_norm, sinter::NormLast) \
  SINTER_LAST_BY(dtype, last_sums, last_grad_end, last_grad, sinter::GradLast)

SINTER_LAST(float16)
SINTER_LAST(bfloat16)
