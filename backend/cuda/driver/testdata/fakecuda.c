// A driver library without a device, for tests of the binding: two devices whose
// memory is the host's and whose streams do everything at once. What it checks is
// what the binding must get right: that every call finds the context of its own
// device current on its thread, and that arguments arrive where they belong.
// Whatever does not is answered with an error.
//
// VERSION, DEVICES and OMIT_LAUNCH make libraries that Open must refuse.

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 12040
#endif
#ifndef DEVICES
#define DEVICES 2
#endif

enum { OK = 0, VALUE = 1, MEMORY = 2, UNINITIALIZED = 3, NO_DEVICE = 100, DEVICE = 101, IMAGE = 200, CONTEXT = 201,
       PTX = 218, CAPTURING = 900, ILLEGAL = 401, HANDLE = 400, NOT_FOUND = 500, ENABLED = 704, NOT_ENABLED = 705 };

typedef struct { int held; int peer; atomic_llong used; } Context;
static Context contexts[2];
static __thread Context* stack[16];
static __thread int depth;
static int initialized;
static const long long total = 1LL << 30;

static Context* current(void) { return depth ? stack[depth - 1] : 0; }

// Every object begins with its context.
typedef struct { Context* owner; int kind; } Object;
enum { STREAM = 11, EVENT, MODULE, FUNCTION, GRAPH, EXEC };
typedef struct { Object o; struct timespec at; int recorded, flags; } Event;
typedef struct { Object o; char name[64]; } Function;
typedef struct Node { struct Node* next; Function* f; char params[64]; long long threads; char* at; unsigned char value, gone; } Node;
typedef struct { Object o; Node* first; Node** end; size_t nodes; } Graph; // a GraphExec, too
typedef struct { Object o; int flags, priority; Graph* capture; } Stream;
typedef struct { Context* owner; long long bytes; } Header; // before each allocation, 64 bytes

static int check(void* object, int kind) {
  if (!current()) return CONTEXT;
  if (!object) return kind == STREAM ? OK : HANDLE;
  Object* o = object;
  return o->kind == kind && o->owner == current() ? OK : HANDLE;
}

static void* make(size_t bytes, int kind) {
  Object* o = calloc(1, bytes);
  o->owner = current();
  o->kind = kind;
  return o;
}

#define CHECK(object, kind) do { int code = check(object, kind); if (code) return code; } while (0)
#define NEED_CONTEXT if (!current()) return CONTEXT

int cuInit(unsigned flags) {
  if (flags) return VALUE;
  if (DEVICES == 0) return NO_DEVICE;
  initialized = 1;
  return OK;
}
int cuDriverGetVersion(int* v) { *v = VERSION; return OK; }
int cuGetErrorName(int code, const char** s) {
  switch (code) {
  case VALUE: *s = "CUDA_ERROR_INVALID_VALUE"; return OK;
  case MEMORY: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return OK;
  case NO_DEVICE: *s = "CUDA_ERROR_NO_DEVICE"; return OK;
  case DEVICE: *s = "CUDA_ERROR_INVALID_DEVICE"; return OK;
  case CONTEXT: *s = "CUDA_ERROR_INVALID_CONTEXT"; return OK;
  case HANDLE: *s = "CUDA_ERROR_INVALID_HANDLE"; return OK;
  case NOT_FOUND: *s = "CUDA_ERROR_NOT_FOUND"; return OK;
  }
  return VALUE;
}
int cuGetErrorString(int code, const char** s) { *s = "described by the fake"; return code > 999 ? VALUE : OK; }
int cuDeviceGetCount(int* n) { *n = DEVICES; return initialized ? OK : UNINITIALIZED; }
int cuDeviceGet(int* d, int ordinal) { *d = 70 + ordinal; return ordinal < DEVICES ? OK : DEVICE; }

static Context* of(int device) { return device >= 70 && device < 70 + DEVICES ? &contexts[device - 70] : 0; }

