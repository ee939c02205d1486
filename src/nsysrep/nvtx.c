/* nvtx.c - NVTX events; ranges of nsys's MPI domain become MPI calls. */
#include "nsysrep/events.h"

enum { THREAD_NAMED = 39, RANGE = 59, DOMAIN_MADE = 75 }; /* event types          */
enum { TEXT_FIELD = 7, PAYLOAD = 8, TID = 9, DOMAIN = 13, OF_SCHEMA = 9 };
#define MPI_DOMAIN "MPI"
#define MPI_THREAD "MPI Rank "

int nsx_rep_mpi_order(const void *a, const void *b)
{
	const struct nsx_rep_mpi *x = a, *y = b;

	return NSX_CMP(x->is_rank, y->is_rank) ?: NSX_CMP(x->pid, y->pid) ?: NSX_CMP(x->n, y->n);
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

static bool is_of_mpi(const struct nsx_rep *rep, const struct nsx_msg *body)
{
	struct nsx_rep_mpi x = {nvtx_process_of(body), nsx_msg_uint(body, DOMAIN), false};

	return rep->nmpi && bsearch(&x, rep->mpi, rep->nmpi, sizeof(x), nsx_rep_mpi_order);
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

/* Adds a range of the MPI domain as a row of an MPI table. False: it is no MPI call. */
static bool nvtx_add_mpi(struct nsx_walker *w, const struct nsx_msg *body, bool has_payload,
			 const struct nsx_rep_payload *p, int *rc, struct nsx_err *err)
{
	const uint64_t to_one = UINT64_C(1) << NSX_MEANS_TAG | UINT64_C(1) << NSX_MEANS_SEND_TAG |
				UINT64_C(1) << NSX_MEANS_SOURCE | UINT64_C(1) << NSX_MEANS_TARGET;
	struct nsx_row_of of = {.body = body};
	enum nsx_rep_table t = NSX_REP_MPI_OTHER;
	struct nsx_rep_meanings m;
	struct nsx_val v[6];

	if (!has_payload)
		return *rc = nsx_walk_row(w, t, &of, err), true;
	if (!nsx_payload_meanings(&w->rep->schemas, p, &m))
		return false;
	if (m.has_list)
		return *rc = add_requests(w, body, &m, err), true;
	if (m.has & to_one)
		t = NSX_REP_MPI_P2P;
	else if (m.has >> NSX_MEANS_COMM & 1)
		t = NSX_REP_MPI_COLLECTIVE;
	else if (m.has >> NSX_MEANS_REQUEST & 1)
		return *rc = add_requests(w, body, &m, err), true;
	else
		return false;
	v[0] = val_with_meaning(&m, NSX_MEANS_COMM, 0);
	v[1] = t == NSX_REP_MPI_P2P ?
		       val_with_meaning(&m, NSX_MEANS_SEND_TAG, NSX_MEANS_TAG) :
		       val_with_meaning(&m, NSX_MEANS_ROOT, 0);
	v[2] = val_with_meaning(&m, NSX_MEANS_TARGET, NSX_MEANS_SOURCE);
	v[3] = val_with_meaning(&m, NSX_MEANS_SENT, NSX_MEANS_RECEIVED);
	if (t == NSX_REP_MPI_COLLECTIVE) {
		v[2] = null_if_zero(val_with_meaning(&m, NSX_MEANS_RECEIVED, 0));
		v[3] = null_if_zero(val_with_meaning(&m, NSX_MEANS_SENT, 0));
	}
	v[4] = val_with_meaning(&m, NSX_MEANS_REQUEST, 0);
	of.code = v;
	return *rc = nsx_walk_row(w, t, &of, err), true;
}

static void note_mpi(struct nsx_notes *notes, const struct nsx_msg *body, bool is_rank, uint64_t n)
{
	nsx_push_or_die(notes->mpi, notes->nmpi, notes->mpi_cap,
			(struct nsx_rep_mpi){nvtx_process_of(body), n, is_rank});
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
		note_mpi(w->notes, body, true, (uint64_t)x);
	return nsx_walk_row(w, NSX_REP_MPI_RANK, &(struct nsx_row_of){
			    .body = body, .code = &rank}, err);
}

static int note_event(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	if (w->type == THREAD_NAMED)
		return add_rank(w, body, err);
	if (w->type == DOMAIN_MADE && w->notes &&
	    nsx_piece_is(nsx_msg_bytes(body, TEXT_FIELD), MPI_DOMAIN))
		note_mpi(w->notes, body, false, nsx_msg_uint(body, DOMAIN));
	return 0;
}

bool nsx_nvtx_is_plain(const struct nsx_walker *w, const struct nsx_msg *body)
{
	return !w->rep->nmpi && w->type != THREAD_NAMED && w->type != DOMAIN_MADE &&
	       !nsx_msg_has(body, PAYLOAD);
}

int nsx_walk_nvtx(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg m, of_schema;
	struct nsx_val v[4] = {nsx_val_int((int64_t)w->type)};
	struct nsx_rep_payload p = {.pid = nvtx_process_of(body)};
	bool has_payload;
	int rc;

	if (!nsx_msg_read(&m, nsx_msg_bytes(body, PAYLOAD)) ||
	    !nsx_msg_read(&of_schema, nsx_msg_bytes(&m, OF_SCHEMA)))
		return nsx_walk_broken(w);
	if (note_event(w, body, err))
		return err->rc;
	has_payload = nsx_msg_has(&m, OF_SCHEMA);
	p.schema = nsx_msg_uint(&of_schema, 1);
	p.bytes = nsx_msg_bytes(&of_schema, 2);
	if (w->type == RANGE && is_of_mpi(w->rep, body) &&
	    nvtx_add_mpi(w, body, has_payload, &p, &rc, err))
		return rc;
	v[1] = val_of_real(&m, 3, true);
	v[2] = val_of_real(&m, 6, false);
	v[3] = nsx_val_none();
	nsx_buf_clear(&w->text);
	if (has_payload && !w->notes && nsx_is_wanted(w, NSX_REP_NVTX) &&
	    nsx_payload_json(&w->rep->schemas, &p, &w->text))
		v[3] = (struct nsx_val){NSX_V_TEXT, (uint32_t)w->text.n,
					{.p = w->text.p}};
	return nsx_walk_row(w, NSX_REP_NVTX, &(struct nsx_row_of){
			    .body = body, .part = &m, .code = v}, err);
}
