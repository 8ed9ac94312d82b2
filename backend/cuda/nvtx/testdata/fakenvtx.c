// The two functions of NVTX that are called, which remember the ranges they were given.
#include <stdint.h>
#include <string.h>

static char names[8][64];
static uint64_t begun, ended;

uint64_t nvtxRangeStartA(const char *name) {
	strncpy(names[begun % 8], name, 63);
	return ++begun;
}

void nvtxRangeEnd(uint64_t id) { ended = ended * 10 + id; }

uint64_t byteAt(uint64_t id, uint64_t i) { return names[(id - 1) % 8][i]; }
uint64_t endedSoFar(void) { return ended; }
