/* nvtx.c - NVTX events; ranges of nsys's MPI domain become MPI calls. */
#include "nsysrep/events.h"

enum { THREAD_NAMED = 39, RANGE = 59, LONG_RANGE = 60, DOMAIN_MADE = 75 }; /* event types */
enum { START = 2, TEXT_FIELD = 7, PAYLOAD = 8, TID = 9, STOP = 10, NAME = 12, DOMAIN = 13,
       OF_SCHEMA = 9 };
#define MPI_THREAD "MPI Rank "

int nsx_rep_mpi_order(const void *a, const void *b)
{
	const struct nsx_rep_mpi *x = a, *y = b;

	return NSX_CMP(x->what == NSX_IS_RANK, y->what == NSX_IS_RANK) ?:
	       NSX_CMP(x->pid, y->pid) ?: NSX_CMP(x->n, y->n);
}

/* The number whose bits are a field of 64 or 32 bits. */
static struct nsx_val val_of_real(const struct nsx_msg *m, unsigned field, bool is_double)
{
	uint64_t bits = nsx_msg_uint(m, field);
	uint32_t half = (uint32_t)bits;
	double x;
	float f;

	memcpy(&x, &bits, sizeof(x));
	memcpy(&f, &half, sizeof(f));
	return nsx_msg_has(m, field) ?
		       (struct nsx_val){NSX_V_F64, 0, {.f = is_double ? x : (double)f}} :
		       nsx_val_none();
}

static uint64_t nvtx_process_of(const struct nsx_msg *body)
{
	return nsx_msg_uint(body, TID) & ~UINT64_C(0xffffff);
}

/* The domain of an event, if calls are ranges there; NULL: it is another one. */
static const struct nsx_rep_mpi *domain_of_calls(const struct nsx_rep *rep,
						 const struct nsx_msg *body)
{
	struct nsx_rep_mpi x = {nvtx_process_of(body), nsx_msg_uint(body, DOMAIN), NSX_CALLS_MPI};

	return rep->nmpi ? bsearch(&x, rep->mpi, rep->nmpi, sizeof(x), nsx_rep_mpi_order) : NULL;
}

/* The number with meaning k of a payload or, without it, the number with meaning `otherwise` (0:
 * there is no substitute).
 */
static struct nsx_val val_with_meaning(const struct nsx_rep_meanings *m, enum nsx_rep_meaning k,
				       enum nsx_rep_meaning otherwise)
{
	return m->has >> k & 1 ? nsx_val_int(m->v[k]) :
	       otherwise && m->has >> otherwise & 1 ? nsx_val_int(m->v[otherwise]) :
						      nsx_val_none();
}

static struct nsx_val null_if_zero(struct nsx_val v)
{
	return v.type == NSX_V_I64 && !v.u.i ? nsx_val_none() : v;
}

static struct nsx_val zero_if_null(struct nsx_val v)
{
	return v.type == NSX_V_NULL ? nsx_val_int(0) : v;
}

static int add_requests(struct nsx_walker *w, const struct nsx_msg *body,
			const struct nsx_rep_meanings *m, struct nsx_err *err)
{
	size_t n = m->has_list ? m->list.n / m->width : 1;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		struct nsx_val v = val_with_meaning(m, NSX_MEANS_REQUEST, 0);

		if (m->has_list)
			v = nsx_val_int(nsx_payload_int((struct nsx_piece){
				m->list.p + i * m->width, m->width}, true));
		rc = nsx_walk_row(w, NSX_REP_MPI_WAIT, &(struct nsx_row_of){
				  .body = body, .code = &v}, err);
	}
	return rc;
}

/* Whether a call sends to one rank and receives from another, or with other tags. */
static bool has_two_ways(const struct nsx_rep *rep, const struct nsx_msg *body,
			const struct nsx_rep_meanings *m)
{
	static const char name[] = "MPI_Sendrecv";
	struct nsx_piece is = nsx_rep_string(&rep->strings, nsx_msg_uint(body, NAME));

	return is.n >= strlen(name) && !memcmp(is.p, name, strlen(name)) &&
	       !(m->has >> NSX_MEANS_SEND_TAG & 1 &&
		 m->v[NSX_MEANS_SEND_TAG] == m->v[NSX_MEANS_RECV_TAG] &&
		 m->v[NSX_MEANS_TARGET] == m->v[NSX_MEANS_SOURCE]);
}

/* Adds a message to or from one rank. An exchange has a row for each direction. The first one has
 * no duration, and a direction without a partner has only a size of 0.
 */
