/* corrected.c - loads a trace, whose loader corrects GPU times, and lists the corrections. */
#include "convert/convert.h"
#include "facts/facts.h"
#include "report/corrections.h"

void nsx_convert_list_corrections(struct nsx_conv *c, const struct nsx_trace *t)
{
	bool is_one = c->opts->place.ntraces < 2;
	const char *whose = is_one ? "" : nsx_base_name(c->opts->path), *colon = is_one ? "" : ": ";
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *left_out = nsx_say_impossible(t, a);

	if (left_out && !c->has_listed)
		nsx_buf_printf(c->notes, "%s%s%s\n", whose, colon, left_out);
	for (uint32_t i = 0; i < t->nclocks; i++)
		if (t->clock[i].shift_ns && !c->has_listed)
			nsx_buf_printf(c->notes, "%s%sGPU %s: %s\n", whose, colon,
				       nsx_gpu_label(t, t->clock[i].device),
				       nsx_say_shift(&t->clock[i], a));
	c->has_listed = true;
}

int nsx_convert_load(struct nsx_conv *c, const char *window, struct nsx_trace **ret,
		     struct nsx_err *err)
{
	const struct nsx_load_opts o = {.threads = c->opts->threads, .window = window};
	int rc = nsx_load_named(c->schema, &o, ret, err);

	if (!rc)
		nsx_convert_list_corrections(c, *ret);
	return rc;
}

int nsx_convert_load_corrections(struct nsx_conv *c, struct nsx_err *err)
{
	struct nsx_trace *t;
	bool is_good = false;

	if (!c->opts->window &&
	    nsx_trace_are_times_good(c->schema, c->opts->threads, &is_good, err))
		return err->rc;
	if (is_good)
		return 0;
	if (nsx_convert_load(c, c->opts->window, &t, err))
		return err->rc;
	c->window = t->user;
	nsx_trace_free(t);
	return 0;
}
