/* words.c - ranks, communicators and findings of a fleet in words. */
#include "fleet/report.h"

/* LEAST_BY: least number of equally spaced ranks written as a range */
enum { MOST_LISTED_BYTES = 512, LEAST_BY = 4 };

const struct nsx_finding_def nsx_ffinding_defs[NSX_NFF] = {
	[NSX_FF_LATE_RANK] = {"late_rank", NSX_CAT_BALANCE},
	[NSX_FF_SLOW_HOST] = {"slow_host", NSX_CAT_BALANCE},
	[NSX_FF_SLOW_LINK] = {"slow_link", NSX_CAT_BALANCE},
	[NSX_FF_SLOW_ENGINE] = {"slow_engine", NSX_CAT_BALANCE},
	[NSX_FF_ROTATING] = {"rotating", NSX_CAT_BALANCE},
	[NSX_FF_DESYNC] = {"desync", NSX_CAT_COMMUNICATION},
	[NSX_FF_MISSING_RANKS] = {"missing_ranks", NSX_CAT_CAPTURE},
};

const char *const nsx_late_causes[] = {
	[NSX_WHY_UNKNOWN] = "unattributed", [NSX_WHY_SLOWER] = "gpu_slow",
	[NSX_WHY_KERNELS] = "uneven_kernels", [NSX_WHY_MORE] = "more_kernels",
	[NSX_WHY_COPY] = "copies", [NSX_WHY_IDLE] = "idle",
	[NSX_WHY_LINK] = "slow_link"};

const char *nsx_choose_words(struct nsx_arena *a, size_t n, const char *text)
{
	struct nsx_buf b = {0};

	for (const char *end; *text; text = end) {
		end = text + (*text == '[' ? strcspn(text, "]") + 1 : strcspn(text, "["));
		if (*text != '[')
			nsx_buf_add(&b, text, (size_t)(end - text));
		else if (n != 1)
			nsx_buf_add(&b, text + 1, strcspn(text, "|") - 1);
		else
			nsx_buf_add(&b, strchr(text, '|') + 1, (size_t)(end - strchr(text, '|')) - 2);
	}
	return nsx_buf_keep(&b, a);
}

const char *nsx_say_of(const struct nsx_freport *r, size_t n, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = nsx_arena_vprintf(r->arena, nsx_choose_words(r->arena, n, fmt), ap);
	va_end(ap);
	return text;
}

static int cmp_latest(const void *a, const void *b, void *rank)
{
	const struct nsx_frank *x = (struct nsx_frank *)rank + *(const uint32_t *)a;
	const struct nsx_frank *y = (struct nsx_frank *)rank + *(const uint32_t *)b;

	return NSX_CMP(y->excess_ns, x->excess_ns) ?: NSX_CMP(x->number, y->number);
}

const uint32_t *nsx_latest_ranks(const struct nsx_fleet *f, struct nsx_arena *a)
{
	uint32_t *ret = nsx_arena_get(a, f->nranks * sizeof(*ret));

	nsx_sort_indices(ret, f->nranks, cmp_latest, f->rank);
	return ret;
}

/* The number of ranks at the beginning of v that are written as one range: neighbours, or at least
 * LEAST_BY ranks at equal distances; otherwise 1.
 */
static size_t run_of(const struct nsx_fleet *f, const uint32_t *v, size_t n)
{
	int64_t by = n > 1 ? f->rank[v[1]].number - f->rank[v[0]].number : 0;
	size_t k = 1;

	while (k < n && f->rank[v[k]].number - f->rank[v[k - 1]].number == by)
		k++;
	return k >= LEAST_BY || by == 1 ? k : 1;
}

const char *nsx_rank_list(const struct nsx_fleet *f, const uint32_t *v,
			  size_t n, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	for (size_t i = 0, k; i < n; i += k) {
		long long first = f->rank[v[i]].number, last;

		if (b.n > MOST_LISTED_BYTES) {
			nsx_buf_printf(&b, " and %zu more", n - i);
			break;
		}
		k = run_of(f, v + i, n - i);
		last = f->rank[v[i + k - 1]].number;
		nsx_buf_printf(&b, "%s%lld", i ? ", " : "", first);
		if (k > 1)
			nsx_buf_printf(&b, "%s%lld", k > 2 ? "-" : ", ", last);
		if (k > 2 && last - first >= (long long)k)
			nsx_buf_printf(&b, " by %lld", (last - first) / (long long)(k - 1));
	}
	return nsx_buf_keep(&b, a);
}

/* The axis that a communicator of some ranks looks like; NULL: none. */
static const char *found_axis(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	const struct nsx_dop *op = nsx_op_at(c, c->first);
	int64_t stride = c->n < 2 ? 0 : f->rank[c->m[1].rank].number - f->rank[c->m[0].rank].number;

	for (uint32_t m = 2; m < c->n; m++)
		if (f->rank[c->m[m].rank].number - f->rank[c->m[m - 1].rank].number != stride)
			return NULL;
	if (!op || !stride || c->n == f->nranks || f->family[c->family].is_mpi)
		return NULL;
	if (strstr(op->name, "alltoall") || strstr(op->name, "sendrecv"))
		return c->n > 2 ? "ep" : op->holds == 2 && stride > 1 ? "pp" : NULL;
	return stride > 1 ? "dp" : strstr(op->name, "allreduce") ? "tp" : NULL;
}

const char *nsx_axes_text(const struct nsx_fleet *f, struct nsx_arena *a)
{
	const char *listed[NSX_MOST_AXES] = {NULL};
	struct nsx_buf b = {0};
	size_t n = 0;

	for (unsigned i = 0; i < f->mesh.n; i++)
		listed[n++] = f->mesh.axis[i].name;
	for (uint32_t i = 0; (f->mesh.is_found || !f->mesh.n) && i < f->nfamilies; i++) {
		const struct nsx_family *fam = &f->family[i];
		const char *axis = found_axis(f, &f->comm[fam->at]);
		size_t k = 0;

		while (axis && k < n && strcmp(listed[k], axis) != 0)
			k++;
		if (!axis || k < n)
			continue;
		listed[n++] = axis;
		nsx_buf_printf(&b, "%s%s %u", b.n ? ", " : "", axis, fam->most);
	}
	for (unsigned i = 0; i < f->mesh.n; i++)
		nsx_buf_printf(&b, "%s%s %lld", b.n ? ", " : "", f->mesh.axis[i].name,
			       (long long)f->mesh.axis[i].size);
	return nsx_buf_keep(&b, a);
}

const char *nsx_axis_of(const struct nsx_fleet *f, const struct nsx_fcomm *c, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	for (unsigned i = 0; i < f->mesh.n; i++) {
		const struct nsx_axis *x = &f->mesh.axis[i];
		bool varies = false;

		for (uint32_t m = 1; m < c->n; m++)
			varies = varies ||
				 nsx_mesh_at(x, f->rank[c->m[m].rank].number) !=
				 nsx_mesh_at(x, f->rank[c->m[0].rank].number);
		if (varies)
			nsx_buf_printf(&b, "%s%s", b.n ? ", " : "", x->name);
	}
	return b.n ? nsx_buf_keep(&b, a) : found_axis(f, c);
}
