/* set.c - makes a fleet of digests: each rank once, numbered, on its host. */
#include "base/group.h"
#include "base/stat.h"
#include "fleet/fleet.h"
#include "report/text.h"
#include "report/words.h"

enum { MOST_NAMED_BYTES = 256 };

NSX_POINTER_ORDER(cmp_digest, struct nsx_digest, BY(nsx_digest_cmp));

/* Adds the name of a rank's input: "a.sqlite, b.sqlite"; stops at MOST_NAMED_BYTES. Ranks of one
 * trace name it once.
 */
static void add_input(struct nsx_buf *b, const struct nsx_digest *d)
{
	const char *last = b->n ? strrchr(b->p, ' ') : NULL;

	last = last ? last + 1 : b->n ? b->p : "";
	if (d->input && b->n < MOST_NAMED_BYTES && strcmp(last, d->input) != 0)
		nsx_buf_printf(b, "%s%s", b->n ? ", " : "", d->input);
}

size_t nsx_digest_unite(struct nsx_digest **v, size_t n, struct nsx_twice *twice)
{
	size_t kept = 0;

	nsx_sort(v, n, sizeof(*v), cmp_digest);
	for (size_t i = 0; i < n; i++)
		if (kept && v[i]->who == v[kept - 1]->who && v[i]->rank == v[kept - 1]->rank &&
		    (v[i]->is_partial || v[i]->first_ns == v[kept - 1]->first_ns)) {
			bool is_copy = v[i]->content == v[kept - 1]->content;

			if (twice)
				add_input(is_copy ? &twice->copies : &twice->unused, v[i]);
			if (twice && !is_copy)
				add_input(&twice->used, v[kept - 1]);
			nsx_digest_free(v[i]);
		} else {
			v[kept++] = v[i];
		}
	return kept;
}

NSX_POINTER_ORDER(cmp_who, struct nsx_digest, UP(who), UP(first_ns), BY(nsx_digest_cmp));

/* Drops captures that have another number only by the name of their file: a process is one rank.
 * Returns how many digests are left.
 */
static size_t drop_renamed(struct nsx_digest **v, size_t n, struct nsx_buf *copies)
{
	size_t kept = 0;

	nsx_sort(v, n, sizeof(*v), cmp_who);
	for (size_t i = 0; i < n; i++)
		if (kept && v[i]->who == v[kept - 1]->who && v[i]->utc_ns >= 0 &&
		    v[i]->first_ns == v[kept - 1]->first_ns && v[i]->rank_from == NSX_RANK_FILE) {
			add_input(copies, v[i]);
			nsx_digest_free(v[i]);
		} else {
			v[kept++] = v[i];
		}
	return kept;
}

/* Warns of inputs that are not used, and forgets their names. */
static void tell_twice(struct nsx_fleet *f, struct nsx_twice *x)
{
	if (x->copies.n)
		nsx_fleet_warn(f, "captures that are there twice count once; without %s "
			       "nothing would change", nsx_text_name(f->arena, x->copies.p));
	if (x->unused.n)
		nsx_fleet_warn(f, "of several captures of one process one counts: %s was used, "
			       "%s was not", nsx_text_name(f->arena, x->used.p),
			       nsx_text_name(f->arena, x->unused.p));
	nsx_buf_done(&x->copies);
	nsx_buf_done(&x->used);
	nsx_buf_done(&x->unused);
}

/* Order of ranks that have no number. */
NSX_POINTER_ORDER(cmp_place, struct nsx_digest, UP(host), UP(utc_ns), UP(pid),
	  UP(device), BY(nsx_digest_cmp));

/* Gives numbers to the ranks of v that have none; these ranks come first in v. */
static void set_number(struct nsx_fleet *f, struct nsx_digest **v, size_t n)
{
	size_t nunknown = 0, at, next = 0;

	while (nunknown < n && v[nunknown]->rank < 0)
		nunknown++;
	nsx_sort(v, nunknown, sizeof(*v), cmp_place);
	at = nunknown;
	for (size_t i = 0; i < nunknown; i++) {
		/* skips numbers that are taken */
		while (at < n && v[at]->rank <= (int64_t)next)
			next += v[at++]->rank == (int64_t)next;
		f->rank[f->nranks++] = (struct nsx_frank){
			.d = v[i], .number = (int64_t)next++};
	}
	if (nunknown && nunknown == n)
		nsx_fleet_warn(f, "no trace has the number of its rank: ranks are numbered in the "
			       "order of host, session and process");
	else if (nunknown)
		nsx_fleet_warn(f, "%s of %zu without a number in the traces: numbered in the order "
			       "of host, session and "
			       "process", nsx_text_n(f->arena, nunknown, "rank", NULL), n);
	for (size_t i = nunknown; i < n; i++) {
		if (i > nunknown && v[i]->rank == v[i - 1]->rank) {
			nsx_fleet_warn(f, "rank %lld is there more than once, from different "
				       "captures: %s was used, %s was not", (long long)v[i]->rank,
				       nsx_text_name(f->arena, v[i - 1]->input ?: "one"),
				       nsx_text_name(f->arena, v[i]->input ?: "another"));
			nsx_digest_free(v[i]);
			v[i] = v[i - 1];
			continue;
		}
		f->rank[f->nranks++] = (struct nsx_frank){
			.d = v[i], .number = v[i]->rank};
	}
}

