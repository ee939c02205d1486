/* names.c - StringIds, names of kernels, calls and NVTX ranges.
 *
 * PyTorch's emit_nvtx gives every range instance its own name (sequence numbers, shapes), which
 * makes a million texts with one meaning. Names are normalised before they are interned, so that
 * memory grows only with distinct ones.
 */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include "trace/load.h"

/* The end of the instance part that begins at p; NULL: none begins there. An instance part is a
 * part of a name that differs from one range to the next, such as ", seq = 12".
 */
static const char *skip_instance_part(const char *p, const char *end)
{
	static const struct {
		const char *begin;
		bool is_list; /* true: it ends with its bracket; false: it is a number */
	} parts[] = {{", op_id = ", false}, {", seq = ", false},
		     {", sizes = [", true}, {", input_op_ids = [", true}};

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++) {
		size_t n = strlen(parts[i].begin);

		if ((size_t)(end - p) <= n || memcmp(p, parts[i].begin, n))
			continue;
		p += n;
		if (parts[i].is_list)
			for (int depth = 1; p < end && depth; p++)
				depth += (*p == '[') - (*p == ']');
		else
			while (p < end && (*p == '-' || nsx_is_digit(*p)))
				p++;
		return p;
	}
	return NULL;
}

bool nsx_normalise(const char *text, size_t n, struct nsx_buf *b)
{
	const char *end = text + n, *from = text, *p = text, *rest;
	bool changed = false;

	while ((p = memchr(p, ',', (size_t)(end - p)))) {
		rest = skip_instance_part(p, end);
		if (!rest) {
			p++;
			continue;
		}
		nsx_buf_add(b, from, (size_t)(p - from));
		from = p = rest;
		changed = true;
	}
	if (changed)
		nsx_buf_add(b, from, (size_t)(end - from));
	return changed;
}

/* Keeps the smallest raw text of a normalised name, so that the example shown does not depend on
 * row order.
 */
