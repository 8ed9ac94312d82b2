// Products of matrices of bytes, one without a sign and one with it, by the matrix
// units: sums are of 32 bits and wrap.
//
//   bytes_product_SHAPE(Bytes p)       the product of x [m, k], uint8, and y [k, n], int8
//                                      or uint8
//   bytes_convolution_SHAPE(Bytes p)   that of a weight [m, k], int8 or uint8, and the windows of
//                                      images, uint8, whose places are columns
//   bytes_lstm_DTYPE(LSTM p)           what lies between two products of an LSTM
//
// SHAPE is the rows and columns of the result that a block computes: 16x128, 64x64 or
// 128x128. Blocks of 256 threads, grid (tiles, slices of k, images times groups). The
// zeros of both factors are taken away from sums as x*y - xZero*sums(y) - yZero*sums(x) +
// k*xZero*yZero, where threads add up what they load. The result of slices is added to
// what is there: integers may be added in any order.

#include "real.cuh"

namespace sinter {

constexpr int bytes_threads = 256;
constexpr int bytes_depth = 64;               // terms of a stage
constexpr int bytes_row = bytes_depth / 4 + 4;  // words of a row of the left factor in shared memory

struct Bytes {
  int* out;               // [m, n], or [images, groups, m, n]
  const uint8* left;      // rows of k
  const uint8* right;     // [k, n], or images [images, groups, channels, height, width]
  const uint8* left_zero;   // one, or with left_step one for each row
  const uint8* right_zero;  // one, or with right_step one for each column
  int m, n, k, slices;
  int left_step, right_step;
  int left_vectors, right_words;  // rows of left are read 16 bytes at a time, those of right 4
  int batch, groups;
  int moved;  // y or the weight is of uint8, and 128 less as the units take it
  // Of convolutions: n is across * down.
  int height, width, across;
  int kernel_height, kernel_width;
  int stride[2], padding[2], dilation[2];
};

// multiply_bytes adds the product of 16 rows of 32 bytes and 32 rows of 8 to sums. With
// convolution the left ones have a sign, else the right ones.
template <bool convolution> SINTER_FN void multiply_bytes(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if constexpr (convolution)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int* d = c + i % 2 * 2;
    if constexpr (convolution)
      asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[i]), "r"(b[i / 2]));
    else
      asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[i]), "r"(b[i / 2]));
  }
#endif
}

// sum_bytes adds four bytes to a sum.
template <bool with_sign> SINTER_FN int sum_bytes(unsigned four, int sum) {
  if constexpr (with_sign) return __dp4a(int(four), 0x01010101, sum);
  else return int(__dp4a(four, 0x01010101u, unsigned(sum)));
}

// A Tap is a term of a window: where its byte is, from the window's first one, and how far
// down and across that is.
struct Tap {
  int offset, down, across;
};

// A ByteTile is rows by columns of the result; a warp has its part of them.
template <int rows_, int columns_, int warps_down> struct ByteTile {
  static constexpr int rows = rows_, columns = columns_;
  static constexpr int warps_across = bytes_threads / 32 / warps_down;
  static constexpr int m = rows / warps_down / 16, n = columns / warps_across / 8;  // products of a warp
  static constexpr int line = columns + 8;                                       // words of a row of the right factor
  static constexpr int chunks = (rows * 4 + bytes_threads - 1) / bytes_threads;   // of 16 bytes of left, of a thread
  static constexpr int quads = columns / 4 * 16 / bytes_threads;                  // of 4 x 4 bytes of right, of a thread
};