static int add_message(struct nsx_walker *w, const struct nsx_msg *body,
		       const struct nsx_rep_meanings *m, struct nsx_err *err)
{
	bool is_both = has_two_ways(w->rep, body, m);
	struct nsx_msg sends = *body;
	struct nsx_val v[] = {
		val_with_meaning(m, NSX_MEANS_COMM, 0),
		val_with_meaning(m, NSX_MEANS_SEND_TAG, NSX_MEANS_TAG),
		val_with_meaning(m, NSX_MEANS_TARGET, is_both ? 0 : NSX_MEANS_SOURCE),
		val_with_meaning(m, NSX_MEANS_SENT, is_both ? 0 : NSX_MEANS_RECEIVED),
		val_with_meaning(m, NSX_MEANS_REQUEST, 0)};
	struct nsx_row_of of = {.body = body, .code = v};

	if (is_both) {
		sends.v[STOP] = sends.v[START];
		of.body = &sends;
		if (v[2].type == NSX_V_NULL)
			v[1] = v[2];
		v[3] = zero_if_null(v[3]);
		if (nsx_walk_row(w, NSX_REP_MPI_P2P, &of, err))
			return err->rc;
		of.body = body;
		v[2] = val_with_meaning(m, NSX_MEANS_SOURCE, 0);
		v[1] = v[2].type == NSX_V_NULL ? v[2] :
		       val_with_meaning(m, NSX_MEANS_RECV_TAG, NSX_MEANS_TAG);
		v[3] = zero_if_null(val_with_meaning(m, NSX_MEANS_RECEIVED, 0));
	}
	if (v[1].type == NSX_V_I64 && v[1].u.i < 0)
		v[1] = nsx_val_none(); /* any tag */
	return nsx_walk_row(w, NSX_REP_MPI_P2P, &of, err);
}

/* Adds a range of the MPI domain as a row of an MPI table. */
static int add_mpi_call(struct nsx_walker *w, const struct nsx_msg *body,
			const struct nsx_rep_payload *p, struct nsx_err *err)
{
	const uint64_t to_one = UINT64_C(1) << NSX_MEANS_TAG | UINT64_C(1) << NSX_MEANS_SEND_TAG |
				UINT64_C(1) << NSX_MEANS_SOURCE | UINT64_C(1) << NSX_MEANS_TARGET;
	const struct nsx_rep_schemas *s = &w->rep->schemas;
	struct nsx_rep_meanings m;
	int64_t n;

	if (!nsx_payload_meanings(s, p, &m) || m.has >> NSX_MEANS_WINDOW & 1)
		return nsx_walk_row(w, NSX_REP_MPI_OTHER, &(struct nsx_row_of){.body = body}, err);
	/* A wait for one of many lists all of them, but ended with this one. */
	if (m.has_list && nsx_payload_named(s, p, "Completed request", &n))
		m = (struct nsx_rep_meanings){.has = UINT64_C(1) << NSX_MEANS_REQUEST,
					      .v[NSX_MEANS_REQUEST] = n};
	if (m.has & to_one)
		return add_message(w, body, &m, err);
	if (!m.has_list && m.has >> NSX_MEANS_COMM & 1) {
		struct nsx_val v[] = {
			val_with_meaning(&m, NSX_MEANS_COMM, 0),
			val_with_meaning(&m, NSX_MEANS_ROOT, 0),
			null_if_zero(val_with_meaning(&m, NSX_MEANS_RECEIVED, 0)),
			null_if_zero(val_with_meaning(&m, NSX_MEANS_SENT, 0)),
			val_with_meaning(&m, NSX_MEANS_REQUEST, 0)};

		return nsx_walk_row(w, NSX_REP_MPI_COLLECTIVE, &(struct nsx_row_of){
				    .body = body, .code = v}, err);
	}
	if (m.has_list || m.has >> NSX_MEANS_REQUEST & 1)
		return add_requests(w, body, &m, err);
	return nsx_walk_row(w, NSX_REP_MPI_OTHER, &(struct nsx_row_of){.body = body}, err);
}

/* Adds a range of the UCX domain: the submission of a transfer, its progress, or another call. */
static int add_ucx_call(struct nsx_walker *w, const struct nsx_msg *body,
			const struct nsx_rep_payload *p, struct nsx_err *err)
{
	struct nsx_rep_meanings m;
	bool is_transfer = nsx_payload_meanings(&w->rep->schemas, p, &m);
	struct nsx_val v[] = {val_with_meaning(&m, NSX_MEANS_BUFFER, 0),
			      val_with_meaning(&m, NSX_MEANS_PEER, 0),
			      val_with_meaning(&m, NSX_MEANS_TAG, 0)};

	return nsx_walk_row(w, !is_transfer ? NSX_REP_UCP_OTHER : w->type == RANGE ?
			    NSX_REP_UCP_SUBMIT : NSX_REP_UCP_PROGRESS,
			    &(struct nsx_row_of){.body = body, .code = v}, err);
}