static int keep_smallest_raw(struct nsx_loader *l, nsx_str id, const char *text,
			     size_t n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc = 0;

	n = NSX_MIN(n, 256);
	nsx_buf_add_utf8(&b, text, n);
	pthread_mutex_lock(&l->lock);
	rc = nsx_grow(&l->raw, &l->nraw, id + (size_t)1, sizeof(*l->raw), "raw names", err);
	if (!rc && (!l->raw[id] || strcmp(b.p, l->raw[id]) < 0)) {
		free(l->raw[id]);
		l->raw[id] = nsx_strdup(b.p);
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* Interns a name without its instance parts, `rest`, and remembers the raw text. */
static int intern_stripped_name(struct nsx_loader *l, const struct nsx_buf *rest,
		    const char *text, size_t n, nsx_str *ret, struct nsx_err *err)
{
	return nsx_strings_add(l->strings, rest->p ? rest->p : "", rest->n, ret,
			       err) ?:
	       keep_smallest_raw(l, *ret, text, n, err);
}

/* Interns an NVTX name in normalised form and remembers the smallest raw text. */
static int intern_normalised_name(struct nsx_loader *l, const char *text, size_t n,
				  nsx_str *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	return nsx_normalise(text, n, &b) ?
			 intern_stripped_name(l, &b, text, n, ret, err) :
			 nsx_strings_add(l->strings, text, n, ret, err);
}

const char *nsx_raw_name(const struct nsx_trace *t, nsx_str id)
{
	const struct nsx_raw_name *v = t->raw_name;
	size_t at = NSX_SEARCH((size_t)0, t->nraw_names, mid, v[mid].id < id);

	return at < t->nraw_names && v[at].id == id ? v[at].text : nsx_text(t, id);
}

/* The name of a domain in those of its ranges; 0: none, as it is the default domain. */
static int name_domain(struct nsx_loader *l, const struct nsx_domain *d, nsx_str *ret,
		       struct nsx_err *err)
{
	char text[40];

	*ret = d->domain_id ? d->name : 0;
	if (!d->domain_id || *nsx_text(l->t, d->name))
		return 0;
	snprintf(text, sizeof(text), "domain %lld", (long long)d->domain_id);
	return nsx_strings_add(l->strings, text, strlen(text), ret, err);
}

int nsx_tell_domains_apart(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	nsx_str *domain, *first; /* first: domain of a name's first range; NSX_NONE: several */
	uint8_t *seen;

	nsx_few(domain, a, t->ndomains + 1);
	for (uint32_t i = 0; i < t->ndomains; i++)
		if (name_domain(l, &t->domain[i], &domain[i], err))
			return err->rc;
	if (nsx_new_arrays(a, nsx_strings_bound(t->strings), "range names", err, first, seen))
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++) {
		nsx_str name = t->nvtx.name[i], of = domain[nsx_range_domain(&t->nvtx, i)];

		if (t->nvtx.kind[i] == NSX_NVTX_MARK)
			continue;
		first[name] = !seen[name] || first[name] == of ? of : NSX_NONE;
		seen[name] = 1;
	}
	for (size_t i = 0; i < t->nvtx.n; i++) {
		nsx_str name = t->nvtx.name[i];
		uint32_t d = nsx_range_domain(&t->nvtx, i);
		const char *raw = name < l->nraw && l->raw[name] ? l->raw[name] : nsx_text(t, name);

		if (t->nvtx.kind[i] == NSX_NVTX_MARK || first[name] != NSX_NONE ||
		    !t->domain[d].domain_id || t->domain[d].is_library)
			continue;
		nsx_buf_clear(&b);
		nsx_buf_printf(&b, "%s:%s", nsx_text(t, domain[d]), nsx_text(t, name));
		if (nsx_strings_add(l->strings, b.p, b.n, &l->nvtx.name[i], err) ||
		    keep_smallest_raw(l, l->nvtx.name[i], raw, strlen(raw), err))
			return err->rc;
	}
	return 0;
}

/* Whether a number in the text is a parameter: "bs=8", "context_1(512)". */
static bool has_parameter(const char *text)
{
	for (; (text = strpbrk(text, "=(")); text++)
		if (text[1] >= '0' && text[1] <= '9')
			return true;
	return false;
}

struct alike { /* ranges whose names differ only in numbers */
	size_t nnames, nranges;
	bool has_parameter;
};

enum { MANY_NAMES = 8, FEW_RANGES = 2 };

static bool share_one_label(const struct alike *a)
{
	return a->nnames > 1 &&
	       (a->has_parameter || (a->nnames >= MANY_NAMES &&
				     a->nranges < FEW_RANGES * a->nnames));
}

/* Counts names and ranges by masked name. n: ranges by name; masked: masked name by name. */
static void count_alike_names(const struct nsx_trace *t, const size_t *n, size_t bound,
		       const nsx_str *masked, struct alike *alike)
{
	for (nsx_str s = 0; s < bound; s++)
		if (masked[s]) {
			struct alike *a = &alike[masked[s]];

			a->nnames++;
			a->nranges += n[s];
			a->has_parameter |= has_parameter(nsx_text(t, s));
		}
}

int nsx_merge_range_names(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t bound = nsx_strings_bound(t->strings), *n;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct alike *alike;
	nsx_str *masked;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (nsx_new_arrays(a, bound, "range names", err, n, masked))
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++)
		n[t->nvtx.name[i]] += t->nvtx.kind[i] != NSX_NVTX_MARK;
	for (nsx_str s = 1; s < bound; s++)
		if (n[s] && (nsx_buf_clear(&b), nsx_buf_add_masked(&b, nsx_text(t, s))) &&
		    nsx_strings_add(l->strings, b.p, b.n, &masked[s], err))
			return err->rc;
	if (nsx_new_arrays(a, nsx_strings_bound(t->strings), "range names", err, alike) ||
	    nsx_new_arrays(t->arena, bound, "range names", err, t->range_label))
		return err->rc;
	t->nrange_labels = bound;
	count_alike_names(t, n, bound, masked, alike);
	for (nsx_str s = 0; s < bound; s++) {
		const char *raw;

		t->range_label[s] = s;
		if (!masked[s] || !share_one_label(&alike[masked[s]]))
			continue;
		raw = s < l->nraw && l->raw[s] ? l->raw[s] : nsx_text(t, s);
		t->range_label[s] = masked[s];
		if (keep_smallest_raw(l, masked[s], raw, strlen(raw), err))
			return err->rc;
	}
	return 0;
}

