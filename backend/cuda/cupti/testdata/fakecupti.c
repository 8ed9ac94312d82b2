// The functions of CUPTI that are called. Work is done by fakeWork, on a thread of its own
// as the real library hands over its buffers: a record of the owner, and one each of a
// kernel, a copy, a clearing and a copy between devices.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*request_t)(uint8_t **, size_t *, size_t *);
typedef void (*complete_t)(void *, uint32_t, uint8_t *, size_t, size_t);

static request_t request;
static complete_t complete;
static uint64_t on, id, depth;
static uint32_t correlation;
static uint8_t *buffer;
static size_t size, used, lost;

enum { RECORD = 160 };

uint32_t cuptiActivityRegisterCallbacks(request_t r, complete_t c) { request = r; complete = c; return 0; }
uint32_t cuptiActivityEnable(uint32_t kind) { if (kind > 63) return 1; on |= 1ull << kind; return 0; }
uint32_t cuptiActivityDisable(uint32_t kind) { on &= ~(1ull << kind); return 0; }
uint32_t cuptiGetTimestamp(uint64_t *ns) { *ns = 1000000; return 0; }
uint32_t cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t i) { id = i; depth++; return kind == 3 ? 0 : 1; }
uint32_t cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) { *last = id; id = 0; depth--; return 0; }
uint32_t cuptiActivityGetNumDroppedRecords(void *c, uint32_t s, size_t *n) { *n = lost; return 0; }
uint32_t cuptiGetResultString(uint32_t code, const char **text) { *text = "FAKE"; return 0; }

static void *hand(void *unused) { complete(NULL, 0, buffer, size, used); buffer = NULL; return NULL; }

static void elsewhere(void *(*f)(void *)) {
	pthread_t t;
	pthread_create(&t, NULL, f, NULL);
	pthread_join(t, NULL);
}

uint32_t cuptiActivityFlushAll(uint32_t flag) { if (buffer) elsewhere(hand); return 0; }

uint32_t cuptiActivityGetNextRecord(uint8_t *b, size_t valid, uint8_t **r) {
	uint8_t *next = *r ? *r + RECORD : b;
	if (next + RECORD > b + valid) return 12;
	*r = next;
	return 0;
}

static uint8_t *record(uint32_t kind) {
	size_t most;
	if (!(on >> kind & 1)) return NULL;
	if (buffer && used + RECORD > size) elsewhere(hand);
	if (!buffer) { used = 0; request(&buffer, &size, &most); }
	if (!buffer) { lost++; return NULL; }
	uint8_t *r = buffer + used;
	used += RECORD;
	memset(r, 0, RECORD);
	*(uint32_t *)r = kind;
	return r;
}

static void *work(void *unused) {
	static const struct { uint32_t kind, device, stream, correlation; } at[] = {{10, 40, 48, 92}, {1, 32, 40, 44}, {2, 32, 40, 44}, {22, 32, 40, 60}};
	uint8_t *r;
	correlation++;
	record(4);
	if (id && (r = record(39))) { *(uint32_t *)(r + 4) = 3; *(uint64_t *)(r + 8) = id; *(uint32_t *)(r + 16) = correlation; }
	for (int i = 0; i < 4; i++) {
		if (!(r = record(at[i].kind))) continue;
		*(uint64_t *)(r + 16) = 1000000 + 1000 * (i + 1);
		*(uint64_t *)(r + 24) = 1000000 + 1000 * (i + 1) + 500;
		*(uint32_t *)(r + at[i].device) = 1;
		*(uint32_t *)(r + at[i].stream) = 7;
		*(uint32_t *)(r + at[i].correlation) = correlation;
		if (i == 0) *(const char **)(r + 104) = "kernel";
		else *(uint64_t *)(r + 8) = 64 * i;
	}
	return NULL;
}

uint64_t fakeWork(uint64_t n) {
	while (n--) elsewhere(work);
	return depth;
}
uint64_t fakeLost(void) { return lost; }
