/* failures.c - describes CUDA's error codes. */
#include "report/failures.h"
#include "report/text.h"
#include "report/words.h"

static const struct meaning {
	int64_t code;
	bool is_fatal;
	const char *words, *advice;
} meanings[] = {
#define NSX_CUDA_ERROR(code, fatal, words, advice) {code, fatal, words, advice},
#include "schema/cuda_errors.def"
#undef NSX_CUDA_ERROR
};

static const struct meaning *failures_meaning_of(int64_t code)
{
	return NSX_FIRST(i, ARRAY_LEN(meanings), meanings[i].code == code, &meanings[i], NULL);
}

const struct nsx_failure *nsx_fatal_failure(const struct nsx_trace *t)
{
	const struct nsx_failure *best = NULL;

	for (unsigned i = 0; i < t->failures.n; i++) {
		const struct nsx_failure *x = &t->failures.v[i];
		const struct meaning *m = failures_meaning_of(x->code);

		if (m && m->is_fatal && (!best || x->first_ns < best->first_ns))
			best = x;
	}
	return best;
}

static const char *first_call(const struct nsx_trace *t, const struct nsx_failure *x,
			      struct nsx_arena *a)
{
	char base[128];

	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.flags[i] & NSX_CALL_FAILED &&
		    nsx_call_start(&t->calls, i) == x->first_ns)
			return nsx_arena_strdup(a, nsx_api_base(nsx_text(
				t, nsx_call_name(&t->calls, i)), base, sizeof(base)));
	return "a call";
}

const char *nsx_say_failure(const struct nsx_trace *t, const struct nsx_failure *x,
			    struct nsx_arena *a)
{
	const struct meaning *m = failures_meaning_of(x->code);

	return nsx_arena_printf(a, "%s (CUDA error %lld), first in %s at %.3fs; %s",
				m ? m->words : "an error", (long long)x->code,
				nsx_text_name(a, first_call(t, x, a)), (double)x->first_ns / 1e9,
				nsx_text_n(a, x->n, "call", NULL));
}

const char *nsx_advise_failure(const struct nsx_failure *x)
{
	const struct meaning *m = failures_meaning_of(x->code);

	return m ? m->advice : NULL;
}