int nsx_rank_names(struct nsx_trace *t, unsigned threads, struct nsx_err *err)
{
	if (!nsx_new_array(t->rank, t->arena, nsx_strings_bound(t->strings), "names in order", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++)
		t->rank[t->shape_name[i]] = 1;
	for (size_t i = 0; i < t->nvtx.n; i++)
		t->rank[t->nvtx.name[i]] = t->rank[nsx_range_label(t, t->nvtx.name[i])] = 1;
	t->rank[0] = 0; /* 0 means no name and has no text */
	return nsx_strings_rank(t->strings, t->rank, threads, err);
}

const char *nsx_process_name(const struct nsx_trace *t, uint32_t process)
{
	const char *name = nsx_title_label(nsx_text(t, t->process[process].name));

	return *name ? name : NULL;
}

/* StringIds ------------------------------------------------------------*/

/* Interns a row of StringIds. Most texts are kept unchanged, and most ids count up. */
static int read_string_row(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_loader *l = p->l;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	bool counted, changed;
	nsx_str str = 0;
	int rc;

	if (v[0].type != NSX_V_I64 || (v[1].type != NSX_V_TEXT && v[1].type != NSX_V_BLOB)) {
		p->defects.mistyped++;
		return 0;
	}
	counted = v[0].u.i >= 0 && (size_t)v[0].u.i < l->nby_id;
	changed = nsx_normalise(v[1].u.p, v[1].len, &b);
	if (counted && !changed)
		return nsx_strings_add_late(l->strings, p->own, v[1].u.p,
					    v[1].len, &l->by_id[v[0].u.i], err);
	rc = changed ? intern_stripped_name(l, &b, v[1].u.p, v[1].len, &str, err) :
		       nsx_strings_add(l->strings, v[1].u.p, v[1].len, &str, err);
	if (rc)
		return rc;
	if (counted) {
		l->by_id[v[0].u.i] = str;
		return 0;
	}
	pthread_mutex_lock(&l->lock);
	rc = nsx_push(l->sparse, l->nsparse, l->cap_sparse, "sparse string ids",
		      err, (struct nsx_sparse_id){v[0].u.i, str});
	pthread_mutex_unlock(&l->lock);
	return rc;
}

NSX_ORDER(cmp_sparse, struct nsx_sparse_id, UP(id));

int nsx_load_strings(struct nsx_loader *l, struct nsx_err *err)
{
	static const enum nsx_field fields[] = {NSX_F_string_id, NSX_F_string_value};
	struct nsx_late_strings *late;
	struct nsx_tableload table = NSX_TABLE(string, fields, read_string_row,
					       .own_size = sizeof(*late));
	int64_t n;
	int rc;

	if (!nsx_has_view(l->schema, NSX_VIEW_string))
		return 0;
	n = nsx_bound_ids(l->schema->db, l->schema->table[NSX_VIEW_string]->name);
	l->nby_id = n > 0 ? (size_t)n + 1024 : 0;
	l->by_id = nsx_try_alloc(l->nby_id, sizeof(*l->by_id), "string ids", err);
	if (!l->by_id)
		return err->rc;
	table.own = late = nsx_alloc(l->threads, sizeof(*late));
	rc = nsx_load_tables(l, &table, 1, "strings", err);
	for (unsigned i = 0; i < l->threads; i++) {
		rc = rc ?: nsx_strings_settle(l->strings, &late[i], err);
		nsx_buf_done(&late[i].texts);
	}
	free(late);
	nsx_sort(l->sparse, l->nsparse, sizeof(*l->sparse), cmp_sparse);
	return rc;
}

static nsx_str string_by_id(const struct nsx_loader *l, int64_t id)
{
	struct nsx_sparse_id want = {id, 0}, *found;

	if (id >= 0 && (size_t)id < l->nby_id && l->by_id[id])
		return l->by_id[id];
	found = l->nsparse ? bsearch(&want, l->sparse, l->nsparse, sizeof(want), cmp_sparse) : NULL;
	return found ? found->str : 0;
}

int nsx_find_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret, struct nsx_err *err)
{
	*ret = 0;
	if (v->type == NSX_V_TEXT)
		return intern_normalised_name(p->l, v->u.p, v->len, ret, err);
	if (v->type != NSX_V_I64)
		return 0;
	*ret = string_by_id(p->l, v->u.i);
	p->defects.dangling += !*ret;
	return 0;
}

