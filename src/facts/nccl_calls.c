/* nccl_calls.c - reads message sizes and communicators from payloads of NCCL's NVTX ranges.
 *
 * A payload is JSON text or bytes. Bytes begin with four 64-bit little-endian words: domain,
 * schema, size, and offset of the rest. The rest of a call that moves data begins with communicator
 * and message size. The rest of a call that makes a communicator is communicator, number of ranks,
 * rank and device; before NCCL 2.26 it begins with the rank and has no communicator.
 */
#include <endian.h>
#include <stdio.h>
#include <strings.h>
#include "base/stat.h"
#include "facts/nccl_calls.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

#define STATIC_SCHEMA (INT64_C(1) << 24)

enum { START, TEXT, TEXT_ID, TID, PID, DOMAIN, JSON, JSON_ID, BINARY, NFIELDS };
static const enum nsx_field fields[NFIELDS] = {
	NSX_FIELDS(nvtx, start_ns, text, text_id, global_tid, pid, domain_id,
		   json_text, json_text_id, binary)};

struct message {
	struct nsx_nccl_call call;
	struct nsx_nccl_init init; /* nranks 0: not an init                  */
	int64_t name_id, json_id; /* ids to look up; -1: already known */
	bool makes; /* by its name, it makes a communicator */
};
struct domain { /* an NVTX domain of NCCL */
	uint64_t process_key;
	int64_t id;
};
struct part {
	const struct nsx_trace *t;
	const struct domain *domains; /* sorted */
	size_t ndomains;
	struct message *v;
	size_t n, cap;
};

/* Payloads ------------------------------------------------------------------*/

static uint64_t payload_word_at(const char *p)
{
	uint64_t x = 0;

	for (unsigned i = 8; i--;)
		x = x << 8 | (unsigned char)p[i];
	return x;
}

static bool read_binary_payload(const struct nsx_val *v, struct nsx_nccl_call *m)
{
	uint64_t schema, offset;

	if ((v->type != NSX_V_BLOB && v->type != NSX_V_TEXT) || v->len < 48)
		return false;
	schema = payload_word_at(v->u.p + 8);
	offset = payload_word_at(v->u.p + 24);
	if (schema <= STATIC_SCHEMA || offset < 32 || offset > v->len - 16)
		return false;
	m->communicator = payload_word_at(v->u.p + offset);
	m->bytes = (int64_t)payload_word_at(v->u.p + offset + 8);
	return m->bytes >= 0;
}

