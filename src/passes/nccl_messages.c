/* nccl_messages.c - sizes of NCCL's messages, from the payloads of its NVTX
 * ranges, where they were exported.
 *
 * The NVTX table is read again, and only when the trace has ranges of NCCL:
 * payloads are not among the columns that all analyses share.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "nsx/pass.h"
#include "nsx/stat.h"
#include "nsx/viewscan.h"

static const struct nsx_col cols[] = {
	{"api_name", "NCCL function", NSX_T_STR},
	{"count", "calls that say their size", NSX_T_I64},
	{"total_bytes", "of their messages", NSX_T_I64},
	{"min_bytes", "smallest", NSX_T_I64},
	{"p50_bytes", "median", NSX_T_F64},
	{"max_bytes", "largest", NSX_T_I64},
};
static const struct nsx_layout layouts[] = {
	{.key = "rows", NSX_COLS(cols)},
};

enum { START, TYPE, TEXT, TEXT_ID, TID, DOMAIN_ID, JSON, JSON_ID, BINARY };
static const enum nsx_field fields[] = {
	NSX_F_nvtx_start_ns, NSX_F_nvtx_event_type, NSX_F_nvtx_text,
	NSX_F_nvtx_text_id, NSX_F_nvtx_global_tid, NSX_F_nvtx_domain_id,
	NSX_F_nvtx_json_text, NSX_F_nvtx_json_text_id, NSX_F_nvtx_binary,
};

struct domain {
	uint64_t process;
	int64_t id;
};
struct message {
	int64_t bytes;	 /* -1: in the string json_id                       */
	int64_t name_id; /* string id, where name is NULL                   */
	int64_t json_id;
	const char *name;
};
struct part {
	const struct nsx_trace *t;
	const struct domain *domains; /* NCCL's, in order                   */
	size_t ndomains;
	struct message *v;
	size_t n, cap;
	struct nsx_arena *a;
};

/* Payloads -----------------------------------------------------------------*/

/* The number after "Message size [bytes]": in a payload's JSON; -1: none. */
static int64_t json_bytes(const char *p, size_t n)
{
	static const char key[] = "\"Message size [bytes]\"";
	const char *at = n ? memmem(p, n, key, sizeof(key) - 1) : NULL;
	const char *end = p + n;
	int64_t bytes = 0;

	if (!at)
		return -1;
	at += sizeof(key) - 1;
	while (at < end && (*at == ' ' || *at == ':' || *at == '"'))
		at++;
	if (at == end || *at < '0' || *at > '9')
		return -1;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(bytes, 10, &bytes) ||
		    __builtin_add_overflow(bytes, *at - '0', &bytes))
			return -1;
	return bytes;
}

static uint64_t little_endian(const char *p)
{
	uint64_t x = 0;

	for (unsigned i = 8; i-- > 0;)
		x = x << 8 | (unsigned char)p[i];
	return x;
}

/* NCCL's payload schemas with a message size in their second word: AllGather,
 * AllReduce, Broadcast, ReduceScatter, Reduce, Send, Recv, AlltoAll, Gather,
 * Scatter (nccl, src/include/nvtx.h: static ids are 2^24 and the number).
 */
static bool has_size(uint64_t schema)
{
	uint64_t n = schema - (UINT64_C(1) << 24);

	return (n >= 4 && n <= 10) || n == 16 || n == 17 || n == 18;
}

/* Four words domain, schema, size, offset, then the payload. */
static int64_t binary_bytes(const char *p, size_t n)
{
	uint64_t offset, bytes;

	if (n < 32 || !has_size(little_endian(p + 8)))
		return -1;
	offset = little_endian(p + 24);
	if (offset > n || n - offset < 16)
		return -1;
	bytes = little_endian(p + offset + 8);
	return bytes > NSX_TIME_MAX ? -1 : (int64_t)bytes;
}

/* Rows ---------------------------------------------------------------------*/

static int cmp_domains(const void *a, const void *b)
{
	const struct domain *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int64_t number(const struct nsx_val *v, int64_t absent)
{
	return v->type == NSX_V_I64 ? v->u.i : absent;
}

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v,
		  struct nsx_err *err)
{
	struct part *p = ctx;
	struct domain key = {(uint64_t)number(&v[TID], 0) &
			     ~UINT64_C(0xffffff), number(&v[DOMAIN_ID], 0)};
	struct message m = {.bytes = -1, .name_id = number(&v[TEXT_ID], -1),
			    .json_id = number(&v[JSON_ID], -1)};

