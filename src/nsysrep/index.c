/* index.c - walks all events, to count the rows of each table in each block and to collect facts
 * that lie in events.
 */
#include <unistd.h>
#include "base/keymap.h"
#include "base/par.h"
#include "base/stat.h"
#include "nsysrep/events.h"

_Static_assert(NSX_REP_THREAD_NAME <= 64, "tables of events are bits of a number");

enum { MOST_THREADS = 8, PARTS_A_THREAD = 4,
       MOST_COPIED = 6 * 1024 * 1024, /* bytes of copied events            */
       FEW = 6 }; /* events of a table are few up to this part of a block  */

struct job {
	struct nsx_rep *rep;
	size_t nparts;
	struct nsx_notes *notes; /* by part                                  */
};

/* Merges what a part found into the report; is_again: another walk will find it again. */
static void merge_notes(struct nsx_rep *rep, struct nsx_notes *n, bool is_again)
{
	if (is_again) {
		nsx_arena_free(n->arena);
	} else {
		for (unsigned t = 0; t < NSX_SMALL_TYPES; t++)
			rep->tables[t] |= n->tables[t];
		for (unsigned i = 0; i < n->nunknown; i++)
			nsx_count_unknown(rep->unknown, &rep->nunknown, &n->unknown[i]);
		for (size_t i = 0; i < n->nprocesses; i++)
			nsx_push_or_die(rep->processes, rep->nprocesses, rep->processes_cap,
					n->processes[i]);
		nsx_arena_adopt(rep->file.arena, n->arena);
	}
	free(n->mpi);
	free(n->processes);
	free(n->copy);
}

/* Says of each block where its stacks are. */
static void keep_stacks(struct nsx_rep *rep, struct nsx_notes *notes, size_t first, size_t end)
{
	for (enum nsx_rep_stacked k = 0; k < NSX_NSTACKED; k++) {
		struct nsx_rep_order *o = &notes->order[k];
		uint16_t *kept = nsx_arena_get(notes->arena, o->n * sizeof(*kept));

		if (o->n)
			memcpy(kept, o->v, o->n * sizeof(*kept));
		free(o->v);
		for (size_t b = first; b < end && rep->index[b].is_kept[k]; b++) {
			rep->index[b].kept[k] = kept;
			kept += rep->index[b].nstacks[k];
		}
	}
}

static int walk_part(void *ctx, size_t part, struct nsx_err *err)
{
	struct job *job = ctx;
	struct nsx_rep *rep = job->rep;
	size_t first = rep->file.nblocks * part / job->nparts;
	size_t end = rep->file.nblocks * (part + 1) / job->nparts;
	struct nsx_walker *w = nsx_walker_take(rep);
	struct nsx_notes *notes = &job->notes[part];
	int rc = 0;

	notes->stacks = rep->stacks;
	notes->room = MOST_COPIED / job->nparts;
	w->notes = notes;
	notes->least_bits = UINT64_MAX;
	for (size_t b = first; !rc && b < end; b++) {
		notes->at = (struct nsx_rep_index){.least_ns = INT64_MAX,
						     .most_ns = INT64_MIN};
		notes->most = rep->file.blocks[b].plain / FEW;
		rc = nsx_stopped(err) ?: nsx_walk_block(w, 0, b, err);
		if (rc == NSX_E_DATA) {
			notes->at = (struct nsx_rep_index){.is_lost = true};
			rc = 0;
		}
		memcpy(notes->at.nstacks, w->nstacks, sizeof(w->nstacks));
		for (enum nsx_rep_stacked k = 0; k < NSX_NSTACKED; k++)
			notes->at.is_kept[k] = !notes->order[k].is_full;
		rep->index[b] = notes->at;
	}
	keep_stacks(rep, notes, first, end);
	nsx_walker_give(w);
	return rc;
}

/* Replaces what is known of MPI by what the parts found. */
static void take_mpi(struct nsx_rep *rep, const struct job *job)
{
	size_t cap = 0;

	free(rep->mpi);
	rep->mpi = NULL;
	rep->nmpi = 0;
	for (size_t p = 0; p < job->nparts; p++)
		for (size_t i = 0; i < job->notes[p].nmpi; i++)
			nsx_push_or_die(rep->mpi, rep->nmpi, cap, job->notes[p].mpi[i]);
	nsx_sort(rep->mpi, rep->nmpi, sizeof(*rep->mpi), nsx_rep_mpi_order);
}

/* MPI calls are ranges of certain NVTX domains. The first walk finds these domains; if there are
 * any, a second one assigns their ranges to the MPI tables.
 */