int cuDeviceGetName(char* name, int n, int d) { snprintf(name, n, "Fake %d", d - 70); return of(d) ? OK : DEVICE; }
int cuDeviceGetUuid_v2(char* id, int d) { for (int i = 0; i < 16; i++) id[i] = d + i; return of(d) ? OK : DEVICE; }
int cuDeviceTotalMem_v2(size_t* n, int d) { *n = total; return of(d) ? OK : DEVICE; }
int cuDeviceGetAttribute(int* v, int a, int d) { *v = a == 75 ? 9 : a == 76 ? 0 : a == 10 ? 32 : a; return of(d) ? OK : DEVICE; }
int cuDeviceCanAccessPeer(int* v, int d, int p) { *v = d != p; return of(d) && of(p) ? OK : DEVICE; }
int cuDevicePrimaryCtxRetain(Context** c, int d) { if (!of(d)) return DEVICE; *c = of(d); (*c)->held++; return OK; }
int cuDevicePrimaryCtxRelease_v2(int d) { if (!of(d) || !of(d)->held) return CONTEXT; of(d)->held--; return OK; }
int cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) { if (!of(d)) return DEVICE; *flags = 0; *active = of(d)->held > 0; return OK; }

// A pause now and then lets Go take the processor from the thread: a goroutine
// not locked to it would go on elsewhere.
int cuCtxSetCurrent(Context* c) {
  static atomic_int calls;
  if (!depth) depth = 1;
  stack[depth - 1] = c;
  if (atomic_fetch_add(&calls, 1) % 1000 == 0) usleep(2000);
  return OK;
}
int cuCtxPushCurrent_v2(Context* c) { if (depth == 16) return VALUE; stack[depth++] = c; return OK; }
int cuCtxPopCurrent_v2(Context** c) { if (!depth) return CONTEXT; *c = stack[--depth]; return OK; }
int cuCtxGetCurrent(Context** c) { *c = current(); return OK; }
int cuCtxSynchronize(void) { NEED_CONTEXT; return OK; }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) { NEED_CONTEXT; *least = 0; *greatest = -5; return OK; }
int cuCtxEnablePeerAccess(Context* p, unsigned flags) {
  NEED_CONTEXT;
  if (flags || p == current()) return VALUE;
  if (current()->peer) return ENABLED;
  current()->peer = 1;
  return OK;
}
int cuCtxDisablePeerAccess(Context* p) {
  NEED_CONTEXT;
  if (p == current()) return VALUE;
  if (!current()->peer) return NOT_ENABLED;
  current()->peer = 0;
  return OK;
}

int cuMemGetInfo_v2(size_t* free, size_t* all) { NEED_CONTEXT; *free = total - current()->used; *all = total; return OK; }
int cuMemAlloc_v2(char** p, size_t n) {
  NEED_CONTEXT;
  if (!n) return VALUE;
  if (n > (size_t)(total - current()->used)) return MEMORY;
  Header* h = calloc(1, n + 64);
  h->owner = current();
  h->bytes = n;
  atomic_fetch_add(&h->owner->used, n);
  *p = (char*)h + 64;
  return OK;
}
int cuMemFree_v2(char* p) {
  NEED_CONTEXT;
  if (!p) return OK;
  Header* h = (Header*)(p - 64);
  if (h->owner != current()) return VALUE;
  atomic_fetch_sub(&h->owner->used, h->bytes);
  free(h);
  return OK;
}
int cuMemHostAlloc(void** p, size_t n, unsigned flags) { NEED_CONTEXT; if (!n || flags > 7) return VALUE; *p = malloc(n); return OK; }
int cuMemFreeHost(void* p) { NEED_CONTEXT; free(p); return OK; }
int cuMemHostRegister_v2(void* p, size_t n, unsigned flags) { NEED_CONTEXT; return p && n && flags <= 7 ? OK : VALUE; }
int cuMemHostUnregister(void* p) { NEED_CONTEXT; return p ? OK : VALUE; }
int cuMemcpyHtoDAsync_v2(char* d, const void* s, size_t n, void* stream) { CHECK(stream, STREAM); memcpy(d, s, n); return OK; }
int cuMemcpyDtoHAsync_v2(void* d, const char* s, size_t n, void* stream) { CHECK(stream, STREAM); memcpy(d, s, n); return OK; }
int cuMemcpyDtoDAsync_v2(char* d, const char* s, size_t n, void* stream) { CHECK(stream, STREAM); memmove(d, s, n); return OK; }
int cuMemcpyPeerAsync(char* d, Context* dc, const char* s, Context* sc, size_t n, void* stream) {
  CHECK(stream, STREAM);
  if (((Header*)(d - 64))->owner != dc || ((Header*)(s - 64))->owner != sc) return VALUE;
  memcpy(d, s, n);
  return OK;
}
static Node* record(Graph* g) {
  Node* n = calloc(1, sizeof(Node));
  *g->end = n;
  g->end = &n->next;
  g->nodes++;
  return n;
}
static Graph* capture(void* stream) { return stream ? ((Stream*)stream)->capture : 0; }