/* Makes room for channels that the fleet adds, so that channels never move. */
static void make_room(struct nsx_digest *d)
{
	struct nsx_dchannel *v = nsx_arena_get(d->arena, (d->nchannels + NSX_MOST_PARTNERS) *
							 sizeof(*v));

	if (d->nchannels)
		memcpy(v, d->channels, d->nchannels * sizeof(*v));
	d->channels = v;
}

/* Drops the rank number of a digest. */
static void forget_rank(struct nsx_digest *d)
{
	d->rank = -1;
	d->rank_from = NSX_RANK_ORDER;
}

/* Drops rank numbers of a communicator with fewer ranks than are here: it does not span the job. */
static void doubt_payloads(struct nsx_digest **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i]->rank_from == NSX_RANK_PAYLOAD && v[i]->world < (int64_t)n) {
			forget_rank(v[i]);
			v[i]->world = -1;
		}
	nsx_sort(v, n, sizeof(*v), cmp_digest);
}

/* Whether two digests with one rank number are of two processes that ran at the same time. */
static bool are_two(const struct nsx_digest *x, const struct nsx_digest *y)
{
	return x->who == y->who ||
	       (x->utc_ns >= 0 && y->utc_ns >= 0 &&
		nsx_add_sat(x->utc_ns, x->first_ns) < nsx_add_sat(y->utc_ns, y->last_ns) &&
		nsx_add_sat(y->utc_ns, y->first_ns) < nsx_add_sat(x->utc_ns, x->last_ns));
}

/* Drops rank numbers from titles, and those of servers, if two ranks share one: each server counts
 * its workers from 0. Drops all if replicas of a job do so, as in containers.
 */
static void doubt_numbers(struct nsx_digest **v, size_t n)
{
	bool again = false;
	size_t nshared = 0;

	for (size_t i = 1; i < n; i++) {
		bool is_same = v[i]->rank >= 0 && v[i]->rank == v[i - 1]->rank;
		bool is_two = is_same && are_two(v[i], v[i - 1]);

		nshared += is_two;
		again |= is_same && (v[i]->rank_from == NSX_RANK_TITLE ||
				     v[i - 1]->rank_from == NSX_RANK_TITLE ||
				     (is_two && nsx_has_engine(v[i]) && nsx_has_engine(v[i - 1])));
	}
	for (size_t i = 0; i < n; i++) {
		bool are_replicas = 2 * nshared >= n;

		if (!are_replicas &&
		    !(again && (v[i]->rank_from == NSX_RANK_TITLE || nsx_has_engine(v[i]))))
			continue;
		forget_rank(v[i]);
		v[i]->world = are_replicas ? -1 : v[i]->world;
	}
	nsx_sort(v, n, sizeof(*v), cmp_digest);
}

NSX_ORDER(cmp_rank, struct nsx_frank, UP(number));

struct placed { /* a rank on its host */
	uint64_t hash;	/* hash of the host; 0: not known */
	uint32_t trace; /* number of the trace; only set if the host is not known */
	uint32_t rank;
};

NSX_ORDER(cmp_placed, struct placed, UP(hash == 0), UP(hash), UP(trace));

/* Lists hosts by hash. A trace without a host hash is a host of its own, after the others. */
static int list_hosts(struct nsx_fleet *f, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups g = {0};
	NSX_AT_EXIT(nsx_free_at) struct placed *v =
		nsx_try_alloc(f->nranks, sizeof(*v), "hosts", err);
	int rc = v && nsx_new_array(f->host, f->arena, f->nranks, "hosts", err) ? 0 : err->rc;

	for (uint32_t i = 0; i < f->nranks && !rc; i++) {
		const struct nsx_digest *d = f->rank[i].d;

		v[i] = (struct placed){.hash = d->host, .rank = i};
		if (!d->host)
			rc = nsx_group(&g, (uint64_t)d->utc_ns, d->utc_ns < 0 ? i : 0, &v[i].trace, err);
	}
	if (!rc) {
		nsx_sort(v, f->nranks, sizeof(*v), cmp_placed);
		NSX_EACH_RUN(i, next, f->nranks, !cmp_placed(&v[i], &v[next])) {
			f->host[f->nhosts] = (struct nsx_fhost){v[i].hash, (uint32_t)(next - i)};
			for (size_t k = i; k < next; k++)
				f->rank[v[k].rank].host = f->nhosts;
			f->nhosts++;
		}
	}
	return rc;
}

/* Highest number + 1; 0 if any number was made up, as then nobody is known to be absent. */
static int64_t highest_number(const struct nsx_fleet *f)
{
	for (uint32_t i = 0; i < f->nranks; i++)
		if (f->rank[i].d->rank < 0)
			return 0;
	return f->nranks ? f->rank[f->nranks - 1].number + 1 : 0;
}