/* Reads the unsigned number that follows a key. */
static bool nccl_calls_number_of(const char *json, size_t n, const char *key, uint64_t *ret)
{
	const char *p = memmem(json, n, key, strlen(key)), *end = json + n;

	if (!p)
		return false;
	for (p += strlen(key); p < end && strchr("\": \t", *p); p++)
		;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (*ret = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*ret = *ret * 10 + (uint64_t)(*p - '0');
	return true;
}

static bool read_json_payload(const char *json, size_t n, struct nsx_nccl_call *m)
{
	uint64_t bytes;

	if (!nccl_calls_number_of(json, n, "Message size [bytes]", &bytes) || bytes > INT64_MAX)
		return false;
	m->bytes = (int64_t)bytes;
	nccl_calls_number_of(json, n, "NCCL communicator ID", &m->communicator);
	return true;
}

static int64_t payload_int_at(const char *p)
{
	int32_t x;

	memcpy(&x, p, sizeof(x));
	return (int32_t)le32toh((uint32_t)x);
}

static bool is_init(const struct nsx_nccl_init *x)
{
	return x->nranks > 0 && x->rank >= 0 && x->rank < x->nranks && x->nranks <= INT32_MAX;
}

static bool read_init_binary(const struct nsx_val *v, struct nsx_nccl_init *x)
{
	uint64_t size, offset;
	const char *p;

	if ((v->type != NSX_V_BLOB && v->type != NSX_V_TEXT) || v->len < 44)
		return false;
	size = payload_word_at(v->u.p + 16);
	offset = payload_word_at(v->u.p + 24);
	if (offset < 32 || offset > v->len || size > v->len - offset || (size != 12 && size < 20))
		return false;
	p = v->u.p + offset;
	x->rank = payload_int_at(size == 12 ? p : p + 12);
	x->nranks = payload_int_at(size == 12 ? p + 4 : p + 8);
	x->device = payload_int_at(size == 12 ? p + 8 : p + 16);
	return is_init(x);
}

static bool read_init_json(const char *json, size_t n, struct nsx_nccl_init *x)
{
	uint64_t rank, nranks, device;

	if (!nccl_calls_number_of(json, n, "\"Rank\"", &rank) ||
	    !nccl_calls_number_of(json, n, "\"No. of ranks\"", &nranks) ||
	    !nccl_calls_number_of(json, n, "\"CUDA device\"", &device))
		return false;
	x->rank = (int64_t)NSX_MIN(rank, INT64_MAX);
	x->nranks = (int64_t)NSX_MIN(nranks, INT64_MAX);
	x->device = (int64_t)NSX_MIN(device, INT64_MAX);
	return is_init(x);
}

static uint8_t nccl_calls_op_of(const char *name, size_t n)
{
	char text[64];
	enum nsx_comm_op op;

	snprintf(text, sizeof(text), "%.*s", (int)NSX_MIN(n, 60), name);
	if (!strcasecmp(text, "ncclSend"))
		return NSX_NCCL_SEND;
	if (!strcasecmp(text, "ncclRecv"))
		return NSX_NCCL_RECV;
	op = nsx_classify_comm(text, text);
	return op < NSX_COMM_OTHER ? (uint8_t)op : 0;
}

/* Rows -----------------------------------------------------------------------*/

NSX_ORDER(cmp_domain, struct domain, UP(process_key), UP(id));

static bool is_nccl_domain(const struct part *p, const struct nsx_val *v)
{
	struct domain key = {0, v[DOMAIN].u.i};

	if (v[DOMAIN].type != NSX_V_I64)
		return false;
	if (v[TID].type == NSX_V_I64)
		key.process_key = nsx_process_key((uint64_t)v[TID].u.i);
	else if (v[PID].type == NSX_V_I64)
		key.process_key = (uint64_t)v[PID].u.i << 24;
	return bsearch(&key, p->domains, p->ndomains, sizeof(key), cmp_domain) != NULL;
}

static void set_operation(struct message *m, const char *name, size_t n)
{
	m->call.op = nccl_calls_op_of(name, n);
	m->makes = n >= 16 && !strncasecmp(name, "ncclCommInitRank", 16);
}

/* Reads the JSON text of a message, both as a call that moves data and as one that makes a
 * communicator: the name that decides may not be known yet.
 */
static bool read_text(struct message *m, const char *json, size_t n)
{
	bool inits = read_init_json(json, n, &m->init);

	return read_json_payload(json, n, &m->call) || inits;
}

static bool nccl_calls_read_bytes(struct message *m, const struct nsx_val *v)
{
	bool inits = read_init_binary(v, &m->init);

	return read_binary_payload(v, &m->call) || inits;
}

static int nccl_calls_on_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			     struct nsx_err *err)
{
	struct part *p = ctx;
	struct message m = {.name_id = -1, .json_id = -1};

	if (v[JSON].type == NSX_V_NULL && v[JSON_ID].type == NSX_V_NULL &&
	    v[BINARY].type == NSX_V_NULL)
		return 0;
	if (v[START].type != NSX_V_I64 || !nsx_starts_inside(p->t, v[START].u.i) ||
	    !is_nccl_domain(p, v))
		return 0;
	m.call.start_ns = v[START].u.i;
	m.call.global_tid = (uint64_t)nsx_i64_or(&v[TID], 0);
	if (v[TEXT].type == NSX_V_TEXT)
		set_operation(&m, v[TEXT].u.p, v[TEXT].len);
	else if (v[TEXT_ID].type == NSX_V_I64)
		m.name_id = v[TEXT_ID].u.i;
	if (!(v[JSON].type == NSX_V_TEXT &&
	      read_text(&m, v[JSON].u.p, v[JSON].len)) &&
	    !nccl_calls_read_bytes(&m, &v[BINARY])) {
		if (v[JSON_ID].type != NSX_V_I64)
			return 0;
		m.json_id = v[JSON_ID].u.i;
	}
	return nsx_push(p->v, p->n, p->cap, "messages", err, m);
}