int cuMemsetD8Async(char* d, unsigned char v, size_t n, void* stream) {
  CHECK(stream, STREAM);
  if (capture(stream)) {
    Node* node = record(capture(stream));
    node->at = d, node->value = v, node->threads = n;
  } else {
    memset(d, v, n);
  }
  return OK;
}
int cuMemsetD32Async(unsigned* d, unsigned v, size_t n, void* stream) {
  CHECK(stream, STREAM);
  for (size_t i = 0; i < n; i++) d[i] = v;
  return OK;
}

// Reserved addresses are host addresses nobody can use until memory is mapped and
// access given.
enum { PAGE = 2 << 20 };
typedef struct Range { struct Range* next; char *raw, *at; size_t bytes; } Range;
typedef struct Physical { Context* owner; size_t bytes; int held, mapped; } Physical;
typedef struct Mapping { struct Mapping* next; char* at; Physical* m; } Mapping;
typedef struct { int type, handles, location, device; void* meta; uint64_t flags; } Prop;
typedef struct { int location, device, flags; } Access;
static Range* ranges;
static Mapping* mappings;

int cuMemAddressReserve(char** p, size_t n, size_t alignment, char* hint, unsigned long long flags) {
  NEED_CONTEXT;
  if (!n || n % PAGE || alignment % PAGE || hint || flags) return VALUE;
  Range* r = calloc(1, sizeof(Range));
  r->raw = mmap(0, n + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r->raw == MAP_FAILED) return MEMORY;
  r->at = (char*)(((uintptr_t)r->raw + alignment - 1) / alignment * alignment);
  r->bytes = n;
  munmap(r->at + n, r->raw + alignment - r->at);
  if (r->at > r->raw) munmap(r->raw, r->at - r->raw);
  r->next = ranges;
  ranges = r;
  *p = r->at;
  return OK;
}
int cuMemAddressFree(char* p, size_t n) {
  NEED_CONTEXT;
  for (Mapping* m = mappings; m; m = m->next) if (m->at >= p && m->at < p + n) return VALUE;
  for (Range** r = &ranges; *r; r = &(*r)->next) {
    if ((*r)->at != p || (*r)->bytes != n) continue;
    Range* gone = *r;
    *r = gone->next;
    munmap(gone->at, n);
    free(gone);
    return OK;
  }
  return VALUE;
}
int cuMemCreate(Physical** m, size_t n, Prop* prop, unsigned long long flags) {
  NEED_CONTEXT;
  if (!n || n % PAGE || flags || prop->type != 1 || prop->handles || prop->location != 1 || prop->meta || prop->flags) return VALUE;
  Context* c = of(prop->device);
  if (!c) return DEVICE;
  if (n > (size_t)(total - c->used)) return MEMORY;
  *m = calloc(1, sizeof(Physical));
  **m = (Physical){c, n, 1, 0};
  atomic_fetch_add(&c->used, n);
  return OK;
}
static void unused(Physical* m) {
  if (m->held || m->mapped) return;
  atomic_fetch_sub(&m->owner->used, m->bytes);
  free(m);
}
int cuMemRelease(Physical* m) { NEED_CONTEXT; if (!m || !m->held) return VALUE; m->held = 0; unused(m); return OK; }
int cuMemMap(char* p, size_t n, size_t offset, Physical* m, unsigned long long flags) {
  NEED_CONTEXT;
  Range* r = ranges;
  while (r && (p < r->at || p + n > r->at + r->bytes)) r = r->next;
  if (!r || !m || n != m->bytes || offset || flags) return VALUE;
  for (Mapping* o = mappings; o; o = o->next) if (o->at < p + n && p < o->at + o->m->bytes) return VALUE;
  Mapping* new = malloc(sizeof(Mapping));
  *new = (Mapping){mappings, p, m};
  mappings = new;
  m->mapped++;
  return OK;
}
int cuMemUnmap(char* p, size_t n) {
  NEED_CONTEXT;
  for (Mapping** at = &mappings; *at; at = &(*at)->next) {
    if ((*at)->at != p || (*at)->m->bytes != n) continue;
    Mapping* gone = *at;
    *at = gone->next;
    madvise(p, n, MADV_DONTNEED);
    mprotect(p, n, PROT_NONE);
    gone->m->mapped--;
    unused(gone->m);
    free(gone);
    return OK;
  }
  return VALUE;
}
int cuMemSetAccess(char* p, size_t n, Access* a, size_t count) {
  NEED_CONTEXT;
  size_t covered = 0;
  for (Mapping* m = mappings; m; m = m->next) if (m->at >= p && m->at + m->m->bytes <= p + n) covered += m->m->bytes;
  if (covered != n) return VALUE;
  for (size_t i = 0; i < count; i++) if (a[i].location != 1 || !of(a[i].device) || a[i].flags != 3) return VALUE;
  return mprotect(p, n, PROT_READ | PROT_WRITE) ? VALUE : OK;
}

