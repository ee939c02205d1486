/* library.c - rows of library calls. */
#include "base/stat.h"
#include "trace/load.h"

enum {
	START, END, TID, NAME, PEER, TAG_OR_COMM, BYTES, REQUEST = BYTES, COMM_OF_P2P,
	REQUEST_OF_WAIT = PEER
};

static int32_t rank_or_none(const struct nsx_val *v)
{
	int64_t i = nsx_i64_or(v, -1);

	return i >= 0 && i <= INT32_MAX ? (int32_t)i : -1;
}

static void note_communicator_size(struct nsx_loader *l, const struct nsx_val *v)
{
	l->most_ranks = NSX_MAX(l->most_ranks, nsx_i64_or(&v[0], 0));
}

/* Keeps a communicator whose ranks have other numbers than in the job's greatest communicator. */
static void add_renumbered_communicator(struct nsx_loader *l, const struct nsx_val *v)
{
	if (nsx_i64_or(&v[1], -1) != nsx_i64_or(&v[2], -1) ||
	    nsx_i64_or(&v[3], 0) != l->most_ranks)
		nsx_push_or_die(l->subset, l->nsubsets, l->cap_subsets, nsx_i64_or(&v[0], 0));
}

/* The other side of a message as a rank of the job; -1: unknown. */
static int32_t peer_rank(const struct nsx_loader *l, const struct nsx_val *v)
{
	int64_t comm = nsx_i64_or(&v[COMM_OF_P2P], 0);

	return l->nsubsets && bsearch(&comm, l->subset, l->nsubsets, sizeof(comm), nsx_cmp_i64) ?
		       -1 : rank_or_none(&v[PEER]);
}

static int library_read_call(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_library_rw *c = &p->l->library;
	bool is_coll = p->table->view == NSX_VIEW_mpi_coll;
	bool is_p2p = p->table->view == NSX_VIEW_mpi_p2p;
	bool is_wait = p->table->view == NSX_VIEW_mpi_wait;
	size_t at = p->at + p->n;

	if (!nsx_read_span(p, &v[START], &v[END], &c->start_ns[at], &c->end_ns[at]))
		return 0;
	if (nsx_read_thread(p, &v[TID], &nsx_no_cell, &nsx_no_cell,
			    &c->thread[at], err) ||
	    nsx_read_name(p, &v[NAME], &c->name[at], err))
		return err->rc;
	c->library[at] = nsx_library_of[p->table->view];
	c->is_coll[at] = is_coll;
	c->peer[at] = is_p2p ? peer_rank(p->l, v) : is_coll ? rank_or_none(&v[PEER]) : -1;
	c->second_peer[at] = -1;
	c->tag[at] = is_p2p ? rank_or_none(&v[TAG_OR_COMM]) : -1;
	c->comm[at] = is_coll ? nsx_i64_or(&v[TAG_OR_COMM], 0) :
		      is_p2p ? nsx_i64_or(&v[REQUEST], 0) :
		      is_wait ? nsx_i64_or(&v[REQUEST_OF_WAIT], 0) : 0;
	c->bytes[at] = is_coll ? NSX_MAX(-1, nsx_i64_or(&v[BYTES], -1)) : -1;
	p->n++;
	return 0;
}

#define TABLE(v, n, ...)                                                      \
	{.view = NSX_VIEW_##v, .nfields = (n), .row = library_read_call,              \
	 .fields = (const enum nsx_field[]){                                  \
		 NSX_FIELDS(v, start_ns, end_ns, global_tid, name), __VA_ARGS__}}
#define NSX_LIBRARY(v, library, table, name, help) TABLE(v, PEER, 0),
static const struct nsx_tableload tables[NSX_NLIBRARY_TABLES] = {
	TABLE(mpi_coll, 7, NSX_F_mpi_coll_root, NSX_F_mpi_coll_comm, NSX_F_mpi_coll_bytes),
	TABLE(mpi_p2p, 8, NSX_F_mpi_p2p_peer, NSX_F_mpi_p2p_tag, NSX_F_mpi_p2p_request,
	      NSX_F_mpi_p2p_comm),
	TABLE(mpi_wait, 5, NSX_F_mpi_wait_request),
#include "schema/libraries.def"
};
#undef NSX_LIBRARY
#undef TABLE

void nsx_bind_libraries(struct nsx_loader *l, struct nsx_tableload *list)
{
	struct nsx_library_rw *c = &l->library;

	NSX_LOAD_EACH(l, mpi_comm, note_communicator_size, size);
	NSX_LOAD_EACH(l, mpi_comm, add_renumbered_communicator, comm, rank, local_rank, size);
	nsx_sort(l->subset, l->nsubsets, sizeof(*l->subset), nsx_cmp_i64);
	l->library_set = (struct nsx_colset){"library calls", {
		NSX_COL(c->start_ns), NSX_COL(c->end_ns), NSX_COL(c->comm),
		NSX_COL(c->bytes), NSX_COL(c->thread), NSX_COL(c->name),
		NSX_COL(c->peer), NSX_COL(c->second_peer), NSX_COL(c->tag),
		NSX_COL(c->library), NSX_COL(c->is_coll)}, 0};
	memcpy(list, tables, sizeof(tables));
	for (unsigned i = 0; i < NSX_NLIBRARY_TABLES; i++)
		list[i].set = &l->library_set;
}

/* Compares rows of calls. Equal rows belong to one call. */
NSX_ROW_ORDER(library_cmp_calls, library, UP(thread), UP(start_ns), DOWN(end_ns), UP(library),
	      NAME(name));
NSX_THREAD_ORDER(library_cmp_rows, library, BY(library_cmp_calls), DOWN(is_coll), UP(comm),
		 UP(peer), UP(bytes));

/* Adds another row of a call: MPI_Waitall has one for each request, MPI_Sendrecv one for each peer. */
static void merge_row_into_call(struct nsx_library_rw *c, size_t to, size_t from)
{
	if (c->peer[to] != c->peer[from])
		*(c->is_coll[to] ? &c->peer[to] : &c->second_peer[to]) =
			c->is_coll[to] ? -1 : c->peer[from];
	if (c->tag[to] != c->tag[from])
		c->tag[to] = -1;
	if (c->comm[to] != c->comm[from] && !c->is_coll[to])
		c->comm[to] = 0;
}

int nsx_order_libraries(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_colset *set = &l->library_set;
	size_t n = 0;

	if (NSX_SORT_BY_THREAD(l, set, library_cmp_rows, err))
		return err->rc;
	for (size_t i = 0; i < set->n; i++)
		if (!n || library_cmp_calls(l, (uint32_t)n - 1, (uint32_t)i))
			nsx_colset_move(set, n++, i, 1);
		else
			merge_row_into_call(&l->library, n - 1, i);
	set->n = n;
	return 0;
}