static int walk_all(struct nsx_rep *rep, struct nsx_err *err)
{
	long ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = (unsigned)NSX_MIN(NSX_MAX(ncpus, 1), MOST_THREADS);
	struct job job = {.rep = rep, .nparts = NSX_MIN(NSX_MAX(rep->file.nblocks, 1),
							 (size_t)threads * PARTS_A_THREAD)};
	bool is_again = !rep->nmpi;
	int64_t n[NSX_NSTACKED] = {0};
	int rc;

	job.notes = nsx_alloc(job.nparts, sizeof(*job.notes));
	for (size_t p = 0; p < job.nparts; p++)
		job.notes[p].arena = nsx_arena_new();
	rc = nsx_par(threads, job.nparts, walk_part, &job, err);
	take_mpi(rep, &job);
	is_again &= rep->nmpi > 0;
	for (size_t p = 0; p < job.nparts; p++)
		merge_notes(rep, &job.notes[p], is_again);
	free(job.notes);
	if (is_again)
		return rc ?: walk_all(rep, err);
	for (size_t b = 0; b < rep->file.nblocks; b++)
		for (enum nsx_rep_stacked k = 0; k < NSX_NSTACKED; k++) {
			rep->index[b].before[k] = n[k];
			n[k] += rep->index[b].nstacks[k];
		}
	return rc;
}

/* Adds one row for each pair of process and name; reports repeat these pairs. */
static int add_processes(struct nsx_rep *rep, struct nsx_err *err)
{
	struct nsx_keycache recent = {0};
	struct nsx_keymap seen;
	uint32_t nseen = 0, id;
	int rc = 0;

	nsx_keymap_init(&seen, "processes");
	for (size_t i = 0; !rc && i < rep->nprocesses; i++) {
		const struct nsx_rep_process *p = &rep->processes[i];
		size_t n = strlen(p->name);

		rc = nsx_keymap_add(&seen, &recent, &(struct nsx_key){{
				    p->pid, n, nsx_hash(p->name, n)}}, &id, err);
		if (rc || id < nseen)
			continue;
		nseen++;
		nsx_rows_put(&rep->facts, NSX_REP_PROCESS, (struct nsx_val[]){
				     nsx_val_int((int64_t)p->pid),
				     nsx_val_int((int64_t)(p->pid >> 24 & 0xffffff)),
				     nsx_val_str(p->name)});
	}
	nsx_keymap_done(&seen);
	return rc;
}

/* Adds a worker of UCX. False: the payload describes something else. */
static bool add_worker(struct nsx_rep *rep, const struct nsx_rep_payload *p)
{
	enum { PARADIGM = 4, UCX = 2, UID = 8, WORKER_SIZE = 16 };
	uint64_t main_thread = p->pid >> 24 & 0xffffff;

	if (p->bytes.n < WORKER_SIZE || p->bytes.p[PARADIGM] != UCX)
		return false;
	nsx_rows_put(&rep->facts, NSX_REP_UCP_WORKER, (struct nsx_val[]){
		nsx_val_int((int64_t)(p->pid | main_thread)),
		nsx_val_int(nsx_payload_int((struct nsx_piece){p->bytes.p + UID, 8}, true))});
	return true;
}

/* Adds MPI communicators and UCX workers, which are described by payloads outside the events. */
static void add_communicators(struct nsx_rep *rep)
{
	static const char *const names[] = {"NewComm", "ParentComm", "LocalRank", "Size",
					    "GroupRootGlobalRank", "GroupRootUniqueId"};
	enum { RANK, TIME, NAMED, ROOT = NAMED + 4, ROOT_ID, MEMBERS, NCELLS };

	for (size_t i = 0; i < rep->schemas.nloose; i++) {
		const struct nsx_rep_loose *x = &rep->schemas.loose[i];
		struct nsx_val v[NCELLS] = {[TIME] = nsx_val_int(x->at_ns)};
		int64_t n;

		size_t rank = NSX_SEARCH((size_t)0, rep->nmpi, k, nsx_rep_mpi_order(
			&rep->mpi[k], &(struct nsx_rep_mpi){
				x->payload.pid, 0, NSX_IS_RANK}) < 0);

		if (add_worker(rep, &x->payload))
			continue;
		if (rank < rep->nmpi && rep->mpi[rank].what == NSX_IS_RANK &&
		    rep->mpi[rank].pid == x->payload.pid)
			v[RANK] = nsx_val_int((int64_t)rep->mpi[rank].n);
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (nsx_payload_named(&rep->schemas, &x->payload, names[k], &n))
				v[NAMED + k] = nsx_val_int(n);
		if (v[ROOT].type == NSX_V_I64 && v[ROOT].u.i < 0)
			v[ROOT] = v[ROOT_ID] = nsx_val_none();
		if (v[NAMED].type == NSX_V_I64)
			nsx_rows_put(&rep->facts, NSX_REP_MPI_COMMUNICATOR, v);
	}
}

NSX_ORDER(unknown_order, struct nsx_unknown, UP(type), UP(body), UP(kind));

int nsx_rep_index(struct nsx_rep *rep, struct nsx_err *err)
{
	int rc;

	for (enum nsx_rep_stacked k = 0; k < NSX_NSTACKED; k++) {
		pthread_mutex_init(&rep->stacks[k].lock, NULL);
		rep->stacks[k].arena = nsx_arena_new();
	}
	if (!nsx_new_array(rep->index, rep->file.arena, rep->file.nblocks, "blocks of events", err))
		return err->rc;
	rc = walk_all(rep, err);
	nsx_sort(rep->unknown, rep->nunknown, sizeof(*rep->unknown), unknown_order);
	if (!rc)
		add_communicators(rep);
	return rc ?: add_processes(rep, err);
}
