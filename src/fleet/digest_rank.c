/* digest_rank.c - which rank of which job a process is, on which host, and what its clock showed.
 *
 * Only numbers are read from the environment. If one trace holds several ranks, its environment and
 * file name identify none of them.
 */
#include <ctype.h>
#include "base/regex.h"
#include "fleet/digest_make.h"
#include "schema/viewscan.h"

struct facts_of_capture {
	int64_t rank, world; /* from the environment; -1: not there */
	unsigned rank_trust; /* trust in the variable that gave the rank; less is better */
	int64_t utc_ns, system_ns;
	uint64_t host;
	const char *host_name;
	struct nsx_arena *a;
};

static const char *const rank_names[] = {
	"RANK=", "SLURM_PROCID=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=",
	"PMI_RANK=", "MV2_COMM_WORLD_RANK="};
static const char *const world_names[] = {
	"WORLD_SIZE=", "SLURM_NTASKS=", "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=",
	"MV2_COMM_WORLD_SIZE="};

/* The number that fills [p, end); -1: not a number. */
static int64_t number_in(const char *p, const char *end)
{
	int64_t x = 0;

	if (p == end || end - p > 9)
		return -1;
	for (; p < end; p++) {
		if (!isdigit((unsigned char)*p))
			return -1;
		x = 10 * x + (*p - '0');
	}
	return x;
}

static bool is_text(const struct nsx_val *v, const char *text)
{
	return v->type == NSX_V_TEXT && v->len == strlen(text) && !memcmp(v->u.p, text, v->len);
}

/* The number in `text`, NAME=VALUE, if its name is one of the given ones; otherwise -1. */
static int64_t value_of(const struct nsx_val *text, const char *const *names,
			size_t n, unsigned *ret_trust)
{
	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		*ret_trust = i;
		if (text->len > len && !memcmp(text->u.p, names[i], len))
			return number_in(text->u.p + len, text->u.p + text->len);
	}
	return -1;
}

static int on_capture(void *ctx, int64_t rid NSX_UNUSED,
		      const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	static const char name[] = "ENVIRONMENT_VARIABLE";
	struct facts_of_capture *c = ctx;
	unsigned trust;
	int64_t x;

	if (v[0].type != NSX_V_TEXT || v[1].type != NSX_V_TEXT ||
	    v[0].len < sizeof(name) - 1 || memcmp(v[0].u.p, name, sizeof(name) - 1))
		return 0;
	x = value_of(&v[1], rank_names, ARRAY_LEN(rank_names), &trust);
	if (x >= 0 && (c->rank < 0 || trust < c->rank_trust)) {
		c->rank = x;
		c->rank_trust = trust;
	}
	c->world = NSX_MAX(c->world, value_of(&v[1], world_names, ARRAY_LEN(world_names), &trust));
	return 0;
}

static int digest_rank_on_system(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
				 struct nsx_err *err NSX_UNUSED)
{
	struct facts_of_capture *c = ctx;

	if (is_text(&v[0], "Hostname") && v[1].type == NSX_V_TEXT && v[1].len) {
		c->host = nsx_hash(v[1].u.p, v[1].len);
		c->host_name = nsx_val_text(&v[1], c->a);
	}
	return 0;
}

static int digest_rank_on_session(void *ctx, int64_t rid NSX_UNUSED,
				  const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	struct facts_of_capture *c = ctx;
	int64_t *const to[] = {&c->utc_ns, &c->system_ns};

	for (unsigned i = 0; i < ARRAY_LEN(to); i++)
		if (v[i].type == NSX_V_I64 && v[i].u.i > 0 && v[i].u.i < NSX_TIME_MAX)
			*to[i] = v[i].u.i;
	return 0;
}

static int read_capture(const struct nsx_schema *s, struct facts_of_capture *c, struct nsx_err *err)
{
	bool failed =
		nsx_view_each(s, capture_meta, on_capture, c, err, name, value) ||
		nsx_view_each(s, system_env, digest_rank_on_system, c, err, name, value) ||
		nsx_view_each(s, session, digest_rank_on_session, c, err, utc_epoch_ns,
			      system_clock_ns);

	return failed && (err->rc == NSX_E_NOMEM || err->rc == NSX_E_STOP) ? err->rc : 0;
}

/* Finds the number that the first group of the regular expression matches in the file name. */
static int rank_in_name(const struct nsx_maker *m, int64_t *ret, struct nsx_err *err)
{
	const char *pattern = m->o->rank_regex ? m->o->rank_regex : NSX_RANK_REGEX;
	const char *name = nsx_base_name(m->path);
	regmatch_t at[2];
	regex_t re;

	*ret = -1;
	if (nsx_regex_compile(&re, pattern, REG_ICASE, err))
		return nsx_wrap(err, "cannot use --rank-regex '%s'", pattern);
	if (re.re_nsub < 1) {
		regfree(&re);
		return nsx_fail(err, NSX_E_USAGE, "--rank-regex '%s' is without a group in "
				"parentheses for the number", pattern);
	}
	if (!regexec(&re, name, 2, at, 0) && at[1].rm_so >= 0)
		*ret = number_in(name + at[1].rm_so, name + at[1].rm_eo);
	regfree(&re);
	return 0;
}