int cuStreamCreateWithPriority(Stream** s, unsigned flags, int priority) {
  NEED_CONTEXT;
  if (flags > 1 || priority > 0 || priority < -5) return VALUE;
  *s = make(sizeof(Stream), STREAM);
  return OK;
}
int cuStreamDestroy_v2(void* s) { if (!s) return HANDLE; CHECK(s, STREAM); free(s); return OK; }
int cuStreamQuery(void* s) { CHECK(s, STREAM); return capture(s) ? CAPTURING : OK; }
int cuStreamSynchronize(void* s) { CHECK(s, STREAM); return capture(s) ? CAPTURING : OK; }
int cuStreamWaitEvent(void* s, Object* e, unsigned flags) { CHECK(s, STREAM); return e && e->kind == EVENT && !flags ? OK : HANDLE; }
int cuStreamWaitValue32_v2(void* s, uint64_t addr, unsigned value, unsigned flags) {
  CHECK(s, STREAM);
  return addr && !(flags & ~(1u << 30)) && (int)(*(unsigned*)addr - value) >= 0 ? OK : VALUE;  // what must be waited for never comes
}
int cuStreamIsCapturing(void* s, int* status) { CHECK(s, STREAM); *status = capture(s) != 0; return OK; }
int cuEventCreate(Event** e, unsigned flags) {
  NEED_CONTEXT;
  if (flags > 7) return VALUE;
  *e = make(sizeof(Event), EVENT);
  (*e)->flags = flags;
  return OK;
}
int cuEventDestroy_v2(void* e) { CHECK(e, EVENT); free(e); return OK; }
int cuEventRecord(Event* e, void* s) {
  CHECK(e, EVENT);
  CHECK(s, STREAM);
  e->recorded = 1;
  clock_gettime(CLOCK_MONOTONIC, &e->at);
  return OK;
}
int cuEventQuery(void* e) { return check(e, EVENT); }
int cuEventSynchronize(void* e) { return check(e, EVENT); }
int cuEventElapsedTime(float* ms, Event* a, Event* b) {
  CHECK(a, EVENT);
  CHECK(b, EVENT);
  if ((a->flags | b->flags) & 2 || !a->recorded || !b->recorded) return HANDLE;
  *ms = (b->at.tv_sec - a->at.tv_sec) * 1e3 + (b->at.tv_nsec - a->at.tv_nsec) * 1e-6;
  return OK;
}