// A ByteLoader reads a stage: 16 bytes of rows of left, and 4 terms of 4 columns of right.
template <class T, bool convolution> struct ByteLoader {
  const Bytes& p;
  int row, column;  // first ones of the tile
  int end;          // of the slice's terms
  const uint8* left;
  const uint8* right;
  int place[4], down[4], across[4];  // of a convolution's columns: the first byte of the window, which may be outside
  unsigned zero, flip;
  uint4 a[T::chunks];
  unsigned b[T::quads][4];  // words of terms, one for each column
  int left_sum[T::chunks], right_sum[4];

  SINTER_FN ByteLoader(const Bytes& p, int row, int column, int end, const uint8* left, const uint8* right)
      : p(p), row(row), column(column), end(end), left(left), right(right), flip(p.moved ? 0x80808080u : 0) {
#pragma unroll
    for (int i = 0; i < T::chunks; i++) left_sum[i] = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      right_sum[j] = 0;
      if constexpr (convolution) {
        const int at = min(own_column() + j, p.n - 1);
        down[j] = at / p.across * p.stride[0] - p.padding[0];
        across[j] = at % p.across * p.stride[1] - p.padding[1];
        place[j] = down[j] * p.width + across[j];
      }
    }
    if constexpr (convolution) zero = *p.right_zero;
  }

  SINTER_FN int own_column() const { return column + int(threadIdx.x) % (T::columns / 4) * 4; }
  // The first of four terms of quad i in a stage.
  static SINTER_FN int own_term(int i) { return (int(threadIdx.x) / (T::columns / 4) + i * (bytes_threads / (T::columns / 4))) * 4; }

  // taps writes where the terms of a stage are; all threads wait before they are read.
  SINTER_FN void taps(Tap* to, int from) const {
    if constexpr (convolution) {
      const int t = from + int(threadIdx.x);
      if (threadIdx.x >= bytes_depth) return;
      const int area = p.kernel_height * p.kernel_width, c = t / area, d = t % area;
      const int y = d / p.kernel_width * p.dilation[0], x = d % p.kernel_width * p.dilation[1];
      to[threadIdx.x] = Tap{t < end ? (c * p.height + y) * p.width + x : -1, y, x};
    }
  }

  SINTER_FN void load(int from, const Tap* taps) {
#pragma unroll
    for (int i = 0; i < T::chunks; i++) {
      const int r = row + int(threadIdx.x) / 4 + i * (bytes_threads / 4), k = from + int(threadIdx.x) % 4 * 16;
      a[i] = make_uint4(0, 0, 0, 0);
      if (int(threadIdx.x) / 4 + i * (bytes_threads / 4) >= T::rows || r >= p.m || k >= end) continue;
      const uint8* line = left + (long long)r * p.k + k;
      if (p.left_vectors && k + 16 <= end) {
        a[i] = *reinterpret_cast<const uint4*>(line);
        continue;
      }
      unsigned words[4];
#pragma unroll
      for (int w = 0; w < 4; w++) {
        words[w] = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
          if (k + 4 * w + j < end) words[w] |= unsigned(line[4 * w + j]) << (8 * j);
        }
      }
      a[i] = make_uint4(words[0], words[1], words[2], words[3]);
    }