int nsx_read_name(struct nsx_part *p, const struct nsx_val *v, nsx_str *ret, struct nsx_err *err)
{
	char text[40];

	if (nsx_find_name(p, v, ret, err))
		return err->rc;
	if (*ret || v->type != NSX_V_I64)
		return 0;
	snprintf(text, sizeof(text), "id:%lld", (long long)v->u.i);
	return nsx_strings_add(p->l->strings, text, strlen(text), ret, err);
}

nsx_str nsx_read_thread_name(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_part p = {.l = l};
	struct nsx_err err;
	nsx_str name = 0;

	if (nsx_read_name(&p, v, &name, &err))
		nsx_schema_lose(l->schema, err.msg);
	return name ? nsx_strings_put(l->strings,
				      nsx_thread_label(nsx_strings_text(l->strings, name))) : 0;
}

/* Kernels ------------------------------------------------------------------*/

/* The length of a name such as "operator<<" at p, whose brackets open nothing, with the space
 * before its template arguments; 0: none.
 */
static size_t operator_length(const char *p)
{
	static const char *const symbols[] = {"<<=", ">>=", "<=>", "->*", "<<", ">>",
					      "<=",  ">=",  "->",  "<",	  ">"};

	if (strncmp(p, "operator", 8))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		size_t n = strlen(symbols[i]);

		if (!strncmp(p + 8, symbols[i], n))
			return 8 + n + !strncmp(p + 8 + n, " <", 2);
	}
	return 0;
}

const char *nsx_parameters_of(const char *full, const char **ret_own)
{
	const char *p;
	int depth = 0;

	*ret_own = full;
	for (p = full; *p; p++) {
		if (p == *ret_own && !depth)
			p += operator_length(p);
		if (!*p)
			break;
		/* The parentheses belong to the name in "operator()(int)", and to a type after
		 * decltype.
		 */
		if (*p == '(' && !depth && strncmp(p, "(anonymous", 10) && strncmp(p, "()(", 3) &&
		    !(p == *ret_own + 8 && !strncmp(*ret_own, "decltype", 8)))
			break;
		if (*p == '<' || *p == '(' || *p == '{')
			depth++;
		else if ((*p == '>' || *p == ')' || *p == '}') && depth)
			depth--;
		else if (!depth && (*p == ' ' || *p == ':'))
			*ret_own = p + 1;
	}
	return p;
}

const char *nsx_base_of(const char *full, size_t *ret_len)
{
	const char *begin, *end = nsx_parameters_of(full, &begin);

	*ret_len = (size_t)(end - begin);
	for (size_t i = operator_length(begin); i < *ret_len; i++)
		if (begin[i] == '<')
			*ret_len = i - (i && begin[i - 1] == ' ');
	if (!*ret_len) {
		begin = full;
		*ret_len = strlen(full);
	}
	return begin;
}