/* Warns if exactly one host has somewhat fewer ranks than the others: some may be missing. */
static void doubt_hosts(struct nsx_fleet *f)
{
	uint32_t most = 0, fewer = 0, which = 0;

	for (uint32_t h = 0; h < f->nhosts; h++)
		most = NSX_MAX(most, f->host[h].nranks);
	for (uint32_t h = 0; h < f->nhosts; h++) {
		if (!f->host[h].hash)
			return;
		fewer += f->host[h].nranks < most;
		which = f->host[h].nranks < most ? h : which;
	}
	if (f->expected < 0 && !nsx_fleet_absent(f) && fewer == 1 &&
	    2 * f->host[which].nranks > most)
		nsx_fleet_warn(f, "host %u has %u ranks here and the other%s %u: if one is absent, "
			       "the others may have waited for it", which, f->host[which].nranks,
			       f->nhosts > 2 ? "s" : "", most);
}

/* Warns of signs that the traces come from two jobs. Clocks of hosts may be minutes off. */
static void doubt_job(struct nsx_fleet *f)
{
	const int64_t apart_ns = INT64_C(600000000000);
	int64_t least = INT64_MAX, start_ns = INT64_MIN, end_ns = INT64_MAX;

	for (uint32_t i = 0; i < f->nranks; i++) {
		const struct nsx_digest *d = f->rank[i].d;

		least = d->world > 0 ? NSX_MIN(least, d->world) : least;
		if (d->utc_ns < 0)
			continue;
		start_ns = NSX_MAX(start_ns, nsx_add_sat(d->utc_ns, d->first_ns));
		end_ns = NSX_MIN(end_ns, nsx_add_sat(d->utc_ns, d->last_ns));
	}
	f->may_be_two = least < f->expected ||
			(start_ns > end_ns && (uint64_t)start_ns - (uint64_t)end_ns >
						      (uint64_t)apart_ns);
	if (least < f->expected)
		nsx_fleet_warn(f, "traces say that their job has %lld ranks, others %lld: they may "
			       "be of two jobs", (long long)least, (long long)f->expected);
	else if (f->may_be_two)
		nsx_fleet_warn(f, "one trace ends %s before another begins: they may be of two "
			       "jobs", nsx_text_ns(f->arena, (double)start_ns - (double)end_ns));
}

int nsx_fleet_new(struct nsx_digest **v, size_t n, struct nsx_fleet **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_fleet *f = nsx_arena_get(a, sizeof(*f));
	struct nsx_twice twice = {0};
	int rc;

	f->arena = a;
	f->expected = -1;
	f->main = NSX_NONE;
	n = nsx_digest_unite(v, n, &twice);
	n = drop_renamed(v, n, &twice.copies);
	doubt_payloads(v, n);
	doubt_numbers(v, n);
	tell_twice(f, &twice);
	if (!nsx_new_array(f->rank, a, n, "ranks", err)) {
		free(f->warnings);
		nsx_arena_free(a);
		return err->rc;
	}
	for (size_t i = 0; i < n; i++)
		make_room(v[i]);
	set_number(f, v, n);
	nsx_sort(f->rank, f->nranks, sizeof(*f->rank), cmp_rank);
	for (uint32_t i = 0; i < f->nranks; i++) {
		f->expected = NSX_MAX(f->expected, f->rank[i].d->world);
		if (f->rank[i].d->is_partial)
			nsx_fleet_warn(f, "the trace of rank %lld lost rows: what it does not show "
				       "may have happened", (long long)f->rank[i].number);
	}
	f->numbered = highest_number(f);
	doubt_job(f);
	rc = list_hosts(f, err);
	if (rc) {
		nsx_fleet_free(f);
		return rc;
	}
	doubt_hosts(f);
	*ret = f;
	return 0;
}

int nsx_fleet_set_mesh(struct nsx_fleet *f, const struct nsx_mesh *m, struct nsx_err *err)
{
	int64_t n = nsx_mesh_ranks(m), most = f->nranks ? f->rank[f->nranks - 1].number + 1 : 0;

	if (n < most || (f->expected >= 0 && n != f->expected))
		return nsx_fail(err, NSX_E_USAGE, "the mesh has %lld ranks, the job %lld: give the "
				"size of every axis", (long long)n,
				(long long)NSX_MAX(most, f->expected));
	f->expected = n;
	f->mesh = *m;
	return 0;
}

int nsx_fleet_analyse(struct nsx_fleet *f, struct nsx_err *err)
{
	return nsx_fleet_match(f, err) || nsx_fleet_clocks(f, err) ||
	       nsx_fleet_match_pairs(f, err) || nsx_fleet_engines(f, err) ||
	       nsx_fleet_steps(f, err) || nsx_fleet_judge(f, err) ? err->rc : 0;
}

void nsx_fleet_free(struct nsx_fleet *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->nranks; i++)
		nsx_digest_free(f->rank[i].d);
	free(f->warnings);
	free(f->desync);
	nsx_arena_free(f->arena);
}
