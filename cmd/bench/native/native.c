/* The native side of cmd/bench: what gcc makes of plain loops, memcpy, the peak of
 * fused multiply-adds, and OpenBLAS where the system has it. Lines on its input ask
 * for something, and every line is answered by one line of JSON:
 *
 *   prepare WORK THREADS NUMBER...   for example: prepare exp 2 65536; tells the
 *                                    work of limits: bytes moved, or operations
 *   batch N                          does it N times and tells the seconds
 *   drop
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { most = 8, parallel_from = 32768 };

static long size[most]; /* the numbers of the work */
static void *memory[4];
static volatile double sink;
static double amount; /* of work in a call of a limit */

static void *fresh(long bytes) {
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes + 64)) exit(3);
  return p;
}

static void fill32(float *x, long n, float low, float high) {
  unsigned s = 12345;
  for (long i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    x[i] = low + (high - low) * (float)(s >> 8) / 16777216.0f;
  }
}

static void fill64(double *x, long n) {
  unsigned s = 12345;
  for (long i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    x[i] = (double)(s >> 8) / 8388608.0 - 1.0;
  }
}

/* Loops over float32 that the compiler vectorises. */
#define LOOP(name, value)                                                              \
  static void do_##name(void) {                                                        \
    const long n = size[0];                                                            \
    float *restrict z = memory[0];                                                     \
    const float *restrict x = memory[1], *restrict y = memory[2], *restrict w = memory[3]; \
    (void)y, (void)w;                                                                  \
    _Pragma("omp parallel for simd schedule(static) if (n >= parallel_from)")          \
    for (long i = 0; i < n; i++) z[i] = (value);                                       \
  }
LOOP(add, x[i] + y[i])
LOOP(mul, x[i] * y[i])
LOOP(addcmul, x[i] + y[i] * w[i])
LOOP(exp, expf(x[i]))
LOOP(log, logf(x[i]))
LOOP(tanh, tanhf(x[i]))
LOOP(erf, erff(x[i]))
LOOP(gelu, 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f)))
LOOP(silu, x[i] / (1.0f + expf(-x[i])))
LOOP(sigmoid, 1.0f / (1.0f + expf(-x[i])))

static void do_sum(void) {
  const long n = size[0];
  const float *restrict x = memory[1];
  float s = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : s) if (n >= parallel_from)
  for (long i = 0; i < n; i++) s += x[i];
  sink = s;
}

static void ready_loop(void) {
  for (int i = 0; i < 4; i++) memory[i] = fresh(4 * size[0]);
  fill32(memory[0], size[0], 0, 1);
  fill32(memory[1], size[0], 0.01f, 4);
  fill32(memory[2], size[0], -2, 2);
  fill32(memory[3], size[0], -2, 2);
}

/* memcpy of a number of bytes, a part by each thread. */
static void do_memcpy(void) {
#pragma omp parallel
  {
    const long parts = omp_get_num_threads(), i = omp_get_thread_num();
    const long from = size[0] / parts * i, to = i == parts - 1 ? size[0] : size[0] / parts * (i + 1);
    memcpy((char *)memory[0] + from, (char *)memory[1] + from, to - from);
  }
}

static void ready_memcpy(void) {
  amount = 2.0 * size[0];
  for (int i = 0; i < 2; i++) memset(memory[i] = fresh(size[0]), 1, size[0]);
}

/* Fused multiply-adds in registers: size[0] rounds of 12 on every thread. */
#ifdef __AVX512F__
typedef __m512 floats;
typedef __m512d doubles;
#define FMA32 _mm512_fmadd_ps
#define FMA64 _mm512_fmadd_pd
#define SET32 _mm512_set1_ps
#define SET64 _mm512_set1_pd
#else
typedef __m256 floats;
typedef __m256d doubles;
#define FMA32 _mm256_fmadd_ps
#define FMA64 _mm256_fmadd_pd
#define SET32 _mm256_set1_ps
#define SET64 _mm256_set1_pd
#endif
#define PEAK(name, vector, FMA, SET)                                              \
  static void do_##name(void) {                                                   \
    _Pragma("omp parallel") {                                                     \
      vector a[12], x = SET(0.999), y = SET(1e-3);                                \
      for (int j = 0; j < 12; j++) a[j] = SET(j);                                 \
      for (long i = 0; i < size[0]; i++)                                          \
        for (int j = 0; j < 12; j++) a[j] = FMA(a[j], x, y);                      \
      double s = 0;                                                               \
      for (int j = 0; j < 12; j++) s += ((double)a[j][0]);                        \
      sink = s;                                                                   \
    }                                                                             \
  }
PEAK(peak32, floats, FMA32, SET32)
PEAK(peak64, doubles, FMA64, SET64)
static void ready_peak32(void) { amount = 2.0 * 12 * (sizeof(floats) / 4) * size[0] * omp_get_max_threads(); }
static void ready_peak64(void) { amount = 2.0 * 12 * (sizeof(doubles) / 8) * size[0] * omp_get_max_threads(); }