static bool skip_known_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	/* Compares first letters first, because most words differ there. */
	if (((**p ^ *word) & ~0x20) || strncasecmp(*p, word, n))
		return false;
	*p += n;
	return true;
}

static const struct {
	const char *text, *name;
	enum nsx_comm_op op;
} comm_ops[] = {
	/* Longer names come before their own prefixes. */
	{"AllReduce", "allreduce", NSX_COMM_ALLREDUCE},
	{"AllGather", "allgather", NSX_COMM_ALLGATHER},
	{"ReduceScatter", "reducescatter", NSX_COMM_REDUCESCATTER},
	{"Broadcast", "broadcast", NSX_COMM_BROADCAST},
	{"Reduce", "reduce", NSX_COMM_REDUCE},
	{"SendRecv", "sendrecv", NSX_COMM_SENDRECV},
	{"AllToAll", "alltoall", NSX_COMM_ALLTOALL},
	{"Gather", "gather", NSX_COMM_GATHER},
	{"Scatter", "scatter", NSX_COMM_SCATTER},
};

const char *nsx_comm_op_name(enum nsx_comm_op op)
{
	for (unsigned i = 0; i < ARRAY_LEN(comm_ops); i++)
		if (comm_ops[i].op == op)
			return comm_ops[i].name;
	return "";
}

static enum nsx_comm_op classify_nccl(const char *p)
{
	if (!skip_known_word(&p, "Symk"))
		skip_known_word(&p, "Sym");
	skip_known_word(&p, "Dev");
	if (!skip_known_word(&p, "Kernel"))
		skip_known_word(&p, "k");
	skip_known_word(&p, "_");
	for (unsigned i = 0; i < ARRAY_LEN(comm_ops); i++)
		if (skip_known_word(&p, comm_ops[i].text))
			return comm_ops[i].op;
	return NSX_COMM_OTHER;
}

/* comm_words mark communication kernels. Other words exclude a kernel because it also computes or
 * works within one block. All are spelt as spell_words spells.
 */
static const char *const comm_words[] = {
	"_allreduce", "_all_reduce", "_allgather", "_all_gather", "_reducescatter",
	"_reduce_scatter", "_alltoall", "_allto_all", "_all_to_all", "_all2all", "_all2_all",
	"_a2a", "_a2_a", "_sendrecv", "_send_recv", "_twoshot", "_two_shot", "_moe_comm",
	"_cross_device_reduce", "_multimem", "_nvshmem", "userbuffers", "shmem_put", "shmem_get",
	"_on_stream_kernel", "_fcollect", "_barrier_all", "_put_signal", "_wait_signal",
	"_wait_until", "_put_nbi", "_get_nbi", "_ucp_", "_ucx_"};
static const char *const computing_words[] = {
	"gemm", "_g_e_m_m", "matmul", "mat_mul", "blockall", "block_all", "warpall", "warp_all"};
/* How the namespaces of communication libraries begin. */
static const char *const comm_libraries[] = {
	"nccl", "rccl", "nvshmem", "msccl", "deep_ep", "deepep", "hybrid_ep", "pplx",
	"userbuffers", "symm_mem", "symmetric_memory"};

/* Writes a name so that its words begin with "_", as each library spells in its own way: AllReduce
 * and all_reduce are "_all_reduce".
 */
static void spell_words(const char *name, char *ret, size_t size)
{
	size_t n = 0;

	ret[n++] = '_';
	for (; *name && n + 2 < size; name++) {
		if ((*name == '_' || isupper((unsigned char)*name)) && ret[n - 1] != '_')
			ret[n++] = '_';
		if (*name != '_')
			ret[n++] = (char)tolower((unsigned char)*name);
	}
	ret[n] = '\0';
}

#define HAS_ONE_OF(text, words) NSX_ANY(i, ARRAY_LEN(words), strstr(text, (words)[i]))

