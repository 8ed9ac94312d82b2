// A management library that knows one GPU and three processes on it.
#include <string.h>

typedef struct { unsigned pid; unsigned long long bytes; unsigned instance, compute; } Process;
static int started, gpu;

int nvmlInit_v2(void) { started = 1; return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (!started || strcmp(uuid, "GPU-1234")) return 6;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* list) {
  if (device != &gpu) return 2;
  unsigned room = *count;
  *count = 3;
  if (room < 3) return 7;
  for (unsigned i = 0; i < 3; i++) list[i] = (Process){100 + i, (i + 1) * 5000000000ULL, 0, 0};
  return 0;
}