#ifdef __AMX_BF16__
/* Multiply-adds of tiles in registers: size[0] rounds of 4 on every thread. */
static void do_tiles(void) {
#pragma omp parallel
  {
    struct {
      unsigned char palette, none[15];
      unsigned short bytes[16];
      unsigned char rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.bytes[i] = 64, config.rows[i] = 16;
    _tile_loadconfig(&config);
    for (long i = 0; i < size[0]; i++) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
  }
}
static void ready_tiles(void) {
  enum { ask = 0x1023, tiles = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  if (syscall(SYS_arch_prctl, ask, tiles)) exit(3);
  amount = 4 * 2.0 * 16 * 16 * 32 * size[0] * omp_get_max_threads();
}
#endif

/* Products by OpenBLAS: batch m k n, and whether a and b lie transposed. */
typedef void (*gemm32)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void (*gemm64)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
static gemm32 sgemm;
static gemm64 dgemm;
static void (*blas_threads)(int);

#define GEMM(name, type, call)                                                                       \
  static void do_##name(void) {                                                                      \
    const long batch = size[0], m = size[1], k = size[2], n = size[3];                               \
    const int tx = size[4] ? 112 : 111, ty = size[5] ? 112 : 111;                                    \
    for (long b = 0; b < batch; b++)                                                                 \
      call(101, tx, ty, m, n, k, 1, (type *)memory[1] + b * m * k, size[4] ? m : k,                  \
           (type *)memory[2] + b * k * n, size[5] ? k : n, 0, (type *)memory[0] + b * m * n, n);     \
  }
GEMM(sgemm, float, sgemm)
GEMM(dgemm, double, dgemm)

static void ready_gemm(long bytes) {
  const long b = size[0], m = size[1], k = size[2], n = size[3];
  memory[0] = fresh(b * m * n * bytes);
  memset(memory[0], 0, b * m * n * bytes);
  memory[1] = fresh(b * m * k * bytes);
  memory[2] = fresh(b * k * n * bytes);
  if (bytes == 4) {
    fill32(memory[1], b * m * k, -1, 1);
    fill32(memory[2], b * k * n, -1, 1);
  } else {
    fill64(memory[1], b * m * k);
    fill64(memory[2], b * k * n);
  }
}
static void ready_sgemm(void) { ready_gemm(4); }
static void ready_dgemm(void) { ready_gemm(8); }

static const struct work {
  const char *name;
  void (*ready)(void), (*run)(void);
} works[] = {
#define ROW(name) {#name, ready_loop, do_##name}
    ROW(add), ROW(mul), ROW(addcmul), ROW(exp), ROW(log), ROW(tanh), ROW(erf), ROW(gelu), ROW(silu), ROW(sigmoid), ROW(sum),
    {"memcpy", ready_memcpy, do_memcpy}, {"peak32", ready_peak32, do_peak32}, {"peak64", ready_peak64, do_peak64},
    {"sgemm", ready_sgemm, do_sgemm},    {"dgemm", ready_dgemm, do_dgemm},
#ifdef __AMX_BF16__
    {"tiles", ready_tiles, do_tiles},
#endif
};

static const struct work *current;

static void drop(void) {
  for (int i = 0; i < 4; i++) free(memory[i]), memory[i] = NULL;
  current = NULL;
}

static const char *prepare(char *text) {
  char *name = strtok(text, " \n"), *number = strtok(NULL, " \n");
  const int threads = number ? atoi(number) : 1;
  drop();
  for (int i = 0; i < most; i++) size[i] = (number = strtok(NULL, " \n")) ? atol(number) : 0;
  for (size_t i = 0; name && i < sizeof works / sizeof *works; i++)
    if (!strcmp(works[i].name, name)) current = &works[i];
  if (!current) return "there is no such work";
  if (strstr(name, "gemm") && !sgemm) {
    current = NULL;
    return "there is no OpenBLAS";
  }
  omp_set_num_threads(threads);
  if (blas_threads) blas_threads(threads);
  amount = 0;
  current->ready();
  return NULL;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static const char *open_blas(void) {
  static const char *const files[] = {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&dgemm = dlsym(library, "cblas_dgemm");
    *(void **)&blas_threads = dlsym(library, "openblas_set_num_threads");
    char *(*config)(void) = NULL;
    *(void **)&config = dlsym(library, "openblas_get_config");
    if (sgemm && dgemm) return config ? config() : "OpenBLAS";
    sgemm = NULL;
  }
  return "no OpenBLAS";
}

int main(void) {
  char line[1000];
  printf("{\"version\": \"gcc %s -Ofast -march=native; %s\"}\n", __VERSION__, open_blas());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    const char *error = NULL;
    if (!strncmp(line, "prepare ", 8)) {
      error = prepare(line + 8);
      if (error)
        printf("{\"error\": \"%s\"}\n", error);
      else
        printf("{\"work\": %.17g}\n", amount);
    } else if (!strncmp(line, "batch ", 6) && current) {
      const long n = atol(line + 6);
      const double began = seconds();
      for (long i = 0; i < n; i++) current->run();
      printf("{\"seconds\": %.9g}\n", seconds() - began);
    } else {
      drop();
      printf("{}\n");
    }
    fflush(stdout);
  }
  return 0;
}
