/* storm.c - launch rate and durations of a set of kernels. */
#include "base/stat.h"
#include "passes/host/storm.h"

const struct nsx_storm_threshold nsx_storm_thresholds[2] = {{50000, 10},
							     {100000, 20}};

void nsx_storm_cells(int64_t *duration_ns, size_t n, int64_t window_ns, struct nsx_cell *ret)
{
	static const double qs[] = {0.5, 0.9, 0.99};
	double window_s = (double)window_ns / 1e9, q[3];
	double per_s = window_ns > 0 ? (double)n / window_s : NAN;

	*ret++ = nsx_int((int64_t)n);
	*ret++ = nsx_real(window_s);
	*ret++ = nsx_real(per_s);
	if (n)
		nsx_quantiles(duration_ns, n, qs, 3, q);
	*ret++ = n ? nsx_us(q[0]) : nsx_null();
	for (unsigned i = 0; i < 3; i++)
		*ret++ = n ? nsx_us(q[i]) : nsx_null();
	for (int64_t ns = 5000; ns <= 20000; ns *= 2) {
		size_t shorter = 0;

		for (size_t i = 0; i < n; i++)
			shorter += duration_ns[i] < ns;
		*ret++ = nsx_pct((double)shorter, (double)n);
	}
	*ret = nsx_bool(n && NSX_ANY(i, ARRAY_LEN(nsx_storm_thresholds),
				     per_s >= nsx_storm_thresholds[i].launches_per_s &&
				     q[0] / 1e3 <= nsx_storm_thresholds[i].p50_kernel_us));
}