/* Whether a function lies in the namespace of a communication library. */
static bool is_in_comm_library(const char *full)
{
	const char *end = full + strcspn(full, "<(");

	while (end - full >= 2 && (end[-1] != ':' || end[-2] != ':'))
		end--; /* without the function's own name */
	for (const char *p = full; end - p >= 2; p++)
		for (size_t i = 0; i < ARRAY_LEN(comm_libraries); i++)
			if ((p == full || p[-1] == ':' || p[-1] == ' ') &&
			    !strncmp(p, comm_libraries[i], strlen(comm_libraries[i])))
				return true;
	return false;
}

enum nsx_comm_op nsx_classify_comm(const char *base, const char *full)
{
	char words[256];
	const char *p = base;

	if (skip_known_word(&p, "nccl") || skip_known_word(&p, "rccl"))
		return classify_nccl(p);
	spell_words(base, words, sizeof(words));
	return (HAS_ONE_OF(words, comm_words) || is_in_comm_library(full)) &&
			       !HAS_ONE_OF(words, computing_words) ?
		       NSX_COMM_OTHER : NSX_COMM_NONE;
}

/* Calls ----------------------------------------------------------------------*/

const char nsx_unnamed[] = "(unnamed)";

/* The length of an API name without its suffixes. */
static size_t length_of_base(const char *name)
{
	size_t n = strlen(name);

	for (;;) {
		size_t digits = 0;

		if (n > 5 && (!strncmp(name + n - 5, "_ptsz", 5) ||
			      !strncmp(name + n - 5, "_ptds", 5))) {
			n -= 5;
			continue;
		}
		while (digits < n && nsx_is_digit(name[n - 1 - digits]))
			digits++;
		if (!digits || digits + 2 >= n || strncmp(name + n - digits - 2, "_v", 2) != 0)
			return n;
		n -= digits + 2;
	}
}

const char *nsx_api_base(const char *name, char *buf, size_t size)
{
	size_t n = length_of_base(name);

	if (!name[n] || n >= size)
		return name;
	memcpy(buf, name, n);
	buf[n] = '\0';
	return buf;
}

/* The part of an API name after "cuda" or "cu"; NULL: it has neither prefix. */
static const char *skip_api_prefix(const char *api)
{
	if (!strncmp(api, "cuda", 4))
		return api + 4;
	return !strncmp(api, "cu", 2) ? api + 2 : NULL;
}

static bool is_launch_name(const char *s, uint8_t *flags)
{
	if (!strncmp(s, "GraphLaunch", 11)) {
		*flags |= NSX_CALL_GRAPH;
		return true;
	}
	return (!strncmp(s, "Launch", 6) && strncmp(s, "LaunchHostFunc", 14)) ||
	       !strcmp(s, "DeviceGraphLaunch");
}

enum nsx_call_class nsx_classify_call(const char *api, uint8_t *ret_flags)
{
	static const char *const syncs[] = {
		"StreamSynchronize", "DeviceSynchronize", "CtxSynchronize",
		"EventSynchronize", "ThreadSynchronize"};
	static const char *const frees[] = {
		"Free", "MemFree", "FreeHost", "MemFreeHost", "HostAlloc",
		"MemHostAlloc", "MallocHost", "MemAllocHost", "FreeArray"};
	static const char *const mallocs[] = {
		"Malloc", "MemAlloc", "MallocPitch", "MemAllocPitch",
		"MallocManaged", "MemAllocManaged", "Malloc3D", "MallocArray"};
	static const char *const waits[] = {"StreamWaitEvent", "EventQuery",
					    "StreamQuery", "EventRecord",
					    "EventRecordWithFlags"};
	char buf[256];
	const char *s = skip_api_prefix(nsx_api_base(api, buf, sizeof(buf)));