static void note_mpi(struct nsx_notes *notes, const struct nsx_msg *body, int what, uint64_t n)
{
	nsx_push_or_die(notes->mpi, notes->nmpi, notes->mpi_cap,
			(struct nsx_rep_mpi){nvtx_process_of(body), n, what});
}

/* Takes the rank from a thread that is named after it. */
static int add_rank(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_piece name = nsx_msg_bytes(body, TEXT_FIELD);
	size_t n = strlen(MPI_THREAD);
	struct nsx_val rank;
	int64_t x = 0;

	if (name.n <= n || name.n > n + 9 || memcmp(name.p, MPI_THREAD, n))
		return 0;
	for (; n < name.n; n++) {
		if (!nsx_is_digit((char)name.p[n]))
			return 0;
		x = x * 10 + (name.p[n] - '0');
	}
	rank = nsx_val_int(x);
	if (w->notes)
		note_mpi(w->notes, body, NSX_IS_RANK, (uint64_t)x);
	return nsx_walk_row(w, NSX_REP_MPI_RANK, &(struct nsx_row_of){
			    .body = body, .code = &rank}, err);
}

static int note_event(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	static const char *const domains[] = {[NSX_CALLS_MPI] = "MPI", [NSX_CALLS_UCX] = "UCX"};

	if (w->type == THREAD_NAMED)
		return add_rank(w, body, err);
	for (int i = 0; w->type == DOMAIN_MADE && w->notes && i < (int)ARRAY_LEN(domains); i++)
		if (nsx_piece_is(nsx_msg_bytes(body, TEXT_FIELD), domains[i]))
			note_mpi(w->notes, body, i, nsx_msg_uint(body, DOMAIN));
	return 0;
}

bool nsx_nvtx_is_plain(const struct nsx_walker *w, const struct nsx_msg *body)
{
	return !w->rep->nmpi && w->type != THREAD_NAMED && w->type != DOMAIN_MADE &&
	       !nsx_msg_has(body, PAYLOAD);
}

/* The JSON of a payload. Most stacks of Python repeat. */
static struct nsx_val payload_text(struct nsx_walker *w, const struct nsx_rep_payload *p)
{
	uint64_t hash = nsx_hash(p->bytes.p, p->bytes.n) + nsx_hash_u64(p->pid);
	struct nsx_rep_json *x = &w->json[hash % NSX_REP_TEXTS];

	if (x->pid != p->pid || x->schema != p->schema || x->payload.n != p->bytes.n ||
	    (p->bytes.n && memcmp(x->payload.p, p->bytes.p, p->bytes.n))) {
		x->pid = p->pid;
		x->schema = p->schema;
		nsx_buf_clear(&x->payload);
		nsx_buf_clear(&x->text);
		nsx_buf_add(&x->payload, (const char *)p->bytes.p, p->bytes.n);
		if (!nsx_payload_json(&w->rep->schemas, p, &x->text))
			nsx_buf_clear(&x->text);
	}
	return x->text.n ? (struct nsx_val){NSX_V_TEXT, (uint32_t)x->text.n, {.p = x->text.p}} :
			   nsx_val_none();
}

int nsx_walk_nvtx(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg m, of_schema;
	struct nsx_val v[4] = {nsx_val_int((int64_t)w->type)};
	struct nsx_rep_payload p = {.pid = nvtx_process_of(body)};
	const struct nsx_rep_mpi *calls;

	if (!nsx_msg_read(&m, nsx_msg_bytes(body, PAYLOAD)) ||
	    !nsx_msg_read(&of_schema, nsx_msg_bytes(&m, OF_SCHEMA)))
		return nsx_walk_broken(w);
	if (note_event(w, body, err))
		return err->rc;
	p.schema = nsx_msg_uint(&of_schema, 1);
	p.bytes = nsx_msg_bytes(&of_schema, 2);
	calls = w->type == RANGE || w->type == LONG_RANGE ? domain_of_calls(w->rep, body) : NULL;
	if (calls && calls->what == NSX_CALLS_UCX)
		return add_ucx_call(w, body, &p, err);
	if (calls && w->type == RANGE)
		return add_mpi_call(w, body, &p, err);
	v[1] = val_of_real(&m, 3, true);
	v[2] = val_of_real(&m, 6, false);
	v[3] = nsx_msg_has(&m, OF_SCHEMA) && !w->notes && nsx_is_wanted(w, NSX_REP_NVTX) ?
		       payload_text(w, &p) : nsx_val_none();
	return nsx_walk_row(w, NSX_REP_NVTX, &(struct nsx_row_of){
			    .body = body, .part = &m, .code = v}, err);
}
