/* limit.c - computes a language model's work, and the GPU's peak. */
#include "base/jsonread.h"
#include "base/open.h"
#include "facts/steps/limit.h"

enum { F32, TF32, F16, F8, F4, NTYPES };
static const struct {
	const char *name;
	unsigned type;
} types[] = {{"f32", F32}, {"tf32", TF32}, {"f16", F16}, {"bf16", F16},
	     {"fp8", F8}, {"fp4", F4}};
static const double bytes_of[NTYPES] = {4, 4, 2, 1, 0.5};

static const struct {
	int64_t major, minor, operations[NTYPES];
} peaks[] = {
#define NSX_PEAK(major, minor, ...) {major, minor, {__VA_ARGS__}},
#include "facts/steps/peaks.def"
#undef NSX_PEAK
};

enum { MOST_BYTES = 1 << 20 };

static int limit_parse(const struct nsx_jsonr *j, const char *path, struct nsx_llm *m,
		       struct nsx_err *err)
{
	const struct {
		const char *name;
		int64_t *at;
	} numbers[] = {{"parameters", &m->parameters}, {"weight_bytes", &m->weight_bytes},
		       {"layers", &m->layers}, {"hidden", &m->hidden},
		       {"context", &m->context}, {"kv_bytes", &m->kv_bytes},
		       {"tokens", &m->tokens}, {"gpus", &m->gpus}};
	const char *dtype = nsx_jsonr_str(nsx_jsonr_get(j, "dtype"));

	m->type = NTYPES;
	m->gpus = 1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const struct nsx_jsonr *x = nsx_jsonr_get(j, numbers[i].name);

		if (x && (!nsx_jsonr_int(x, numbers[i].at) || *numbers[i].at < 1))
			return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': '%s' must be "
					"a whole number above 0", path, numbers[i].name);
	}
	for (size_t i = 0; dtype && i < ARRAY_LEN(types); i++)
		if (!strcmp(dtype, types[i].name))
			m->type = types[i].type;
	if (!m->parameters)
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': it must say how many "
				"'parameters' a token uses", path);
	if (m->type == NTYPES)
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': 'dtype' must be f32, "
				"tf32, f16, bf16, fp8 or fp4", path);
	return 0;
}

int nsx_llm_read(const char *path, struct nsx_llm *ret, struct nsx_err *err)
{
	struct nsx_llm m = {0};
	struct nsx_jsonr *j;
	char *text;
	size_t n;
	int rc = nsx_read_named(path, "the model", MOST_BYTES, &text, &n, err);

	j = rc ? NULL : nsx_jsonr_parse(text, n, err);
	free(text);
	if (!j)
		return rc ?: nsx_wrap(err, "cannot use '%s'", path);
	rc = limit_parse(j, path, &m, err);
	nsx_jsonr_free(j);
	if (!rc)
		*ret = m;
	return rc;
}

/* A token takes one multiply-add (two operations) for each parameter, and more for its keys and
 * values with all earlier tokens. A backward pass takes twice as many operations as the forward
 * pass.
 */
double nsx_llm_operations(const struct nsx_llm *m, int64_t tokens, bool trains)
{
	double a_token = 2 * (double)m->parameters +
			 4 * (double)m->layers * (double)m->hidden * (double)m->context;

	return (trains ? 3 : 1) * a_token * (double)tokens / (double)m->gpus;
}

double nsx_llm_bytes(const struct nsx_llm *m, int64_t steps, int64_t decoded)
{
	double weights = m->weight_bytes ? (double)m->weight_bytes :
					   (double)m->parameters * bytes_of[m->type];

	return ((double)steps * weights +
		(double)decoded * (double)m->context * (double)m->kv_bytes) / (double)m->gpus;
}

double nsx_llm_peak(const struct nsx_llm *m, const struct nsx_gpu_info *gpu)
{
	for (size_t i = 0; gpu && i < ARRAY_LEN(peaks); i++)
		if (peaks[i].major == gpu->compute_major &&
		    peaks[i].minor == gpu->compute_minor && gpu->sm_count > 0 &&
		    gpu->clock_hz > 0)
			return (double)peaks[i].operations[m->type] *
			       (double)gpu->sm_count * (double)gpu->clock_hz;
	return 0;
}

double nsx_llm_least_ns(const struct nsx_llm *m, const struct nsx_gpu_info *gpu,
			const struct nsx_step_name *step)
{
	bool trains = step->kind == NSX_STEP_TRAINING;
	int64_t tokens = trains ? m->tokens : step->tokens;
	double peak = nsx_llm_peak(m, gpu), ns = 0;

	if (tokens <= 0)
		return 0;
	if (peak > 0)
		ns = nsx_llm_operations(m, tokens, trains) / peak * 1e9;
	if (!trains && gpu && gpu->bandwidth_bytes_per_s > 0)
		ns = NSX_MAX(ns, nsx_llm_bytes(m, 1, step->kind == NSX_STEP_DECODE ? tokens : 0) /
				 (double)gpu->bandwidth_bytes_per_s * 1e9);
	return ns;
}

double nsx_llm_least_of_steps(const struct nsx_llm *m, const struct nsx_trace *t,
			      const struct nsx_engine_steps *steps, uint32_t device,
			      struct nsx_window w)
{
	double sum_ns = 0;

	for (size_t i = 0; i < steps->n; i++) {
		const struct nsx_engine_step *s = &steps->v[i];
		double all_ns = (double)(s->gpu_end_ns - s->gpu_start_ns);
		double ns = (double)(NSX_MIN(s->gpu_end_ns, w.end_ns) -
				     NSX_MAX(s->gpu_start_ns, w.start_ns));
		double least_ns;

		if (s->device != device || ns <= 0)
			continue;
		least_ns = nsx_llm_least_ns(m, nsx_device_gpu(t, device), &s->name);
		if (least_ns > all_ns)
			return 0;
		sum_ns += least_ns * ns / all_ns;
	}
	return sum_ns;
}

double nsx_tensor_ratio(int64_t major, int64_t minor)
{
	double least = 0;

	for (size_t i = 0; i < ARRAY_LEN(peaks); i++) {
		const int64_t *o = peaks[i].operations;
		double ratio = (double)(o[TF32] ? o[TF32] : o[F16]) / (double)o[F32];

		if (peaks[i].major != major)
			continue;
		if (peaks[i].minor == minor)
			return ratio;
		least = least > 0 ? NSX_MIN(least, ratio) : ratio;
	}
	return least;
}