	(void)rid;
	if ((v[JSON].type != NSX_V_TEXT && m.json_id < 0 &&
	     v[BINARY].type < NSX_V_TEXT) ||
	    !nsx_starts_inside(p->t, number(&v[START], INT64_MIN)) ||
	    !bsearch(&key, p->domains, p->ndomains, sizeof(key), cmp_domains))
		return 0;
	if (v[JSON].type == NSX_V_TEXT)
		m.bytes = json_bytes(v[JSON].u.p, v[JSON].len);
	if (m.bytes < 0 && v[BINARY].type >= NSX_V_TEXT)
		m.bytes = binary_bytes(v[BINARY].u.p, v[BINARY].len);
	if (m.bytes < 0 && m.json_id < 0)
		return 0;
	if (v[TEXT].type == NSX_V_TEXT) {
		p->a = p->a ? p->a : nsx_arena_new();
		m.name = nsx_val_text(&v[TEXT], p->a);
	}
	if (nsx_grow(&p->v, &p->cap, p->n + 1, sizeof(m), "NCCL messages", err))
		return err->rc;
	p->v[p->n++] = m;
	return 0;
}

/* Strings ------------------------------------------------------------------*/

static int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct texts {
	int64_t *ids; /* ascending */
	const char **text;
	size_t n;
};

static const char *text_of(const struct texts *t, int64_t id)
{
	const int64_t *at = id < 0 || !t->n ? NULL :
		bsearch(&id, t->ids, t->n, sizeof(id), cmp_i64);

	return at ? t->text[at - t->ids] : NULL;
}

static int read_texts(const struct nsx_run *run, const struct message *v,
		      size_t n, struct texts *ret, struct nsx_err *err)
{
	struct nsx_arena *a = run->scratch;
	size_t all = 0;

	ret->ids = nsx_arena_try_array(a, 2 * n, sizeof(*ret->ids), "names",
				       err);
	if (!ret->ids)
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].name && v[i].name_id >= 0)
			ret->ids[all++] = v[i].name_id;
		if (v[i].bytes < 0)
			ret->ids[all++] = v[i].json_id;
	}
	qsort(ret->ids, all, sizeof(*ret->ids), cmp_i64);
	for (size_t i = 0; i < all; i++)
		if (!ret->n || ret->ids[ret->n - 1] != ret->ids[i])
			ret->ids[ret->n++] = ret->ids[i];
	ret->text = nsx_arena_try_array(a, ret->n, sizeof(*ret->text), "names",
					err);
	return ret->text ? nsx_view_strings(run->trace->schema, ret->ids,
					    ret->n, ret->text, a, err) :
			   err->rc;
}

/* Rows of the table --------------------------------------------------------*/

