// A cuFFT without a device, for tests of the binding: transforms on the host, by the
// definition. Calls out of order, or with arguments that are not where they belong,
// are answered with an error. As the library may, C2R spoils its operand.

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { OK = 0, INVALID_PLAN = 1, INVALID_VALUE = 4, INVALID_SIZE = 8, NO_WORKSPACE = 13 };
enum { R32 = 0, R64 = 1, C32 = 4, C64 = 5 };

typedef struct {
  int used, made, automatic, rank, intype, outtype, set;
  int64_t n[3], inembed[3], istride, idist, onembed[3], ostride, odist, batch;
  void* work;
} Plan;

enum { PLANS = 64, WORK = 4096 };
static Plan plans[PLANS];
static int made, destroyed;

// The library is called by many threads.
static int busy;
static void lock(void) { while (__sync_lock_test_and_set(&busy, 1)) {} }
static void unlock(void) { __sync_lock_release(&busy); }

int fake_made(void) { return made; }
int fake_destroyed(void) { return destroyed; }

static Plan* plan(int handle) {
  int i = handle - 7000;
  return i >= 0 && i < PLANS && plans[i].used ? &plans[i] : 0;
}

int cufftCreate(int* handle) {
  int result = INVALID_VALUE;
  lock();
  for (int i = 0; i < PLANS && result != OK; i++) {
    if (plans[i].used) continue;
    plans[i] = (Plan){.used = 1, .automatic = 1};
    *handle = 7000 + i;
    result = OK;
  }
  unlock();
  return result;
}

int cufftDestroy(int handle) {
  Plan* p = plan(handle);
  if (!p) return INVALID_PLAN;
  lock();
  p->used = 0;
  destroyed++;
  unlock();
  return OK;
}

int cufftSetAutoAllocation(int handle, int on) {
  Plan* p = plan(handle);
  if (!p || p->made) return INVALID_PLAN;
  p->automatic = on;
  return OK;
}

int cufftXtMakePlanMany(int handle, int rank, int64_t* n, int64_t* inembed, int64_t istride, int64_t idist, int intype,
                        int64_t* onembed, int64_t ostride, int64_t odist, int outtype, int64_t batch, size_t* work,
                        int compute) {
  Plan* p = plan(handle);
  if (!p || p->made || p->automatic) return INVALID_PLAN;
  if (rank < 1 || rank > 3 || batch < 1 || (compute != C32 && compute != C64)) return INVALID_VALUE;
  for (int i = 0; i < rank; i++) {
    if (n[i] == 13) return INVALID_SIZE;  // a size that tests take for one the library does not know
    p->n[i] = n[i], p->inembed[i] = inembed[i], p->onembed[i] = onembed[i];
  }
  p->rank = rank, p->istride = istride, p->idist = idist, p->ostride = ostride, p->odist = odist;
  p->intype = intype, p->outtype = outtype, p->batch = batch, p->made = 1;
  *work = WORK;
  lock();
  made++;
  unlock();
  return OK;
}

int cufftSetStream(int handle, void* stream) {
  Plan* p = plan(handle);
  if (!p || (uintptr_t)stream != 77) return INVALID_VALUE;
  p->set |= 1;
  return OK;
}

int cufftSetWorkArea(int handle, void* work) {
  Plan* p = plan(handle);
  if (!p || !work) return INVALID_VALUE;
  p->work = work, p->set |= 2;
  return OK;
}

static complex double get(const void* x, int type, int64_t i) {
  switch (type) {
    case R32: return ((const float*)x)[i];
    case R64: return ((const double*)x)[i];
    case C32: return ((const complex float*)x)[i];
  }
  return ((const complex double*)x)[i];
}

static void put(void* x, int type, int64_t i, complex double v) {
  switch (type) {
    case R32: ((float*)x)[i] = creal(v); return;
    case R64: ((double*)x)[i] = creal(v); return;
    case C32: ((complex float*)x)[i] = v; return;
  }
  ((complex double*)x)[i] = v;
}

static int64_t offset(const int64_t at[3], int rank, const int64_t* embed, int64_t stride) {
  int64_t i = 0;
  for (int a = 0; a < rank; a++) i = (a ? i * embed[a] : 0) + at[a];
  return i * stride;
}

// whole returns point at of the operand's whole spectrum, half of which may be there.
static complex double whole(const Plan* p, const void* in, int64_t base, int64_t at[3]) {
  int last = p->rank - 1;
  int half = p->intype >= C32 && p->outtype < C32;
  if (!half || at[last] <= p->n[last] / 2) return get(in, p->intype, base + offset(at, p->rank, p->inembed, p->istride));
  int64_t other[3] = {0, 0, 0};
  for (int a = 0; a < p->rank; a++) other[a] = (p->n[a] - at[a]) % p->n[a];
  return conj(get(in, p->intype, base + offset(other, p->rank, p->inembed, p->istride)));
}

int cufftXtExec(int handle, void* in, void* out, int direction) {
  Plan* p = plan(handle);
  if (!p || !p->made || p->set != 3) return INVALID_PLAN;
  if (direction != -1 && direction != 1) return INVALID_VALUE;
  for (int i = 0; i < WORK; i++) ((volatile char*)p->work)[i] = 1;
  int64_t total = 1, n[3] = {1, 1, 1};
  for (int a = 0; a < p->rank; a++) n[a] = p->n[a], total *= n[a];
  complex double* result = malloc(total * sizeof *result);
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t k = 0; k < total; k++) {
      int64_t to[3] = {k / (n[1] * n[2]), k / n[2] % n[1], k % n[2]};
      complex double sum = 0;
      for (int64_t j = 0; j < total; j++) {
        int64_t at[3] = {j / (n[1] * n[2]), j / n[2] % n[1], j % n[2]};
        double turns = 0;
        for (int a = 0; a < p->rank; a++) turns += (double)(at[a] * to[a] % n[a]) / n[a];
        sum += whole(p, in, b * p->idist, at) * cexp(direction * 2 * acos(-1) * turns * I);
      }
      result[k] = sum;
    }
    int last = p->rank - 1, half = p->intype < C32;
    for (int64_t k = 0; k < total; k++) {
      int64_t to[3] = {k / (n[1] * n[2]), k / n[2] % n[1], k % n[2]};
      if (half && to[last] > n[last] / 2) continue;
      put(out, p->outtype, b * p->odist + offset(to, p->rank, p->onembed, p->ostride), result[k]);
    }
  }
  if (p->intype >= C32 && p->outtype < C32) put(in, p->intype, 0, 1e30);
  free(result);
  return OK;
}