#pragma unroll
    for (int i = 0; i < T::quads; i++) {
      if constexpr (convolution) window(i, taps + own_term(i));
      else lines(i, from + own_term(i));
    }
  }

  // lines reads four columns of four rows of right.
  SINTER_FN void lines(int i, int k) {
    const int c = own_column();
    unsigned line[4];
#pragma unroll
    for (int t = 0; t < 4; t++) {
      line[t] = 0;
      if (k + t >= end || c >= p.n) continue;
      const uint8* from = right + (long long)(k + t) * p.n + c;
      if (p.right_words) {
        line[t] = *reinterpret_cast<const unsigned*>(from);
        continue;
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (c + j < p.n) line[t] |= unsigned(from[j]) << (8 * j);
      }
    }
    const unsigned even = __byte_perm(line[0], line[1], 0x5140), odd = __byte_perm(line[0], line[1], 0x7362);
    const unsigned even2 = __byte_perm(line[2], line[3], 0x5140), odd2 = __byte_perm(line[2], line[3], 0x7362);
    b[i][0] = __byte_perm(even, even2, 0x5410);
    b[i][1] = __byte_perm(even, even2, 0x7632);
    b[i][2] = __byte_perm(odd, odd2, 0x5410);
    b[i][3] = __byte_perm(odd, odd2, 0x7632);
  }

  // window reads four terms of four windows; what is outside of the image is its zero.
  SINTER_FN void window(int i, const Tap* taps) {
#pragma unroll
    for (int j = 0; j < 4; j++) b[i][j] = 0;
#pragma unroll
    for (int t = 0; t < 4; t++) {
      const Tap tap = taps[t];
      if (tap.offset < 0) continue;
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const bool inside = unsigned(down[j] + tap.down) < unsigned(p.height) && unsigned(across[j] + tap.across) < unsigned(p.width);
        b[i][j] |= (inside ? unsigned(right[place[j] + tap.offset]) : zero) << (8 * t);
      }
    }
  }

  SINTER_FN void keep(unsigned (*to_left)[bytes_row], unsigned (*to_right)[T::line]) {
#pragma unroll
    for (int i = 0; i < T::chunks; i++) {
      const int r = int(threadIdx.x) / 4 + i * (bytes_threads / 4);
      if (r >= T::rows) continue;
      if constexpr (convolution) a[i] = make_uint4(a[i].x ^ flip, a[i].y ^ flip, a[i].z ^ flip, a[i].w ^ flip);
      *reinterpret_cast<uint4*>(&to_left[r][threadIdx.x % 4 * 4]) = a[i];
      left_sum[i] = sum_bytes<convolution>(a[i].x, left_sum[i]);
      left_sum[i] = sum_bytes<convolution>(a[i].y, left_sum[i]);
      left_sum[i] = sum_bytes<convolution>(a[i].z, left_sum[i]);
      left_sum[i] = sum_bytes<convolution>(a[i].w, left_sum[i]);
    }
#pragma unroll
    for (int i = 0; i < T::quads; i++) {
      if constexpr (!convolution) {
#pragma unroll
        for (int j = 0; j < 4; j++) b[i][j] ^= flip;
      }
      *reinterpret_cast<uint4*>(&to_right[own_term(i) / 4][own_column() - column]) = make_uint4(b[i][0], b[i][1], b[i][2], b[i][3]);
#pragma unroll
      for (int j = 0; j < 4; j++) right_sum[j] = sum_bytes<!convolution>(b[i][j], right_sum[j]);
    }
  }

  // sums adds what the thread loaded to the sums of the tile's rows and columns.
  SINTER_FN void sums(int* of_rows, int* of_columns) const {
#pragma unroll
    for (int i = 0; i < T::chunks; i++) {
      const int r = int(threadIdx.x) / 4 + i * (bytes_threads / 4);
      if (r < T::rows) atomicAdd(&of_rows[r], left_sum[i]);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) atomicAdd(&of_columns[own_column() - column + j], right_sum[j]);
  }
};

// A Share says which sums of a tile a thread has: those of rows top + 16 i + 8 h + group and
// of columns side + 8 j + 2 within + q, as the matrix units deal them to a warp.
template <class T> struct Share {
  int top, side, group, within;
  SINTER_FN Share() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    group = lane / 4, within = lane % 4;
    top = warp / T::warps_across * T::m * 16, side = warp % T::warps_across * T::n * 8;
  }
};

// byte_zero returns a zero of a list, as the bytes are multiplied.
SINTER_FN int byte_zero(const Bytes& p, const uint8* list, int step, int i, bool with_sign) {
  const uint8 v = list[(long long)step * i];
  return with_sign ? int(int8(p.moved ? v ^ 0x80 : v)) : int(v);
}

// finish_tile writes a thread's sums of products of so many terms, less what zeros gave to
// them. Sums wrap: they are taken without a sign.
template <class T, bool convolution> SINTER_FN void finish_tile(const Bytes& p, int row, int column, int terms, const Share<T>& own,
                                                                const int (&acc)[T::m][T::n][4], const int* row_sums,
                                                                const int* column_sums, const uint8* left_zero, int* out) {
  // What terms behind the last one, 0 before they are moved, gave to sums of moved bytes.
  const unsigned over = p.moved ? 128 * (-unsigned(terms) & (bytes_depth - 1)) : 0;
#pragma unroll
  for (int i = 0; i < T::m; i++) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int r = own.top + 16 * i + 8 * h + own.group;
      if (row + r >= p.m) continue;
      const unsigned zl = byte_zero(p, left_zero, p.left_step, row + r, convolution);
#pragma unroll
      for (int j = 0; j < T::n; j++) {
#pragma unroll
        for (int q = 0; q < 2; q++) {
          const int c = own.side + 8 * j + 2 * own.within + q;
          if (column + c >= p.n) continue;
          const unsigned zr = byte_zero(p, p.right_zero, p.right_step, column + c, !convolution);
          const unsigned lost = zl * (unsigned(column_sums[c]) + (convolution ? 0 : over) - unsigned(terms) * zr) +
                                zr * (unsigned(row_sums[r]) + (convolution ? over : 0));
          const int sum = int(unsigned(acc[i][j][2 * h + q]) - lost);
          int* to = out + (long long)(row + r) * p.n + column + c;
          if (p.slices > 1) atomicAdd(to, sum);
          else *to = sum;
        }
      }
    }
  }
}

