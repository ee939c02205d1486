/* gen_meter.c - makes samples of GPU metrics from the busy time of each GPU.
 *
 * Busy time is added up in bins of one sampling period. A bin becomes one
 * sample of every metric once all ranks are past it.
 */
#include "gen.h"

#include <stdlib.h>
#include <string.h>

const char *const metric_names[NMETRICS] = {
    "GPC Clock Frequency [MHz]",
    "SYS Clock Frequency [MHz]",
    "GR Active [Throughput %]",
    "SMs Active [Throughput %]",
    "SM Issue [Throughput %]",
    "Tensor Active [Throughput %]",
    "Compute Warps in Flight [Throughput %]",
    "Unallocated Warps in Active SMs [Throughput %]",
    "DRAM Read Bandwidth [Throughput %]",
    "DRAM Write Bandwidth [Throughput %]",
    "PCIe RX Throughput [Throughput %]",
    "PCIe TX Throughput [Throughput %]",
    "NVLink RX Requests Protocol Data [Throughput %]",
    "NVLink RX Requests User Data [Throughput %]",
    "NVLink RX Responses Protocol Data [Throughput %]",
    "NVLink RX Responses User Data [Throughput %]",
    "NVLink TX Requests Protocol Data [Throughput %]",
    "NVLink TX Requests User Data [Throughput %]",
    "NVLink TX Responses Protocol Data [Throughput %]",
    "NVLink TX Responses User Data [Throughput %]",
};

/* How much each metric rises, in percent, with each percent of time in compute, collectives,
 * copies.
 */
static const int weights[NMETRICS][U_COUNT] = {
    {0, 0, 0},	{0, 0, 0},  {100, 100, 0}, {92, 18, 0}, {48, 4, 0},
    {41, 0, 0}, {55, 9, 0}, {30, 60, 0},   {38, 8, 20}, {24, 8, 20},
    {0, 1, 70}, {0, 1, 12}, {1, 9, 0},	   {1, 72, 0},	{0, 6, 0},
    {0, 12, 0}, {1, 9, 0},  {1, 71, 0},	   {0, 6, 0},	{0, 11, 0},
};

/* The id is made of hardware (8 bits), VM (8), source (16) and type (32), which ends in the GPU. */
int64_t metric_type_id(int gpu)
{
	return (INT64_C(1) << 48) | (INT64_C(17) << 32) | (int64_t)gpu;
}

void meter_init(struct meter *m, struct out *o, const struct opts *opts)
{
	*m = (struct meter){.out = o};
	m->rng.s = opts->seed ^ 0x6d65746572;
	m->gpus = opts->procs < MAX_GPUS ? opts->procs : MAX_GPUS;
	if (opts->metrics_hz > 0) {
		m->period_ns = 1000000000 / opts->metrics_hz;
		m->base = FIRST_NS / m->period_ns;
	}
}

static void widen(struct meter *m, int64_t nbins)
{
	int64_t n = m->nbins ? m->nbins : 1024;

	while (n < nbins)
		n *= 2;
	for (int g = 0; g < m->gpus; g++)
		for (int u = 0; u < U_COUNT; u++) {
			int64_t *b = grow(m->busy[g][u], (size_t)n, sizeof(*b));

			memset(b + m->nbins, 0, (size_t)(n - m->nbins) * sizeof(*b));
			m->busy[g][u] = b;
		}
	m->nbins = n;
}

void meter_use(struct meter *m, int gpu, enum use use, int64_t start, int64_t end)
{
	if (!m->period_ns)
		return;
	for (int64_t bin = start / m->period_ns; bin * m->period_ns < end; bin++) {
		int64_t from = bin * m->period_ns, to = from + m->period_ns;

		if (bin < m->base)
			continue;
		if (bin - m->base >= m->nbins)
			widen(m, bin - m->base + 1);
		m->busy[gpu][use][bin - m->base] +=
		    (to < end ? to : end) - (from > start ? from : start);
	}
}

static void sample(struct meter *m, int gpu, int64_t bin)
{
	int64_t time = (m->base + bin) * m->period_ns;

	time += rng_in(&m->rng, 0, m->period_ns / 50);
	for (int i = 0; i < NMETRICS; i++) {
		int64_t value = 0;

		for (int u = 0; u < U_COUNT; u++)
			value += weights[i][u] * m->busy[gpu][u][bin];
		value = value / m->period_ns + (value > 0) * rng_in(&m->rng, -2, 2);
		if (i < 2)
			value = 1980000000 - rng_in(&m->rng, 0, 40) * 1000000;
		else if (value < 0)
			value = 0;
		else if (value > 100)
			value = 100;
		const int64_t v[] = {time + 1234567890, time,
				     metric_type_id(gpu), i + 1, value};

		out_row(m->out, T_METRICS, v, COUNT(v));
	}
}

void meter_flush(struct meter *m, int64_t until)
{
	int64_t n;

	if (!m->period_ns)
		return;
	n = until / m->period_ns - m->base;
	if (n <= 0)
		return;
	if (n > m->nbins)
		widen(m, n);
	for (int64_t bin = 0; bin < n; bin++)
		for (int g = 0; g < m->gpus; g++)
			sample(m, g, bin);
	for (int g = 0; g < m->gpus; g++)
		for (int u = 0; u < U_COUNT; u++) {
			int64_t *b = m->busy[g][u];
			size_t keep = (size_t)(m->nbins - n);

			memmove(b, b + n, keep * sizeof(*b));
			memset(b + keep, 0, (size_t)n * sizeof(*b));
		}
	m->base += n;
}

void meter_done(struct meter *m)
{
	for (int g = 0; g < m->gpus; g++)
		for (int u = 0; u < U_COUNT; u++)
			free(m->busy[g][u]);
}
