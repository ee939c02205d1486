/* blocks.c - a program to capture where there is no GPU: it reads a file block by
 * block and adds up its bytes, with a thread that reads and one that adds, each
 * waiting for the other because there is one buffer only. examples/blocks.nsys-rep is
 * what nsys recorded of it, and examples/blocks/ what this program says of that.
 *
 *	cc -O2 -pthread -I NSYS/target-linux-x64/nvtx/include \
 *	   -o blocks examples/blocks.c -ldl
 *	nsys profile -t nvtx,osrt --sample=none --cpuctxsw=none -o blocks ./blocks
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#define nvtxRangePushA(name) ((void)(name))
#define nvtxRangePop() ((void)0)
#endif

enum { BLOCK = 4 << 20, BLOCKS = 24 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned char buffer[BLOCK];
static int is_full;

static void wait_until(int full)
{
	nvtxRangePushA(full ? "wait for a block" : "wait for the buffer");
	pthread_mutex_lock(&lock);
	while (is_full != full)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	nvtxRangePop();
}

static void say(int full)
{
	pthread_mutex_lock(&lock);
	is_full = full;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void *read_blocks(void *file)
{
	for (int i = 0; i < BLOCKS; i++) {
		wait_until(0);
		nvtxRangePushA("read");
		if (pread(fileno(file), buffer, BLOCK, (off_t)i * BLOCK) != BLOCK)
			abort();
		nvtxRangePop();
		say(1);
	}
	return NULL;
}

static unsigned long add_block(void)
{
	unsigned long sum = 0;

	nvtxRangePushA("add");
	for (size_t i = 0; i < BLOCK; i++)
		sum = sum * 31 + buffer[i];
	nvtxRangePop();
	return sum;
}

int main(void)
{
	FILE *file = tmpfile();
	unsigned long sum = 0;
	pthread_t reader;

	memset(buffer, 7, sizeof(buffer));
	nvtxRangePushA("write");
	for (int i = 0; i < BLOCKS; i++)
		if (!file || fwrite(buffer, BLOCK, 1, file) != 1)
			return 1;
	if (fflush(file) || fsync(fileno(file)))
		return 1;
	nvtxRangePop();
	if (pthread_create(&reader, NULL, read_blocks, file))
		return 1;
	for (int i = 0; i < BLOCKS; i++) {
		nvtxRangePushA("step");
		wait_until(1);
		sum += add_block();
		say(0);
		nvtxRangePop();
	}
	pthread_join(reader, NULL);
	printf("%lu\n", sum);
	return 0;
}