template <class T, bool convolution> SINTER_FN void byte_tile(const Bytes& p, int row, int column, int from, int end, const uint8* left,
                                                              const uint8* right, const uint8* left_zero, int* out) {
  __shared__ __align__(16) unsigned lefts[2][T::rows][bytes_row];
  __shared__ __align__(16) unsigned rights[2][bytes_depth / 4][T::line];
  __shared__ int row_sums[T::rows], column_sums[T::columns];
  __shared__ Tap taps[2][convolution ? bytes_depth : 1];
  const Share<T> own;
  for (int i = threadIdx.x; i < T::rows + T::columns; i += bytes_threads) (i < T::rows ? row_sums[i] : column_sums[i - T::rows]) = 0;
  ByteLoader<T, convolution> loader(p, row, column, end, left, right);
  int acc[T::m][T::n][4];
#pragma unroll
  for (int i = 0; i < T::m; i++) {
#pragma unroll
    for (int j = 0; j < T::n; j++) acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0;
  }
  loader.taps(taps[0], from);
  __syncthreads();
  loader.load(from, taps[0]);
  loader.taps(taps[1], from + bytes_depth);
  int now = 0;
#pragma unroll 1
  for (int k = from; k < end; k += bytes_depth, now ^= 1) {
    loader.keep(lefts[now], rights[now]);
    __syncthreads();
    if (k + bytes_depth < end) loader.load(k + bytes_depth, taps[now ^ 1]);
    loader.taps(taps[now], k + 2 * bytes_depth);
#pragma unroll
    for (int step = 0; step < bytes_depth / 4; step += 8) {
      unsigned b[T::n][2];
#pragma unroll
      for (int j = 0; j < T::n; j++) {
#pragma unroll
        for (int h = 0; h < 2; h++) b[j][h] = rights[now][step + 4 * h + own.within][own.side + 8 * j + own.group];
      }
#pragma unroll
      for (int i = 0; i < T::m; i++) {
        unsigned a[4];
#pragma unroll
        for (int h = 0; h < 4; h++) a[h] = lefts[now][own.top + 16 * i + h % 2 * 8 + own.group][step + h / 2 * 4 + own.within];
#pragma unroll
        for (int j = 0; j < T::n; j++) multiply_bytes<convolution>(acc[i][j], a, b[j]);
      }
    }
  }
  loader.sums(row_sums, column_sums);
  __syncthreads();
  finish_tile<T, convolution>(p, row, column, end - from, own, acc, row_sums, column_sums, left_zero, out);
  __syncthreads();  // before the next product
}

template <class T, bool convolution> SINTER_FN void bytes(const Bytes& p) {
  const int down = (p.m + T::rows - 1) / T::rows;
  const int row = int(blockIdx.x) % down * T::rows, column = int(blockIdx.x) / down * T::columns;
  const int stages = (p.k + bytes_depth - 1) / bytes_depth;
  const int from = int((long long)stages * blockIdx.y / p.slices) * bytes_depth;
  const int end = min(p.k, int((long long)stages * (blockIdx.y + 1) / p.slices) * bytes_depth);
#pragma unroll 1
  for (int i = blockIdx.z; i < p.batch; i += gridDim.z) {
    const int g = i % p.groups;
    const long long channels = convolution ? p.k / (p.kernel_height * p.kernel_width) : 0;
    byte_tile<T, convolution>(p, row, column, from, end, p.left + (long long)g * p.m * p.k, p.right + channels * p.height * p.width * i,
                              p.left_zero + (long long)g * p.m * p.left_step, p.out + (long long)i * p.m * p.n);
  }
}