// The modules are those of the tests: PTX with the kernels that run knows.
int cuModuleLoadDataEx(Object** m, const char* image, unsigned n, int* options, void** values) {
  NEED_CONTEXT;
  if (n != 2 || options[0] != 5 || options[1] != 6) return VALUE;
  if (!strstr(image, ".version")) {
    snprintf(values[0], (size_t)values[1], "the fake reads no such thing");
    return PTX;
  }
  *m = make(sizeof(Object), MODULE);
  return OK;
}
int cuModuleUnload(void* m) { CHECK(m, MODULE); free(m); return OK; }
int cuModuleGetFunction(Function** f, void* m, const char* name) {
  CHECK(m, MODULE);
  if (strcmp(name, "vector_add") && strcmp(name, "count_up") && strcmp(name, "spin_for")) return NOT_FOUND;
  *f = make(sizeof(Function), FUNCTION);
  strcpy((*f)->name, name);
  return OK;
}
int cuModuleGetGlobal_v2(char** p, size_t* n, void* m, const char* name) {
  static struct { char header[64]; int value; } answer = {{0}, 42};
  CHECK(m, MODULE);
  if (strcmp(name, "answer")) return NOT_FOUND;
  *p = (char*)&answer.value;
  *n = 4;
  return OK;
}
int cuFuncGetAttribute(int* v, int a, void* f) { CHECK(f, FUNCTION); if (a < 0 || a > 9) return VALUE; *v = a ? a : 1024; return OK; }
int cuFuncSetAttribute(void* f, int a, int v) { CHECK(f, FUNCTION); return (a == 8 || a == 9) && v <= 100000 ? OK : VALUE; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* f, int threads, size_t shared) {
  CHECK(f, FUNCTION);
  *n = shared > 100000 ? 0 : 2048 / threads;
  return OK;
}
int cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, void* f, void* sizes, size_t shared, int limit) {
  CHECK(f, FUNCTION);
  if (sizes) return VALUE;
  *grid = 264;
  *threads = limit ? limit : 1024;
  return OK;
}

static void run(const char* name, const char* p, long long threads) {
  if (!strcmp(name, "vector_add")) {
    struct { float *a, *b, *c; unsigned n; } a;
    memcpy(&a, p, 28);
    for (unsigned i = 0; i < a.n && i < threads; i++) a.c[i] = a.a[i] + a.b[i];
  } else if (!strcmp(name, "count_up")) {
    struct { atomic_llong* at; long long step; } a;
    memcpy(&a, p, sizeof a);
    atomic_fetch_add(a.at, a.step * threads);
  } else {
    long long ns;
    memcpy(&ns, p, sizeof ns);
    usleep(ns / 1000);
  }
}

#ifndef OMIT_LAUNCH
int cuLaunchKernel(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** params, void** extra) {
  CHECK(f, FUNCTION);
  CHECK(stream, STREAM);
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || params || !extra || shared > 100000) return VALUE;
  if (extra[0] != (void*)1 || extra[2] != (void*)2 || extra[4]) return VALUE;
  size_t want = !strcmp(f->name, "vector_add") ? 28 : !strcmp(f->name, "count_up") ? 16 : 8;
  if (*(size_t*)extra[3] != want) return VALUE;
  long long threads = (long long)gx * gy * gz * bx * by * bz;
  if (capture(stream)) {
    Node* n = record(capture(stream));
    n->f = f, n->threads = threads;
    memcpy(n->params, extra[1], want);
  } else {
    run(f->name, extra[1], threads);
  }
  return OK;
}

typedef struct { int id; char pad[4]; union { char bytes[64]; int early; } value; } LaunchAttribute;
typedef struct { unsigned grid[3], block[3], shared; void* stream; LaunchAttribute* attributes; unsigned count; } LaunchConfig;
int cuLaunchKernelEx(const LaunchConfig* c, Function* f, void** params, void** extra) {
  if (sizeof(LaunchAttribute) != 72 || sizeof(LaunchConfig) != 56 || c->count != 1) return VALUE;
  if (c->attributes->id != 6 || c->attributes->value.early != 1) return VALUE; // programmatic stream serialization
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, params, extra);
}
#endif