	if (!s)
		return NSX_CALL_OTHER;
	if (is_launch_name(s, ret_flags))
		return NSX_CALL_LAUNCH;
	if (NSX_IS_ONE_OF(s, syncs) || !strncmp(s, "CtxSynchronize", 14))
		return NSX_CALL_SYNC;
	if (!strncmp(s, "Memcpy", 6))
		return strstr(s, "Async") ? NSX_CALL_COPY_ASYNC : NSX_CALL_COPY;
	if (NSX_IS_ONE_OF(s, frees))
		return NSX_CALL_IMPLICIT_SYNC;
	if (NSX_IS_ONE_OF(s, mallocs)) {
		*ret_flags |= NSX_CALL_MALLOC;
		return NSX_CALL_IMPLICIT_SYNC;
	}
	if (!strncmp(s, "ModuleLoad", 10) || !strncmp(s, "LibraryLoad", 11) ||
	    !strncmp(s, "LinkComplete", 12) || !strcmp(s, "ModuleUnload"))
		return NSX_CALL_MODULE;
	return NSX_IS_ONE_OF(s, waits) ? NSX_CALL_NONE : NSX_CALL_OTHER;
}

bool nsx_api_allocates(const char *base)
{
	static const char *const begins[] = {
		"Malloc", "MemAlloc", "Free", "MemFree", "HostAlloc",
		"HostRegister", "HostUnregister", "MemHostAlloc",
		"MemHostRegister", "MemHostUnregister", "MemMap", "MemUnmap",
		"MemCreate", "MemRelease"};
	const char *s = skip_api_prefix(base);

	return s && NSX_ANY(i, ARRAY_LEN(begins), !strncmp(s, begins[i], strlen(begins[i])));
}

bool nsx_api_pins(const char *base)
{
	static const char *const pins[] = {"HostAlloc", "MallocHost", "HostRegister",
		"MemHostAlloc", "MemAllocHost", "MemHostRegister"};
	const char *s = skip_api_prefix(base);

	return s && NSX_IS_ONE_OF(s, pins);
}

bool nsx_osrt_sleeps(const char *name)
{
	return strstr(name, "sleep");
}

const char *nsx_copy_direction(unsigned copy_kind)
{
	static const char *const names[NSX_NCOPY_KINDS] = {
		[NSX_COPY_UNKNOWN] = "Unknown", [NSX_COPY_HTOD] = "HtoD",
		[NSX_COPY_DTOH] = "DtoH", [NSX_COPY_HTOA] = "HtoA",
		[NSX_COPY_ATOH] = "AtoH", [NSX_COPY_ATOA] = "AtoA",
		[NSX_COPY_ATOD] = "AtoD", [NSX_COPY_DTOA] = "DtoA",
		[NSX_COPY_DTOD] = "DtoD", [NSX_COPY_HTOH] = "HtoH",
		[NSX_COPY_PTOP] = "PtoP", [NSX_COPY_UVM_HTOD] = "UVM HtoD",
		[NSX_COPY_UVM_DTOH] = "UVM DtoH", [NSX_COPY_UVM_DTOD] = "UVM DtoD",
	};

	return names[copy_kind < ARRAY_LEN(names) ? copy_kind : 0];
}

/* Whether the name contains exactly this namespace: "at::" is not in "flat::". */
static bool has_namespace(const char *name, const char *space)
{
	for (const char *p = name; (p = strstr(p, space)); p++)
		if (p == name || !(isalnum((unsigned char)p[-1]) || p[-1] == '_'))
			return true;
	return false;
}

bool nsx_sees_pytorch(const struct nsx_trace *t)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	bool found = false;

	for (uint32_t i = 0; !found && i < t->nshapes; i++) {
		const char *name = nsx_str_read(t->strings, t->shape_name[i], &b);

		found = has_namespace(name, "at::") || has_namespace(name, "c10::");
	}
	return found || NSX_ANY(i, t->nvtx.n, !strncmp(nsx_text(t, t->nvtx.name[i]), "aten::", 6));
}
