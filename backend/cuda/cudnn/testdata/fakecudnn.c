// A cuDNN for tests without a GPU. It computes nothing: it names one algorithm
// for every problem, and fails to run it when told to. A handle that is used by two
// threads at once, or runs on no stream, is an error of the device.
#include <stdint.h>
#include <unistd.h>

static int failing, live;

void fake_fail(int status) { failing = status; }
int fake_live(void) { return live; } /* descriptors made and not destroyed */

enum { HANDLES = 64 };
static struct handle { int busy; void* stream; } handles[HANDLES];
static int made, most = HANDLES, delay, algorithm = 1;
static int relu, format;
static float beta_given;
static uintptr_t used; /* the sum of the streams of all runs */

int fake_beta(void) { return (int)beta_given; } /* of the last run */
int fake_format(void) { return format; } /* of the last weights described */
int fake_made(void) { return made; }
void fake_most(int n) { most = n; }
void fake_algorithm(int n) { algorithm = n; }
void fake_delay(int microseconds) { delay = microseconds; }
uintptr_t fake_used(void) { return used; }

int cudnnCreate(void** handle) {
  if (made >= most) return 1001;
  *handle = &handles[made++];
  return 0;
}

static int run(struct handle* h) {
  int result = failing;
  if (__sync_lock_test_and_set(&h->busy, 1)) return 5001;
  if (delay) usleep(delay);
  if (!h->stream) result = 5002;
  __sync_fetch_and_add(&used, (uintptr_t)h->stream);
  __sync_lock_release(&h->busy);
  return result;
}

const char* cudnnGetErrorString(int status) { return status ? "FAKE_STATUS" : "FAKE_SUCCESS"; }
int cudnnSetStream(void* handle, void* stream) { ((struct handle*)handle)->stream = stream; return 0; }

#define DESCRIPTOR(NAME) \
  int cudnnCreate##NAME##Descriptor(void** d) { *d = &failing; live++; return 0; } \
  int cudnnDestroy##NAME##Descriptor(void* d) { live--; return 0; }
DESCRIPTOR(Tensor)
DESCRIPTOR(Filter)
DESCRIPTOR(Convolution)
DESCRIPTOR(Activation)

int cudnnSetTensorNdDescriptor(void* d, int type, int rank, const int* shape, const int* strides) { return 0; }
int cudnnSetFilterNdDescriptor(void* d, int type, int f, int rank, const int* shape) { format = f; return 0; }
int cudnnSetConvolutionNdDescriptor(void* d, int rank, const int* pad, const int* stride, const int* dilation, int mode, int type) { return 0; }
int cudnnSetActivationDescriptor(void* d, int mode, int nan, double most) { relu = mode == 1; return nan == 1 && most == 0 ? 0 : 2000; }
int cudnnSetConvolutionGroupCount(void* d, int groups) { return 0; }
int cudnnSetConvolutionMathType(void* d, int type) { return 0; }

struct candidate {
  int32_t algorithm, status;
  float time;
  uint64_t memory;
  int32_t determinism, math, reserved[3];
};

#define DIRECTION(NAME) \
  int cudnnGetConvolution##NAME##Algorithm_v7(void* h, void* a, void* b, void* c, void* d, int asked, int* found, struct candidate* list) { \
    list[0] = (struct candidate){.algorithm = algorithm, .determinism = 1}; \
    *found = 1; \
    return 0; \
  } \
  int cudnnGetConvolution##NAME##WorkspaceSize(void* h, void* a, void* b, void* c, void* d, int algorithm, uint64_t* bytes) { \
    *bytes = 4096; \
    return 0; \
  } \
  int cudnnConvolution##NAME(void* h, void* alpha, void* a, void* x, void* b, void* y, void* c, int algorithm, void* workspace, \
                             uint64_t bytes, void* beta, void* d, void* z) { \
    beta_given = *(float*)beta; \
    return workspace != 0 && bytes == 4096 ? run(h) : 2000; \
  }
DIRECTION(Forward)
DIRECTION(BackwardData)
DIRECTION(BackwardFilter)

int cudnnConvolutionBiasActivationForward(void* h, void* one, void* a, void* x, void* b, void* w, void* c, int algorithm, void* workspace,
                                          uint64_t bytes, void* factor, void* d, void* z, void* e, void* bias, void* f, void* g, void* y) {
  beta_given = *(float*)factor;
  /* 5 is the bias of the tests; what is added is 4, or the result with the factor 0 */
  int right = workspace != 0 && bytes == 4096 && algorithm == 1 && *(float*)one == 1 && bias == (void*)5 && y == (void*)3 && z == (beta_given ? (void*)4 : y);
  return right ? run(h) : 2000;
}
int fake_relu(void) { return relu; } /* whether the last activation described is that */
