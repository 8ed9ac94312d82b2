// A cuBLASLt without a device, for tests of the binding: products of float and
// double, and of bfloat16 with results of that or of float, on the host, by the
// definition. Arguments that are not where they belong are answered with an error: it
// checks what the binding must get right. A product is as two kernels: one leaves sums
// in the workspace, the other reads them. As the library does, it rounds products of 16
// bits before it adds a bias where rows do not begin at multiples of 16 bytes.

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 7, UNSUPPORTED = 15 };
enum { R32 = 0, R64 = 1, B16 = 14 };

typedef struct { uint64_t type, rows, cols; int64_t ld; int64_t batch, stride, spare[8]; } Layout;
typedef struct { uint64_t compute, scale, transA, transB, epilogue; const void* bias; uint16_t* kept; int64_t keptStride; uint64_t spare[24]; } Desc;
typedef struct { uint64_t algo[8], workspace; int32_t state; float waves; int32_t reserved[4]; } Result;
typedef struct { uint64_t workspace; uint32_t reductions, align[4]; } Preference;

static int handle, heuristics, products;
static Preference preference;

int fake_heuristics(void) { return heuristics; }
int fake_products(void) { return products; }

int cublasLtCreate(void** h) { *h = &handle; return OK; }
const char* cublasLtGetStatusName(int s) { return s == UNSUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_INVALID_VALUE"; }

int cublasLtMatmulDescInit_internal(Desc* d, size_t size, int compute, int scale) {
  if (size < sizeof *d) return INVALID;
  memset(d, 0, size);
  d->compute = compute; d->scale = scale; d->epilogue = 1;
  return OK;
}

int cublasLtMatmulDescSetAttribute(Desc* d, int attribute, const void* value, size_t size) {
  uint32_t v = *(const uint32_t*)value;
  switch (attribute) {
    case 3: d->transA = v; return size == 4 ? OK : INVALID;
    case 4: d->transB = v; return size == 4 ? OK : INVALID;
    case 7: d->epilogue = v; return size == 4 ? OK : INVALID;
    case 8: d->bias = *(void* const*)value; return size == 8 ? OK : INVALID;
    case 11: d->kept = *(void* const*)value; return size == 8 ? OK : INVALID;
    case 12: d->keptStride = *(const int64_t*)value; return size == 8 ? OK : INVALID;
  }
  return INVALID;
}

int cublasLtMatrixLayoutInit_internal(Layout* l, size_t size, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (size < sizeof *l || ld < (int64_t)rows) return INVALID;
  memset(l, 0, size);
  l->type = type; l->rows = rows; l->cols = cols; l->ld = ld; l->batch = 1;
  return OK;
}

int cublasLtMatrixLayoutSetAttribute(Layout* l, int attribute, const void* value, size_t size) {
  if (attribute == 5 && size == 4) { l->batch = *(const int32_t*)value; return OK; }
  if (attribute == 6 && size == 8) { l->stride = *(const int64_t*)value; return OK; }
  return INVALID;
}

int cublasLtMatmulPreferenceCreate(Preference** p) { memset(&preference, 0, sizeof preference); *p = &preference; return OK; }
int cublasLtMatmulPreferenceDestroy(Preference* p) { return p == &preference ? OK : INVALID; }

int cublasLtMatmulPreferenceSetAttribute(Preference* p, int attribute, const void* value, size_t size) {
  uint32_t v = *(const uint32_t*)value;
  switch (attribute) {
    case 1: p->workspace = *(const uint64_t*)value; return size == 8 ? OK : INVALID;
    case 3: p->reductions = v; return size == 4 ? OK : INVALID;
    case 5: case 6: case 7: case 8: p->align[attribute - 5] = v; return size == 4 ? OK : INVALID;
  }
  return INVALID;
}

static int shapes(const Desc* e, const Layout* a, const Layout* b, const Layout* d) {
  uint64_t m = e->transA ? a->cols : a->rows, k = e->transA ? a->rows : a->cols;
  uint64_t n = e->transB ? b->rows : b->cols, inner = e->transB ? b->cols : b->rows;
  return k == inner && m == d->rows && n == d->cols && a->type == b->type && (a->type == d->type || (a->type == B16 && d->type == R32)) && a->batch == d->batch && b->batch == d->batch;
}

int cublasLtMatmulAlgoGetHeuristic(void* h, Desc* e, Layout* a, Layout* b, Layout* c, Layout* d, Preference* p, int wanted, Result* out, int* count) {
  heuristics++;
  if (h != &handle || p != &preference || c != d || wanted < 1 || !shapes(e, a, b, d)) return INVALID;
  for (int i = 0; i < 4; i++) if (!p->align[i] || p->align[i] & (p->align[i] - 1)) return INVALID;
  *count = 0;
  if (e->epilogue & 128 && (d->type != B16 || !e->kept || (uintptr_t)e->kept % 16 || e->keptStride % 8 || e->keptStride < (int64_t)d->rows)) return INVALID;
  if (d->type != R32 && d->type != R64 && d->type != B16) return OK;
  if (a->type == B16 && e->compute != 68) return INVALID;
  if (a->type == R64 ? e->compute != 70 || e->scale != R64 : (e->compute != 68 && e->compute != 77) || e->scale != R32) return INVALID;
  memset(out, 0, sizeof *out);
  out->algo[0] = 4711; out->algo[7] = 4712; out->workspace = 4096;
  *count = 1;
  return OK;
}

static double get(const void* p, int type, int64_t i) {
  if (type == B16) {
    uint32_t bits = (uint32_t)((const uint16_t*)p)[i] << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
  }
  return type == R64 ? ((const double*)p)[i] : ((const float*)p)[i];
}

// brain returns v rounded to bfloat16, to even.
static uint16_t brain(double v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

// rounded is v as the type keeps it.
static double rounded(double v, int type) {
  uint16_t b = brain(v);
  return type == B16 ? get(&b, B16, 0) : v;
}

// gelu is by tanh, slope its derivative.
static double gelu(double v) { return v / (1 + exp(-2 * 0.7978845608028654 * (v + 0.044715 * v * v * v))); }
static double slope(double v) {
  double s = 1 / (1 + exp(-2 * 0.7978845608028654 * (v + 0.044715 * v * v * v)));
  return s + v * s * (1 - s) * 2 * 0.7978845608028654 * (1 + 3 * 0.044715 * v * v);
}

// aligned is whether rows of 16-bit elements begin at multiples of 16 bytes.
static int aligned(const void* first, const Layout* l) {
  int64_t distances = l->ld | (l->batch > 1 ? l->stride : 0);
  return l->type != B16 || ((uintptr_t)first | 2 * distances) % 16 == 0;
}

// sum is element (row, column) of product i.
static double sum(const Desc* e, const void* A, const Layout* a, const void* B, const Layout* b, int64_t i, int64_t row, int64_t column) {
  double all = 0;
  int64_t k = e->transA ? a->rows : a->cols;
  for (int64_t j = 0; j < k; j++)
    all += get(A, a->type, i * a->stride + (e->transA ? row * a->ld + j : j * a->ld + row)) *
           get(B, b->type, i * b->stride + (e->transB ? j * b->ld + column : column * b->ld + j));
  return all;
}

int cublasLtMatmul(void* h, Desc* e, const void* alpha, const void* A, Layout* a, const void* B, Layout* b, const void* beta,
                   const void* C, Layout* c, void* D, Layout* d, const uint64_t* algo, void* workspace, size_t bytes, uintptr_t stream) {
  if (h != &handle || !shapes(e, a, b, d) || c != d || (C != D && get(beta, e->scale, 0) != 1) || algo[0] != 4711 || algo[7] != 4712 || bytes != 4096 || !workspace || stream != 77) return INVALID;
  if (get(alpha, e->scale, 0) != 1 || (get(beta, e->scale, 0) != 0 && get(beta, e->scale, 0) != 1) || (e->epilogue & 4 && !e->bias)) return INVALID;
  int64_t rows = d->rows, columns = d->cols;
  if (d->batch * rows * columns * sizeof(double) > bytes) return INVALID;
  double* sums = workspace;
  memset(workspace, 0xFF, bytes);
  for (int64_t i = 0; i < d->batch; i++)
    for (int64_t row = 0; row < rows; row++)
      for (int64_t column = 0; column < columns; column++) sums[(i * columns + column) * rows + row] = sum(e, A, a, B, b, i, row, column);
  usleep(1);
  for (int64_t i = 0; i < d->batch; i++)
    for (int64_t row = 0; row < rows; row++)
      for (int64_t column = 0; column < columns; column++) {
        double v = sums[(i * columns + column) * rows + row];
        if (get(beta, e->scale, 0) == 1) v += get(C, c->type, i * c->stride + column * c->ld + row);
        if (e->epilogue & 4 && !(aligned(A, a) && aligned(B, b) && aligned(D, d))) v = rounded(v, d->type);
        if (e->epilogue & 4) v += get(e->bias, d->type, row);
        if (e->epilogue & 2 && v < 0) v = 0;
        if (e->epilogue == (128 | 32 | 4)) {
          e->kept[column * e->keptStride + row] = brain(v);
          v = gelu(v);
        }
        if (e->epilogue == (128 | 64)) v *= slope(get(e->kept, B16, column * e->keptStride + row));
        int64_t to = i * d->stride + column * d->ld + row;
        if (d->type == R64) ((double*)D)[to] = v;
        else if (d->type == B16) ((uint16_t*)D)[to] = brain(v);
        else ((float*)D)[to] = (float)v;
      }
  __atomic_add_fetch(&products, 1, __ATOMIC_RELAXED);
  return OK;
}