/* Parses "rank 3 of 8", "Rank: 3", "rank 3/8]" or "Rank 3] train.py". */
static bool read_mark(const char *s, int64_t *ret_rank, int64_t *ret_world)
{
	const char *end;
	size_t close;

	*ret_rank = -1;
	if (strncasecmp(s, "rank", 4))
		return false;
	s += 4 + strspn(s + 4, " :=_#");
	end = s + strspn(s, "0123456789");
	*ret_rank = number_in(s, end);
	*ret_world = -1;
	if (*ret_rank >= 0 && (!strncmp(end, " of ", 4) || *end == '/')) {
		s = end + (*end == '/' ? 1 : 4);
		end = s + strspn(s, "0123456789");
		*ret_world = number_in(s, end);
	}
	close = strspn(end, "])");
	return *ret_rank >= 0 && (!end[close] || (close && end[close] == ' '));
}

static void take_rank(struct nsx_digest *d, int64_t rank, int64_t world, enum nsx_rank_from from)
{
	d->rank = rank;
	d->world = NSX_MAX(d->world, world);
	d->rank_from = from;
}

static void rank_in_marks(const struct nsx_trace *t, uint32_t process, struct nsx_digest *d)
{
	int64_t rank, world;

	for (const struct nsx_thread *th = t->thread; th < t->thread + t->nthreads; th++)
		for (size_t i = 0; i < th->nnvtx && th->process == process && d->rank < 0; i++)
			if (t->nvtx.kind[th->nvtx_at + i] == NSX_NVTX_MARK &&
			    read_mark(nsx_raw_name(t, t->nvtx.name[th->nvtx_at + i]), &rank, &world))
				take_rank(d, rank, world, NSX_RANK_MARK);
}

/* Takes the rank from the name of the thread that initialised MPI, which recorders call "MPI Rank
 * 3".
 */
static void rank_in_names(const struct nsx_trace *t, uint32_t process, struct nsx_digest *d)
{
	int64_t rank, world;

	for (const struct nsx_thread *th = t->thread; th < t->thread + t->nthreads; th++) {
		const char *name = nsx_text(t, th->name);

		if (d->rank < 0 && th->process == process && !strncasecmp(name, "MPI ", 4) &&
		    read_mark(name + 4, &rank, &world))
			take_rank(d, rank, -1, NSX_RANK_MPI);
	}
}

/* Takes the rank from the largest communicator that the process joins with the device, if
 * that one spans the job: it has `world` ranks, or world is -1 (not known).
 */
static void rank_in_nccl(const struct nsx_maker *m, const struct nsx_member *x,
			 bool is_alone, int64_t world, struct nsx_digest *d)
{
	const struct nsx_nccl_init *best = NULL;

	for (size_t i = 0; i < m->nccl.ninits; i++) {
		const struct nsx_nccl_init *c = &m->nccl.init[i];

		if (nsx_process_find(m->t, nsx_process_key(c->global_tid)) == x->process &&
		    (is_alone || c->device == d->device) && (!best || c->nranks > best->nranks))
			best = c;
	}
	if (!best || (world >= 0 && best->nranks != world))
		return;
	d->world = best->nranks;
	take_rank(d, best->rank, -1, NSX_RANK_PAYLOAD);
}

struct mpi_ranks {
	const struct nsx_trace *t;
	const struct nsx_member *x;
	struct nsx_digest **d;
	size_t n;
};

static int on_mpi_rank(void *ctx, int64_t rid NSX_UNUSED,
		       const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	struct mpi_ranks *m = ctx;
	uint32_t process;

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 || v[1].u.i < 0 ||
	    v[1].u.i > INT32_MAX)
		return 0;
	process = nsx_process_find(m->t, nsx_process_key((uint64_t)v[0].u.i));
	for (size_t i = 0; i < m->n; i++)
		if (m->x[i].process == process && m->d[i]->rank < 0)
			take_rank(m->d[i], v[1].u.i, -1, NSX_RANK_MPI);
	return 0;
}

/* Parses a process title such as "train [rank 2/4]", or one that ends with a word and a number. The
 * number must be the only one: "Worker_PP1_TP2" is no rank.
 */