static int cmp_messages(const void *a, const void *b)
{
	const struct message *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int fill(const struct nsx_run *run, struct message *v, size_t n,
		struct nsx_section *out, struct nsx_table *table,
		struct nsx_err *err)
{
	int64_t *bytes = nsx_arena_try_array(run->scratch, n, sizeof(*bytes),
					     "NCCL messages", err);
	size_t next;

	if (!bytes)
		return err->rc;
	qsort(v, n, sizeof(*v), cmp_messages);
	for (size_t i = 0; i < n; i = next) {
		struct nsx_cell *row = nsx_row(table, err);
		int64_t total = 0;

		if (!row)
			return err->rc;
		for (next = i; next < n && !strcmp(v[next].name, v[i].name);
		     next++) {
			nsx_add_to(&total, v[next].bytes);
			bytes[next - i] = v[next].bytes;
		}
		row[0] = nsx_string(nsx_say(out, "%s", v[i].name));
		row[1] = nsx_int((int64_t)(next - i));
		row[2] = nsx_int(total);
		row[3] = nsx_int(v[i].bytes);
		row[4] = nsx_real(nsx_quantile(bytes, next - i, 0.5));
		row[5] = nsx_int(v[next - 1].bytes);
	}
	nsx_table_sort(table, "total_bytes desc, count desc, api_name");
	return 0;
}

/* Puts the parts together, leaves out what says no size after all. */
static int gather(const struct nsx_run *run, const struct part *parts,
		  struct message **ret, size_t *ret_n, struct nsx_err *err)
{
	struct texts texts = {0};
	size_t n = 0, kept = 0;
	struct message *v;

	for (unsigned i = 0; i < NSX_MAX_THREADS; i++)
		n += parts[i].n;
	v = nsx_arena_try_array(run->scratch, n, sizeof(*v), "NCCL messages",
				err);
	if (!v)
		return err->rc;
	n = 0;
	for (unsigned i = 0; i < NSX_MAX_THREADS; i++) {
		if (parts[i].n)
			memcpy(v + n, parts[i].v, parts[i].n * sizeof(*v));
		n += parts[i].n;
	}
	if (n && read_texts(run, v, n, &texts, err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		const char *json = v[i].bytes < 0 ?
					   text_of(&texts, v[i].json_id) : NULL;

		if (json)
			v[i].bytes = json_bytes(json, strlen(json));
		if (!v[i].name)
			v[i].name = text_of(&texts, v[i].name_id);
		if (!v[i].name)
			v[i].name = "(unnamed)";
		if (v[i].bytes >= 0)
			v[kept++] = v[i];
	}
	*ret = v;
	*ret_n = kept;
	return 0;
}

static int find_domains(const struct nsx_run *run, struct part *parts,
			struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct domain *v = nsx_arena_try_array(run->scratch, t->ndomains,
					       sizeof(*v), "NCCL domains", err);
	size_t n = 0;

	if (!v)
		return err->rc;
	for (uint32_t i = 0; i < t->ndomains; i++)
		if (t->domain[i].is_nccl && t->domain[i].process != NSX_NONE)
			v[n++] = (struct domain){
				t->process[t->domain[i].process].key,
				t->domain[i].domain_id};
	if (n)
		qsort(v, n, sizeof(*v), cmp_domains);
	for (unsigned i = 0; i < NSX_MAX_THREADS; i++) {
		parts[i].t = t;
		parts[i].domains = v;
		parts[i].ndomains = n;
	}
	return 0;
}

static int run_parts(const struct nsx_run *run, struct part *parts,
		     struct nsx_section *out, struct nsx_table *table,
		     struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	struct message *v = NULL;
	size_t n = 0;

	if (find_domains(run, parts, err))
		return err->rc;
	if (!parts[0].ndomains)
		return nsx_cannot(out, "the trace has no NVTX ranges of NCCL");
	if ((nsx_has(s, NSX_F_nvtx_json_text) ||
	     nsx_has(s, NSX_F_nvtx_json_text_id) ||
	     nsx_has(s, NSX_F_nvtx_binary)) &&
	    nsx_view_scan(s, NSX_VIEW_nvtx, fields, ARRAY_LEN(fields),
			  NSX_MAX(1, NSX_MIN(run->opts->threads,
					     NSX_MAX_THREADS)),
			  on_row, parts, sizeof(*parts), err))
		return err->rc;
	if (gather(run, parts, &v, &n, err))
		return err->rc;
	if (!n)
		return nsx_cannot(out, "NCCL's payloads are not in the export; "
				       "export the report again with nsys "
				       "export --type sqlite --include-json "
				       "true --include-blobs true");
	if (fill(run, v, n, out, table, err))
		return err->rc;
	nsx_md_heading(out, "Top NCCL ops");
	nsx_md_text(out, "Sizes of messages, from NCCL's own ranges:");
	nsx_md_table(out, table,
		     "api_name,count,total_bytes,min_bytes,p50_bytes,"
		     "max_bytes", 0);
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layouts[0]);
	struct part *parts = nsx_arena_get(run->scratch,
					   NSX_MAX_THREADS * sizeof(*parts));
	int rc = run_parts(run, parts, out, table, err);

	for (unsigned i = 0; i < NSX_MAX_THREADS; i++) {
		free(parts[i].v);
		nsx_arena_free(parts[i].a);
	}
	return rc;
}

NSX_DEFINE_PASS(nccl_messages) {
	.id = "nccl_messages",
	.summary = "sizes of NCCL messages, where payloads were exported",
	.doc = "Message sizes of NCCL's calls from the payloads of its NVTX "
	       "ranges: the field \"Message size [bytes]\" of a JSON payload, "
	       "or the second word of a binary payload whose schema is one of "
	       "NCCL's that has it. Each rank's call counts. A send and its "
	       "receive both count. Sizes are of the host's calls; the "
	       "kernels that serve them are in nccl.",
	.derived_from = "payloads of NCCL's NVTX ranges",
	.limitations = "only what the export kept: payloads need "
		       "--include-json or --include-blobs",
	.needs = {NSX_NEED_VIEW(nvtx)},
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
