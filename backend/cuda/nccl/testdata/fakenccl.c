// A library with NCCL's interface (nccl.h, types and order of the arguments as there) that
// moves nothing and writes down what it is asked for.
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct comm { int rank, root; } *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef struct { // the beginning of ncclConfig_t
	size_t size;
	unsigned int magic, version;
	int blocking, cgaClusterSize, minCTAs, maxCTAs;
	const char *netName;
	int splitShare;
} ncclConfig_t;

static char text[1 << 14], copied[1 << 14];
static char writing; // somebody is at text: calls come from several threads
static struct comm roots[16], comms[16];
static int state;   // of every communicator
static int pending; // how often that is "in progress" before
static volatile int hanging; // an all-reduce does not return before an abort

static void lock(void) { while (__atomic_test_and_set(&writing, __ATOMIC_ACQUIRE)) usleep(1); }
static void unlock(void) { __atomic_clear(&writing, __ATOMIC_RELEASE); }

#define SAY(...) do { lock(); snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__); unlock(); } while (0)

const char *fake_log(void) { lock(); strcpy(copied, text); unlock(); return copied; }
int fake_state(int s, int p) { state = s; pending = p; return 0; }
int fake_reset(int s, int p) { lock(); text[0] = 0; unlock(); return fake_state(s, p); }

static volatile int graphs; // what is given back waits for graphs to be freed
int fake_graphs(int n) { graphs = n; return 0; }

static void give(ncclComm_t comm, const char *how) {
	while (graphs && !comm->root)
		usleep(1000);
	SAY("%s %s%d\n", how, comm->root ? "root " : "", comm->rank);
}

int fake_hang(void) { hanging = 1; return 0; }

int ncclGetVersion(int *version) { *version = 22907; return 0; }
int ncclGetUniqueId(ncclUniqueId *id) { memset(id, 'i', sizeof *id); return 0; }
const char *ncclGetErrorString(int code) { return code == 6 ? "remote process exited" : "another error"; }

int ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int n, ncclUniqueId *ids, ncclConfig_t *c) {
	*comm = &roots[rank];
	(*comm)->rank = rank;
	(*comm)->root = 1;
	SAY("init %d of %d by %d %c%c; %zu %x %u blocking %d undefined %d net %d\n", rank, nranks, n, ids->internal[0], ids->internal[127],
		c->size, c->magic, c->version, c->blocking,
		c->cgaClusterSize == INT_MIN && c->minCTAs == INT_MIN && c->maxCTAs == INT_MIN, c->netName != NULL);
	return 7;
}
int ncclCommSplit(ncclComm_t root, int color, int key, ncclComm_t *comm, ncclConfig_t *c) {
	*comm = &comms[root->rank];
	(*comm)->rank = key;
	SAY("split %d: color %d blocking %d share %d\n", key, color, c->blocking, c->splitShare);
	return 7;
}
int ncclCommGetAsyncError(ncclComm_t comm, int *error) {
	(void)comm;
	*error = pending > 0 ? 7 : state;
	pending -= pending > 0;
	return 0;
}
int ncclCommAbort(ncclComm_t comm) { hanging = 0; give(comm, "abort"); return 0; }
int ncclCommDestroy(ncclComm_t comm) { give(comm, "destroy"); return 0; }
int ncclGroupStart(void) { SAY("{"); return 0; }
int ncclGroupEnd(void) { SAY("}\n"); return 0; }

#define AT(p) ((unsigned long)(p) & 0xffff)
int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, ncclComm_t c, void *s) {
	SAY("allreduce %lx %lx %zu type %d op %d comm %d stream %lu;", AT(in), AT(out), n, type, op, c->rank, (unsigned long)s);
	if (!hanging)
		return 0;
	while (hanging)
		usleep(1000);
	return 1;
}
int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, ncclComm_t c, void *s) {
	SAY("broadcast %lx %lx %zu type %d root %d comm %d stream %lu;", AT(in), AT(out), n, type, root, c->rank, (unsigned long)s); return 0;
}
int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root, ncclComm_t c, void *s) {
	SAY("reduce %lx %lx %zu type %d op %d root %d comm %d stream %lu;", AT(in), AT(out), n, type, op, root, c->rank, (unsigned long)s); return 0;
}
int ncclAllGather(const void *in, void *out, size_t n, int type, ncclComm_t c, void *s) {
	SAY("allgather %lx %lx %zu type %d comm %d stream %lu;", AT(in), AT(out), n, type, c->rank, (unsigned long)s); return 0;
}
int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, ncclComm_t c, void *s) {
	SAY("reducescatter %lx %lx %zu type %d op %d comm %d stream %lu;", AT(in), AT(out), n, type, op, c->rank, (unsigned long)s); return 0;
}
int ncclSend(const void *in, size_t n, int type, int peer, ncclComm_t c, void *s) {
	SAY("send %lx %zu type %d to %d comm %d stream %lu;", AT(in), n, type, peer, c->rank, (unsigned long)s); return 0;
}
int ncclRecv(void *out, size_t n, int type, int peer, ncclComm_t c, void *s) {
	SAY("recv %lx %zu type %d from %d comm %d stream %lu;", AT(out), n, type, peer, c->rank, (unsigned long)s); return 0;
}
