/* cutrace.c - writes the records that CUPTI makes of a run, as lines of text */
#include "cutrace.h"

#include <cupti.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SIZE (8u << 20)

enum { BUFFERS = 8, STEPS = 64 };

static struct buffer {
	uint8_t *data;
	size_t used;
	bool lent;
} buffers[BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct step {
	uint64_t start, end;
} steps[STEPS];
static int nsteps;

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_RUNTIME,	 CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,		 CUPTI_ACTIVITY_KIND_CUDA_EVENT,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD,
};

static void check(CUptiResult r, const char *call)
{
	const char *why = "?";

	if (r == CUPTI_SUCCESS)
		return;
	cuptiGetResultString(r, &why);
	fprintf(stderr, "%s: %s\n", call, why);
	exit(1);
}
#define CHECK(call) check(call, #call)

static uint64_t now(void)
{
	uint64_t t = 0;

	CHECK(cuptiGetTimestamp(&t));
	return t;
}

/* Gives CUPTI a buffer. Without a free one CUPTI drops records, and only counts them. */
static void CUPTIAPI lend(uint8_t **data, size_t *size, size_t *max_records)
{
	*data = NULL;
	*size = *max_records = 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS && !*data; i++)
		if (!buffers[i].lent && !buffers[i].used) {
			buffers[i].lent = true;
			*data = buffers[i].data;
			*size = SIZE;
		}
	pthread_mutex_unlock(&lock);
}

static void CUPTIAPI take_back(CUcontext context, uint32_t stream, uint8_t *data,
			       size_t size, size_t used)
{
	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS; i++)
		if (buffers[i].data == data) {
			buffers[i].lent = false;
			buffers[i].used = used;
		}
	pthread_mutex_unlock(&lock);
}

void cutrace_start(void)
{
	for (int i = 0; i < BUFFERS; i++) {
		buffers[i].data = aligned_alloc(4096, SIZE);
		if (!buffers[i].data)
			abort();
		memset(buffers[i].data, 0, SIZE); /* touches the pages before they are used */
	}
	CHECK(cuptiActivityRegisterCallbacks(lend, take_back));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		CHECK(cuptiActivityEnable(kinds[i]));
}

void cutrace_discard(void)
{
	CHECK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS; i++)
		buffers[i].used = 0;
	pthread_mutex_unlock(&lock);
}

void cutrace_begin_step(void)
{
	if (nsteps == STEPS)
		abort();
	steps[nsteps].start = now();
}

void cutrace_end_step(void)
{
	steps[nsteps++].end = now();
}

void cutrace_print_stream(FILE *f, void *stream, enum cutrace_flag flag)
{
	uint32_t id = 0;

	CHECK(cuptiGetStreamId(NULL, stream, &id));
	fprintf(f, "Q\t%u\t%d\n", id, flag);
}

static void print_span(FILE *f, char kind, uint64_t start, uint64_t end)
{
	fprintf(f, "%c\t%" PRIu64 "\t%" PRIu64 "\t", kind, start, end);
}

static void print_call(FILE *f, const CUpti_ActivityAPI *r)
{
	const char *name = NULL;

	CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, r->cbid, &name));
	print_span(f, 'R', r->start, r->end);
	fprintf(f, "%u\t%s\n", r->correlationId, name);
}

static void print_kernel(FILE *f, const CUpti_ActivityKernel10 *k)
{
	print_span(f, 'K', k->start, k->end);
	fprintf(f, "%u\t%u\t%s\t%d\t%d\t%u\t%" PRIu64 "\n", k->streamId, k->correlationId,
		k->name, k->gridX, k->registersPerThread, k->graphId, k->graphNodeId);
}

static void print_copy(FILE *f, const CUpti_ActivityMemcpy6 *c)
{
	print_span(f, 'C', c->start, c->end);
	fprintf(f, "%u\t%u\t%" PRIu64 "\t%d\t%d\t%d\n", c->streamId, c->correlationId,
		c->bytes, c->copyKind, c->srcKind, c->dstKind);
}

static void print_wait(FILE *f, const CUpti_ActivitySynchronization2 *y)
{
	print_span(f, 'Y', y->start, y->end);
	fprintf(f, "%u\t%u\t%u\t%u\n", y->correlationId, y->streamId, y->cudaEventId,
		(uint32_t)y->cudaEventSyncId);
}

static void print_event(FILE *f, const CUpti_ActivityCudaEvent2 *e)
{
	fprintf(f, "E\t%u\t%u\t%u\t%u\n", e->streamId, e->correlationId, e->eventId,
		(uint32_t)e->cudaEventSyncId);
}

static void print_overhead(FILE *f, const CUpti_ActivityOverhead3 *o)
{
	print_span(f, 'O', o->start, o->end);
	fprintf(f, "%d\t%u\n", o->overheadKind >> 16, o->correlationId);
}

static void print_record(FILE *f, const CUpti_Activity *a)
{
	switch (a->kind) {
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		print_call(f, (const void *)a);
		break;
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		print_kernel(f, (const void *)a);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		print_copy(f, (const void *)a);
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		print_wait(f, (const void *)a);
		break;
	case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
		print_event(f, (const void *)a);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		print_overhead(f, (const void *)a);
		break;
	default:
		break;
	}
}

void cutrace_print(FILE *f)
{
	size_t dropped = 0;

	CHECK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	CHECK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	if (dropped) {
		fprintf(stderr, "%zu records were dropped\n", dropped);
		exit(1);
	}
	for (int i = 0; i < nsteps; i++) {
		print_span(f, 'N', steps[i].start, steps[i].end);
		fprintf(f, "step\n");
	}
	for (int i = 0; i < BUFFERS; i++) {
		CUpti_Activity *a = NULL;

		while (buffers[i].used &&
		       cuptiActivityGetNextRecord(buffers[i].data, buffers[i].used, &a) ==
			   CUPTI_SUCCESS)
			print_record(f, a);
	}
}
