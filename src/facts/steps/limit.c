/* limit.c - computes a language model's work, and the GPU's peak. */
#include "base/jsonread.h"
#include "base/open.h"
#include "base/stat.h"
#include "facts/steps/limit.h"

enum { F32, TF32, F16, F8, F4, NTYPES };
static const struct {
	const char *name;
	unsigned type;
} types[] = {{"f32", F32}, {"tf32", TF32}, {"f16", F16}, {"bf16", F16},
	     {"fp8", F8}, {"fp4", F4}, {"float32", F32}, {"float16", F16}, {"bfloat16", F16}};
static const double bytes_of[NTYPES] = {4, 4, 2, 1, 0.5};

static const struct {
	int64_t major, minor, operations[NTYPES];
} peaks[] = {
#define NSX_PEAK(major, minor, ...) {major, minor, {__VA_ARGS__}},
#include "facts/steps/peaks.def"
#undef NSX_PEAK
};

enum { MOST_BYTES = 1 << 20 };

struct number {
	const char *name, *config_name; /* config_name: in a config.json; NULL: as `name` */
	int64_t *at;
};

/* Reads the numbers that the object has. Errors: NSX_E_USAGE. */
static int read_numbers(const struct nsx_jsonr *j, const char *path, const struct number *v,
			size_t n, struct nsx_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct nsx_jsonr *x = nsx_jsonr_get(j, v[i].name) ?:
			v[i].config_name ? nsx_jsonr_get(j, v[i].config_name) : NULL;

		if (nsx_jsonr_type(x) > NSX_J_NULL && (!nsx_jsonr_int(x, v[i].at) || *v[i].at < 1))
			return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': '%s' must be "
					"a whole number above 0", path, v[i].name);
	}
	return 0;
}

/* Whether the feed-forward layers have a gate, which is a third matrix. */
static bool has_gate(const struct nsx_jsonr *j)
{
	const char *act = nsx_jsonr_str(nsx_jsonr_get(j, "hidden_act"));

	return !act || !strcmp(act, "silu") || !strcmp(act, "swish") ||
	       !strcmp(act, "gelu_pytorch_tanh");
}

/* Computes the parameters that each token uses, and the bytes of its keys and values, from the
 * sizes of a transformer. Each matrix counts that all such models have: queries, keys, values and
 * output of attention, the feed-forward layers of the experts that a token uses, and the logits.
 */
static int count_parameters(const struct nsx_jsonr *j, const char *path, struct nsx_llm *m,
			    struct nsx_err *err)
{
	int64_t heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, expert_ffn = 0, top_k = 1,
		vocabulary = 0;
	const struct number sizes[] = {{"layers", "num_hidden_layers", &m->layers},
		{"hidden", "hidden_size", &m->hidden}, {"heads", "num_attention_heads", &heads},
		{"kv_heads", "num_key_value_heads", &kv_heads}, {"head_dim", NULL, &head_dim},
		{"ffn", "intermediate_size", &ffn},
		{"expert_ffn", "moe_intermediate_size", &expert_ffn},
		{"top_k", "num_experts_per_tok", &top_k}, {"vocabulary", "vocab_size", &vocabulary}};
	double hidden, attention, each, all;

	if (read_numbers(j, path, sizes, ARRAY_LEN(sizes), err))
		return err->rc;
	if (expert_ffn)
		ffn = expert_ffn;
	if (!m->layers || !m->hidden || !heads || !ffn || nsx_jsonr_get(j, "kv_lora_rank"))
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': it must say how many "
				"'parameters' a token uses, or be the config.json of a model whose "
				"attention has heads of keys and values", path);
	hidden = (double)m->hidden;
	head_dim = head_dim ?: m->hidden / heads;
	kv_heads = kv_heads ?: heads;
	attention = 2 * hidden * (double)head_dim * ((double)heads + (double)kv_heads);
	each = attention + (has_gate(j) ? 3 : 2) * hidden * (double)ffn * (double)top_k;
	all = (double)m->layers * each + hidden * (double)vocabulary;
	m->parameters = nsx_to_i64(all);
	if (!m->kv_bytes && m->type < NTYPES)
		m->kv_bytes = nsx_to_i64(2 * (double)m->layers * (double)kv_heads *
					 (double)head_dim * bytes_of[m->type]);
	return 0;
}

/* Finds the type of the weights. A config.json names that of the computation, and beside it how
 * weights are quantised.
 */
static int limit_find_type(const struct nsx_jsonr *j, const char *path, struct nsx_llm *m,
			   struct nsx_err *err)
{
	const struct nsx_jsonr *quantised = nsx_jsonr_get(j, "quantization_config");
	const struct nsx_jsonr *text = nsx_jsonr_get(j, "text_config");
	const char *dtype = nsx_jsonr_str(nsx_jsonr_get(j, "dtype") ?:
					  nsx_jsonr_get(j, "torch_dtype") ?:
					  nsx_jsonr_get(text, "torch_dtype"));

	if (quantised) {
		const char *method = nsx_jsonr_str(nsx_jsonr_get(quantised, "quant_method"));

		dtype = method && !strcmp(method, "fp8") ? method : m->weight_bytes ? dtype : NULL;
	}
	m->type = NTYPES;
	for (size_t i = 0; dtype && i < ARRAY_LEN(types); i++)
		if (!strcmp(dtype, types[i].name))
			m->type = types[i].type;
	if (m->type == NTYPES)
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': %s", path, quantised ?
				"its weights are quantised, so it must say their 'weight_bytes'" :
				"'dtype' must be f32, tf32, f16, bf16, fp8 or fp4");
	return 0;
}

static int limit_parse(const struct nsx_jsonr *j, const char *path, struct nsx_llm *m,
		       struct nsx_err *err)
{
	const struct number numbers[] = {{"parameters", NULL, &m->parameters},
		{"weight_bytes", NULL, &m->weight_bytes}, {"layers", NULL, &m->layers},
		{"hidden", NULL, &m->hidden}, {"context", NULL, &m->context},
		{"kv_bytes", NULL, &m->kv_bytes}, {"tokens", NULL, &m->tokens},
		{"gpus", NULL, &m->gpus}};

	int rc;

	m->gpus = 1;
	rc = read_numbers(j, path, numbers, ARRAY_LEN(numbers), err) ?:
	     limit_find_type(j, path, m, err);
	if (rc || m->parameters)
		return rc;
	/* A model that also sees or hears has the sizes of its transformer one level below. */
	return count_parameters(nsx_jsonr_get(j, "text_config") ?: j, path, m, err);
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