// An LSTM is one step of an LSTM of bytes: the outputs, which the next product takes as
// bytes. One block computes it.
struct LSTM {
  const void* gates;      // of the step, [batch, 4*width]; nothing: h is only quantized
  const int* sums;        // the product of the bytes before the step and the weight, [batch, 4*width]
  const void* scale;      // of the weight: one, or with scale_step one for each column
  const void* before;     // the cells before the step
  void* cell;             // the cells
  void* h;                // the outputs, [batch, width]
  uint8* quantized;       // h as bytes
  float* by;              // their scale: that of those before the step is read
  uint8* zero;            // and zero
  int batch, width, scale_step;
};

// over_block returns f of the values of all threads of a block, of 1024.
template <class T, class F> SINTER_FN T over_block(T v, T* room, F f) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, d));
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
  __syncthreads();
  v = room[threadIdx.x % 32];
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

template <class S> SINTER_FN void bytes_lstm(const LSTM& p) {
  __shared__ float room[32];
  const long long count = (long long)p.batch * p.width;
  S* h = static_cast<S*>(p.h);
  float low = 0, high = 0;
  int bad = 0;
  const S by = S(*p.by);
#pragma unroll 1
  for (long long i = threadIdx.x; i < count; i += blockDim.x) {
    S v;
    if (p.gates) {
      const long long first = i / p.width * 4 * p.width;
      const int column = int(i % p.width);
      const S* scale = static_cast<const S*>(p.scale);
      S z[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int j = k * p.width + column;
        z[k] = static_cast<const S*>(p.gates)[first + j] + S(p.sums[first + j]) * (by * scale[(long long)j * p.scale_step]);
      }
      const S cell = sigmoid(z[2]) * static_cast<const S*>(p.before)[i] + sigmoid(z[0]) * tanh(z[3]);
      static_cast<S*>(p.cell)[i] = cell;
      v = sigmoid(z[1]) * tanh(cell);
      h[i] = v;
    } else {
      v = h[i];
    }
    const float f = float(v);
    if (f != f) bad = 1;
    low = f < low ? f : low;
    high = f > high ? f : high;
  }
  low = over_block(low, room, [](float a, float b) { return a < b ? a : b; });
  high = over_block(high, room, [](float a, float b) { return a > b ? a : b; });
  bad = __syncthreads_or(bad);
  float scale = (high - low) / 255.0f;
  if (scale == 0) scale = 1;
  if (bad || !(scale - scale == 0)) scale = __int_as_float(0x7fc00000);
  const float zero = fminf(255.0f, rintf(-low / scale));  // a scale that is rounded down gives more
  if (threadIdx.x == 0) {
    *p.by = scale;
    *p.zero = scale == scale ? uint8(int(zero)) : 0;
  }
#pragma unroll 1
  for (long long i = threadIdx.x; i < count; i += blockDim.x) {
    const float q = rintf(float(h[i]) / scale) + zero;  // NaN gives 0
    p.quantized[i] = uint8(int(fminf(255.0f, fmaxf(0.0f, q))));
  }
}

}  // namespace sinter

#define SINTER_BYTES(rows, columns, down)                                                                       \
  extern "C" __global__ void __launch_bounds__(256) bytes_product_##rows##x##columns(sinter::Bytes p) {        \
    sinter::bytes<sinter::ByteTile<rows, columns, down>, false>(p);                                            \
  }                                                                                                            \
  extern "C" __global__ void __launch_bounds__(256) bytes_convolution_##rows##x##columns(sinter::Bytes p) {    \
    sinter::bytes<sinter::ByteTile<rows, columns, down>, true>(p);                                             \
  }

SINTER_BYTES(16, 128, 1)
SINTER_BYTES(64, 64, 2)
SINTER_BYTES(128, 128, 2)

extern "C" __global__ void __launch_bounds__(1024) bytes_lstm_float32(sinter::LSTM p) { sinter::bytes_lstm<float>(p); }
extern "C" __global__ void __launch_bounds__(1024) bytes_lstm_float64(sinter::LSTM p) { sinter::bytes_lstm<double>(p); }
