// The element-wise part of a step of a recurrence, and of its gradient: what lies
// between two products of matrices. A thread takes one element of the state
// [batch, width]; gates are [batch, n*width]. All operands are contiguous.
//
//   lstm_DTYPE, gru_DTYPE, tanh_DTYPE, relu_DTYPE     the step
//   ..._grad_DTYPE                                    its gradient
//
// Blocks of 256 threads, grid ceil(count / 256).

#include "real.cuh"

namespace sinter {

// A Step is what the kernels read and write; each uses what it needs.
struct Step {
  const void* gates;   // of this step, [batch, n*width]
  const void* inner;   // what the state before it gives to them: state @ weight'
  const void* bias;    // [n*width]; gru: [2, 3*width]
  const void* before;  // lstm: the cell before the step; gru: the output before it
  const void* g;       // the gradient of the step's output
  const void* g_cell;  // lstm: that of its cell
  const void* g_next;  // what the step after it gives to the gradient of its output
  void* out;           // the output; in gradients, that of the gates
  void* cell;          // lstm: the cell; in gradients of lstm and gru, the state's gradient that bypasses the product
  void* g_inner;       // gru: the gradient of inner
  unsigned count;      // batch * width
  unsigned width;
};

template <class S> SINTER_FN compute_t<S> read(const void* p, long long i) { return cast<compute_t<S>>(static_cast<const S*>(p)[i]); }

template <class S> SINTER_FN void write(void* p, long long i, compute_t<S> v) { static_cast<S*>(p)[i] = cast<S>(v); }

// A Place is a thread's element of the state: its row's first gate and its column.
struct Place {
  unsigned i, column;
  long long row;
  SINTER_FN Place(const Step& s, int gates) : i(blockIdx.x * 256u + threadIdx.x) {
    column = i % s.width;
    row = (long long)(i / s.width) * s.width * gates;
  }
};

template <class S> SINTER_FN compute_t<S> gate(const Step& s, const Place& at, int k) {
  const unsigned j = k * s.width + at.column;
  return read<S>(s.gates, at.row + j) + read<S>(s.inner, at.row + j) + read<S>(s.bias, j);
}

template <class S> SINTER_FN void lstm(const Step& s) {
  typedef compute_t<S> T;
  const Place at(s, 4);
  if (at.i >= s.count) return;
  const T in = sigmoid(gate<S>(s, at, 0)), forget = sigmoid(gate<S>(s, at, 1));
  const T fresh = tanh(gate<S>(s, at, 2)), output = sigmoid(gate<S>(s, at, 3));
  const T cell = forget * read<S>(s.before, at.i) + in * fresh;
  write<S>(s.cell, at.i, cell);
  write<S>(s.out, at.i, output * tanh(cell));
}

template <class S> SINTER_FN void lstm_grad(const Step& s) {
  typedef compute_t<S> T;
  const Place at(s, 4);
  if (at.i >= s.count) return;
  const T in = sigmoid(gate<S>(s, at, 0)), forget = sigmoid(gate<S>(s, at, 1));
  const T fresh = tanh(gate<S>(s, at, 2)), output = sigmoid(gate<S>(s, at, 3));
  const T before = read<S>(s.before, at.i), top = tanh(forget * before + in * fresh);
  const T d_out = read<S>(s.g, at.i) + read<S>(s.g_next, at.i);
  const T d_cell = read<S>(s.g_cell, at.i) + read<S>(s.cell, at.i) + d_out * output * (T(1) - top * top);
  const long long first = at.row + at.column;
  write<S>(s.out, first, d_cell * fresh * in * (T(1) - in));
  write<S>(s.out, first + s.width, d_cell * before * forget * (T(1) - forget));
  write<S>(s.out, first + 2 * s.width, d_cell * in * (T(1) - fresh * fresh));
  write<S>(s.out, first + 3 * s.width, d_out * top * output * (T(1) - output));
  write<S>(s.cell, at.i, d_cell * forget);
}

// Gates are the gates of an element of a gru, and what the state gives to the last.
template <class S> struct Gates {
  typedef compute_t<S> T;
  T reset, update, fresh, given;

  SINTER_FN Gates(const Step& s, const Place& at) {
    reset = sigmoid(own(s, at, 0) + state(s, at, 0));
    update = sigmoid(own(s, at, 1) + state(s, at, 1));
    given = state(s, at, 2);
    fresh = tanh(own(s, at, 2) + reset * given);
  }
  static SINTER_FN T own(const Step& s, const Place& at, int k) {
    const unsigned j = k * s.width + at.column;
    return read<S>(s.gates, at.row + j) + read<S>(s.bias, j);
  }
  static SINTER_FN T state(const Step& s, const Place& at, int k) {
    const unsigned j = k * s.width + at.column;
    return read<S>(s.inner, at.row + j) + read<S>(s.bias, 3 * s.width + j);
  }
};

template <class S> SINTER_FN void gru(const Step& s) {
  const Place at(s, 3);
  if (at.i >= s.count) return;
  const Gates<S> v(s, at);
  write<S>(s.out, at.i, v.fresh + v.update * (read<S>(s.before, at.i) - v.fresh));
}

template <class S> SINTER_FN void gru_grad(const Step& s) {
  typedef compute_t<S> T;
  const Place at(s, 3);
  if (at.i >= s.count) return;
  const Gates<S> v(s, at);
  const T d_out = read<S>(s.g, at.i) + read<S>(s.g_next, at.i) + read<S>(s.cell, at.i);
  const T d_fresh = d_out * (T(1) - v.update) * (T(1) - v.fresh * v.fresh);
  const T d_update = d_out * (read<S>(s.before, at.i) - v.fresh) * v.update * (T(1) - v.update);
  const T d_reset = d_fresh * v.given * v.reset * (T(1) - v.reset);
  const long long first = at.row + at.column;
  write<S>(s.out, first, d_reset);
  write<S>(s.out, first + s.width, d_update);
  write<S>(s.out, first + 2 * s.width, d_fresh);
  write<S>(s.g_inner, first, d_reset);
  write<S>(s.g_inner, first + s.width, d_update);
  write<S>(s.g_inner, first + 2 * s.width, d_fresh * v.reset);
  write<S>(s.cell, at.i, d_out * v.update);
}

template <class S, bool relu> SINTER_FN void plain(const Step& s) {
  typedef compute_t<S> T;
  const Place at(s, 1);
  if (at.i >= s.count) return;
  const T x = gate<S>(s, at, 0);
  if constexpr (relu) write<S>(s.out, at.i, x < T(0) ? T(0) : x);
  else write<S>(s.out, at.i, tanh(x));
}

// before is the step's output here.
template <class S, bool relu> SINTER_FN void plain_grad(const Step& s) {
  typedef compute_t<S> T;
  const Place at(s, 1);
  if (at.i >= s.count) return;
  const T y = read<S>(s.before, at.i), d = read<S>(s.g, at.i) + read<S>(s.g_next, at.i);
  if constexpr (relu) write<S>(s.out, at.i, y > T(0) ? d : T(0));
  else write<S>(s.out, at.i, d * (T(1) - y * y));
}

// The state's gradient after the first step's: what went through the product and
// what went past it.
template <class S> SINTER_FN void joined(const Step& s) {
  const unsigned i = blockIdx.x * 256u + threadIdx.x;
  if (i < s.count) write<S>(s.out, i, read<S>(s.g_next, i) + read<S>(s.cell, i));
}

}  // namespace sinter

#define SINTER_STEP(name, dtype, ...) \
  extern "C" __global__ void __launch_bounds__(256) name##_##dtype(sinter::Step s) { sinter::__VA_ARGS__(s); }

#define SINTER_STEPS(dtype)                                             \
  SINTER_STEP(lstm, dtype, lstm<sinter::dtype>)                         \
  SINTER_STEP(lstm_grad, dtype, lstm_grad<sinter::dtype>)               \
  SINTER_STEP(gru, dtype, gru<sinter::dtype>)                           \
  SINTER_STEP(gru_grad, dtype, gru_grad<sinter::dtype>)                 \
  SINTER_STEP(gru_joined, dtype, joined<sinter::dtype>)                 \
  SINTER_STEP(tanh, dtype, plain<sinter::dtype, false>)                 \
  SINTER_STEP(tanh_grad, dtype, plain_grad<sinter::dtype, false>)       \
  SINTER_STEP(relu, dtype, plain<sinter::dtype, true>)                  \
  SINTER_STEP(relu_grad, dtype, plain_grad<sinter::dtype, true>)

SINTER_STEPS(float16)
SINTER_STEPS(bfloat16)
SINTER_STEPS(float32)
SINTER_STEPS(float64)