static bool read_title(const char *title, int64_t *ret_rank, int64_t *ret_world)
{
	static const char *const words[] = {"tp", "dp", "pp", "ep", "worker"};
	const char *end = title + strlen(title), *digits = end, *word;
	const char *mark = strcasestr(title, "rank");

	if (mark && read_mark(mark, ret_rank, ret_world))
		return true;
	while (digits > title && isdigit((unsigned char)digits[-1]))
		digits--;
	word = digits;
	while (word > title && strchr(" _-:=#", word[-1]))
		word--;
	*ret_rank = number_in(digits, end);
	*ret_world = -1;
	if (*ret_rank < 0 || strcspn(title, "0123456789") < (size_t)(digits - title))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(word - title) >= len && !strncasecmp(word - len, words[i], len))
			return true;
	}
	return false;
}

/* Whether the process has only one rank. With several devices it has several ranks, and
 * what names the process names none of them.
 */
static bool is_alone(const struct nsx_member *x, size_t n, size_t i)
{
	return (!i || x[i - 1].process != x[i].process) &&
	       (i + 1 == n || x[i + 1].process != x[i].process);
}

/* Fills whose digest it is and what the host's clocks showed. */
static void identify(const struct nsx_maker *m, const struct facts_of_capture *c,
		     const struct nsx_member *x, struct nsx_digest *d)
{
	uint64_t who = nsx_hash_u64(c->host), key = m->t->process[x->process].key;

	d->host = nsx_has_several_hosts(m->t) ?
			  nsx_hash_u64(c->host ^ (uint64_t)nsx_vm_of(key)) : c->host;
	d->host_name = c->host_name ? nsx_arena_strdup(d->arena, c->host_name) : NULL;
	d->world = c->world;
	d->utc_ns = c->utc_ns;
	d->system_ns = c->system_ns;
	who = nsx_hash_u64(who ^ (uint64_t)c->utc_ns);
	who = nsx_hash_u64(who ^ key);
	d->who = nsx_hash_u64(who ^ (uint64_t)d->device);
}

/* Numbers the i-th of n ranks if the user, NCCL and MPI have not. */
static int digest_rank_number(struct nsx_maker *m, const struct facts_of_capture *c,
			      const struct nsx_member *x, size_t n, size_t i,
			      struct nsx_digest *d, struct nsx_err *err)
{
	bool alone = is_alone(x, n, i);
	int64_t rank, world;

	if (!alone && d->rank_from != NSX_RANK_PAYLOAD)
		d->rank = -1;
	/* Without a known job size, the environment of a single rank is the better source. */
	if (d->rank < 0 && c->world < 0 && (n > 1 || c->rank < 0))
		rank_in_nccl(m, &x[i], alone, -1, d);
	if (n == 1 && d->rank < 0 && c->rank >= 0)
		take_rank(d, c->rank, -1, NSX_RANK_ENV);
	if (n == 1 && d->rank < 0) {
		if (rank_in_name(m, &d->rank, err))
			return err->rc;
		d->rank_from = NSX_RANK_FILE;
	}
	if (alone)
		rank_in_marks(m->t, x[i].process, d);
	if (d->rank < 0 && alone &&
	    read_title(nsx_text(m->t, m->t->process[x[i].process].name), &rank, &world))
		take_rank(d, rank, world, NSX_RANK_TITLE);
	if (d->rank < 0)
		d->rank_from = NSX_RANK_ORDER;
	return 0;
}

int nsx_maker_identify(struct nsx_maker *m, const struct nsx_member *x,
		       struct nsx_digest **d, size_t n, struct nsx_err *err)
{
	struct facts_of_capture c = {-1, -1, 0, -1, -1, 0, NULL, m->a};
	struct mpi_ranks mpi = {m->t, x, d, n};
	int rc = read_capture(m->t->schema, &c, err);

	if (!rc && m->o->rank >= 0 && n > 1)
		rc = nsx_fail(err, NSX_E_USAGE, "--rank %lld: '%s' holds %zu "
			      "ranks; leave --rank out", (long long)m->o->rank, m->path, n);
	for (size_t i = 0; i < n; i++) {
		identify(m, &c, &x[i], d[i]);
		d[i]->rank = n == 1 ? m->o->rank : -1;
		d[i]->rank_from = NSX_RANK_ENV;
		if (d[i]->rank < 0 && c.world >= 0)
			rank_in_nccl(m, &x[i], is_alone(x, n, i), c.world, d[i]);
	}
	if (!rc)
		rc = nsx_view_each(m->t->schema, mpi_rank, on_mpi_rank, &mpi,
				   err, global_tid, rank);
	for (size_t i = 0; i < n && !rc; i++) {
		rank_in_names(m->t, x[i].process, d[i]);
		rc = digest_rank_number(m, &c, x, n, i, d[i], err);
	}
	return rc;
}