int cuStreamBeginCapture_v2(Stream* s, int mode) {
  if (!s) return CAPTURING;
  CHECK(s, STREAM);
  if (mode != 2) return VALUE;
  if (s->capture) return ILLEGAL;
  s->capture = make(sizeof(Graph), GRAPH);
  s->capture->end = &s->capture->first;
  return OK;
}
int cuStreamEndCapture(Stream* s, Graph** g) {
  if (!s) return CAPTURING;
  CHECK(s, STREAM);
  if (!s->capture) return ILLEGAL;
  *g = s->capture;
  s->capture = 0;
  return OK;
}
int cuStreamGetCaptureInfo_v2(Stream* s, int* status, uint64_t* id, Graph** g, Node*** follow, size_t* n) {
  static __thread Node* last;
  CHECK(s, STREAM);
  *status = capture(s) != 0;
  if (!*status) return OK;
  *id = (uint64_t)(uintptr_t)s->capture;
  *g = s->capture;
  *n = s->capture->nodes > 0;
  last = *n ? (Node*)((char*)s->capture->end - offsetof(Node, next)) : 0;
  *follow = &last;
  return OK;
}
int cuGraphGetNodes(Graph* g, void** nodes, size_t* n) { CHECK(g, GRAPH); *n = g->nodes; return nodes ? VALUE : OK; }
// Nodes live on, for those of a GraphExec are the graph's own; but nobody can name them.
int cuGraphDestroy(Graph* g) {
  CHECK(g, GRAPH);
  for (Node* n = g->first; n; n = n->next) n->gone = 1;
  free(g);
  return OK;
}
int cuGraphInstantiateWithFlags(Graph** x, Graph* g, unsigned long long flags) {
  CHECK(g, GRAPH);
  if (flags) return VALUE;
  *x = make(sizeof(Graph), EXEC);
  (*x)->first = g->first;
  return OK;
}
int cuGraphLaunch(Graph* x, void* s) {
  CHECK(x, EXEC);
  CHECK(s, STREAM);
  if (capture(s)) return CAPTURING;
  for (Node* n = x->first; n; n = n->next) {
    if (n->f) run(n->f->name, n->params, n->threads);
    else memset(n->at, n->value, n->threads);
  }
  return OK;
}
int cuGraphExecDestroy(void* x) { CHECK(x, EXEC); free(x); return OK; }
typedef struct { Function* f; unsigned grid[3], block[3], shared; void** params; void** extra; void* kernel; void* context; } NodeParams;
int cuGraphExecKernelNodeSetParams_v2(Graph* x, Node* n, NodeParams* p) {
  CHECK(x, EXEC);
  CHECK(p->f, FUNCTION);
  if (!n || n->gone || n->f != p->f || p->params || p->kernel || p->context || !p->extra) return VALUE;
  if (p->extra[0] != (void*)1 || p->extra[2] != (void*)2 || p->extra[4] || *(size_t*)p->extra[3] > sizeof n->params) return VALUE;
  memcpy(n->params, p->extra[1], *(size_t*)p->extra[3]);
  n->threads = (long long)p->grid[0] * p->grid[1] * p->grid[2] * p->block[0] * p->block[1] * p->block[2];
  return OK;
}

// Handles to memory and events: the address, and what is at the end of a handle that arrived
// whole. Other than a device's, they open in this process too.
typedef struct { char bytes[64]; } Handle;
enum { MEMORY_END = 7, EVENT_END = 9, INTERPROCESS = 4, LAZY = 1 };

static void pack(Handle* h, void* p, char end) {
  memset(h, 0x5a, sizeof *h);
  memcpy(h->bytes, &p, sizeof p);
  h->bytes[63] = end;
}

int cuIpcGetMemHandle(Handle* h, char* p) { NEED_CONTEXT; pack(h, p, MEMORY_END); return OK; }
int cuIpcOpenMemHandle_v2(char** p, Handle h, unsigned flags) {
  NEED_CONTEXT;
  if (flags != LAZY || h.bytes[62] != 0x5a || h.bytes[63] != MEMORY_END) return VALUE;
  memcpy(p, h.bytes, sizeof *p);
  return OK;
}
int cuIpcCloseMemHandle(char* p) { NEED_CONTEXT; return p ? OK : VALUE; }
int cuIpcGetEventHandle(Handle* h, Event* e) {
  CHECK(e, EVENT);
  if (!(e->flags & INTERPROCESS)) return VALUE;
  pack(h, e, EVENT_END);
  return OK;
}
int cuIpcOpenEventHandle(Event** e, Handle h) {
  NEED_CONTEXT;
  if (h.bytes[62] != 0x5a || h.bytes[63] != EVENT_END) return VALUE;
  memcpy(e, h.bytes, sizeof *e);
  return OK;
}