/* Looks up the texts of all ids together. */
static int look_up_texts(struct part *all, struct nsx_arena *a, struct nsx_err *err)
{
	int64_t *ids;
	const char **text;

	if (nsx_new_arrays(a, 2 * all->n, "names", err, ids, text))
		return err->rc;
	for (size_t i = 0; i < all->n; i++) {
		ids[2 * i] = all->v[i].name_id;
		ids[2 * i + 1] = all->v[i].json_id;
	}
	if (nsx_view_strings(all->t->schema, ids, 2 * all->n, text, a, err))
		return err->rc;
	for (size_t i = 0; i < all->n; i++) {
		struct message *m = &all->v[i];
		const char *name = text[2 * i], *json = text[2 * i + 1];

		if (name)
			set_operation(m, name, strlen(name));
		if (m->json_id >= 0 && !(json && read_text(m, json, strlen(json))))
			m->call.op = 0;
	}
	return 0;
}

/* All -----------------------------------------------------------------------*/

static int read_param_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			  struct nsx_err *err NSX_UNUSED)
{
	static const char *const params[] = {"INCLUDE_JSON", "INCLUDE_BLOBS"};

	for (unsigned i = 0; i < ARRAY_LEN(params); i++)
		if (v[0].type == NSX_V_TEXT && v[1].type == NSX_V_TEXT &&
		    memmem(v[0].u.p, v[0].len, params[i], strlen(params[i])) &&
		    v[1].len == 4 && !strncasecmp(v[1].u.p, "true", 4))
			*(bool *)ctx = true;
	return 0;
}

int nsx_nccl_payloads(const struct nsx_trace *t, bool *ret, struct nsx_err *err)
{
	*ret = false;
	return nsx_view_each(t->schema, export_meta, read_param_row, ret, err, name, value);
}

static void list_domains(const struct nsx_trace *t, struct part *p, struct nsx_arena *a)
{
	struct domain *v;

	nsx_few(v, a, t->ndomains);
	for (uint32_t d = 0; d < t->ndomains; d++)
		if (t->domain[d].is_nccl)
			v[p->ndomains++] = (struct domain){
				t->process[t->domain[d].process].key,
				t->domain[d].domain_id};
	nsx_sort(v, p->ndomains, sizeof(*v), cmp_domain);
	p->t = t;
	p->domains = v;
}

static int nccl_calls_read_all(struct part *parts, unsigned nparts, struct nsx_err *err)
{
	for (unsigned i = 1; i < nparts; i++)
		parts[i] = parts[0];
	if (nsx_view_scan(parts->t->schema, NSX_VIEW_nvtx, fields, NFIELDS,
			  nparts, nccl_calls_on_row, parts, sizeof(*parts), err))
		return err->rc;
	for (unsigned i = 1; i < nparts; i++) {
		if (nsx_grow(&parts->v, &parts->cap, parts->n + parts[i].n,
			     sizeof(*parts->v), "messages", err))
			return err->rc;
		if (parts[i].n)
			memcpy(parts->v + parts->n, parts[i].v, parts[i].n * sizeof(*parts->v));
		parts->n += parts[i].n;
	}
	return 0;
}

/* Keeps the calls that move data or make communicators. */
static int keep_calls(struct part *all, struct nsx_arena *a,
		      struct nsx_nccl_calls *ret, struct nsx_err *err)
{
	if (nsx_new_arrays(a, all->n, "messages", err, ret->v) ||
	    nsx_new_arrays(a, all->n, "communicators", err, ret->init) ||
	    look_up_texts(all, a, err))
		return err->rc;
	for (size_t i = 0; i < all->n; i++) {
		struct message *m = &all->v[i];

		if (m->makes && is_init(&m->init)) {
			m->init.global_tid = m->call.global_tid;
			ret->init[ret->ninits++] = m->init;
		} else if (m->call.op) {
			ret->v[ret->n++] = m->call;
		}
	}
	return 0;
}

int nsx_nccl_calls(const struct nsx_trace *t, unsigned threads,
		   struct nsx_arena *a, struct nsx_nccl_calls *ret, struct nsx_err *err)
{
	unsigned nparts = NSX_MAX(1, threads);
	struct part parts[NSX_MAX_THREADS] = {{0}};
	int rc;

	*ret = (struct nsx_nccl_calls){0};
	list_domains(t, &parts[0], a);
	if (!parts[0].ndomains)
		return 0;
	rc = nccl_calls_read_all(parts, nparts, err) ?: keep_calls(&parts[0], a, ret, err);
	for (unsigned i = 0; i < nparts; i++)
		free(parts[i].v);
	return rc;
}
