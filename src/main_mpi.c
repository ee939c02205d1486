/* main_mpi.c - fleet over MPI: nsys-explain-mpi fleet INPUT...
 *
 * Rank 0 distributes the inputs by size. Every rank digests its share, which may exist on its node
 * only. The digests are gathered along a binomial tree as images of digest files. Merging is a
 * union, so the report equals that of a single process byte for byte. MPI itself moves bytes,
 * places processes and detects their death.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/cmd_common.h"
#include "cli/fleet_run.h"

enum { TAG = 1, MOST_AT_ONCE = 1 << 30 };

static int me, nprocesses;

/* Ends the job after a failure that is not specific to one input. */
static _Noreturn void give_up(const struct nsx_err *err)
{
	fprintf(stderr, "nsys-explain-mpi: rank %d: %s\n", me, err->msg);
	MPI_Abort(MPI_COMM_WORLD, err->rc == NSX_E_USAGE ? 2 : 3);
	exit(3);
}

/* Inputs -----------------------------------------------------------------------------*/

struct sized {
	const char *path;
	int64_t size;
};

NSX_ORDER(cmp_size, struct sized, DOWN(size), TEXT(path));

/* Gives each input, largest first, to the least loaded rank; names end with a newline. */
static void main_mpi_deal(const struct nsx_fleet_inputs *in, struct nsx_buf *shares,
			  struct nsx_arena *a)
{
	struct sized *v = nsx_arena_get(a, in->n * sizeof(*v));
	int64_t *load = nsx_arena_get(a, (size_t)nprocesses * sizeof(*load));

	for (size_t i = 0; i < in->n; i++) {
		struct stat st;

		v[i].path = in->path[i];
		v[i].size = stat(v[i].path, &st) ? 0 : st.st_size;
	}
	nsx_sort(v, in->n, sizeof(*v), cmp_size);
	for (size_t i = 0; i < in->n; i++) {
		int least = 0;

		for (int p = 1; p < nprocesses; p++)
			if (load[p] < load[least])
				least = p;
		load[least] += v[i].size + 1;
		nsx_buf_printf(&shares[least], "%s\n", v[i].path);
	}
}

/* Sends each rank its share of the inputs, as text. Owner: the caller. */
static char *main_mpi_scatter(const struct nsx_fleet_inputs *in, struct nsx_arena *a)
{
	struct nsx_buf *shares = nsx_arena_get(a, (size_t)nprocesses * sizeof(*shares));
	struct nsx_buf all = {0};
	int *size = nsx_arena_get(a, (size_t)nprocesses * sizeof(*size));
	int *at = nsx_arena_get(a, (size_t)nprocesses * sizeof(*at)), n;
	char *mine;

	if (!me)
		main_mpi_deal(in, shares, a);
	for (int p = 0; p < nprocesses && !me; p++) {
		at[p] = (int)all.n;
		size[p] = (int)shares[p].n;
		if (shares[p].n)
			nsx_buf_add(&all, shares[p].p, shares[p].n);
		nsx_buf_done(&shares[p]);
	}
	MPI_Scatter(size, 1, MPI_INT, &n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	mine = nsx_arena_get(a, (size_t)n + 1);
	MPI_Scatterv(all.p, size, at, MPI_CHAR, mine, n, MPI_CHAR, 0, MPI_COMM_WORLD);
	nsx_buf_done(&all);
	return mine;
}

static struct nsx_fleet_inputs split_lines(char *text, struct nsx_arena *a)
{
	struct nsx_fleet_inputs in = {.arena = a};
	size_t n = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	in.path = nsx_arena_get(a, n * sizeof(*in.path));
	while (*text) {
		size_t len = strcspn(text, "\n");

		in.path[in.n++] = text;
		text[len] = '\0';
		text += len + 1;
	}
	return in;
}

/* Digests ----------------------------------------------------------------------------*/

struct set {
	struct nsx_digest **v;
	size_t n;
};

static void send_set(struct set *s, int to)
{
	struct nsx_digest_writer *w = NULL;
	struct nsx_err err;
	const void *image;
	uint64_t size;
	size_t n;
	int rc = nsx_digest_writer_new(&w, &err);

	s->n = nsx_digest_unite(s->v, s->n, NULL);
	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = nsx_digest_add(w, s->v[i], &err);
		nsx_digest_free(s->v[i]);
	}
	if (rc || nsx_digest_image(w, &image, &n, &err))
		give_up(&err);
	size = n;
	MPI_Send(&size, 1, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD);
	for (size_t at = 0; at < n; at += MOST_AT_ONCE)
		MPI_Send((const char *)image + at,
			 (int)NSX_MIN(n - at, MOST_AT_ONCE), MPI_BYTE, to, TAG, MPI_COMM_WORLD);
	nsx_digest_writer_free(w);
	free(s->v);
	*s = (struct set){0};
}

static void receive_set(struct set *s, int from, unsigned keep)
{
	struct nsx_digest **v, **all;
	struct nsx_err err;
	uint64_t size;
	size_t n;
	char *image;

	MPI_Recv(&size, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	image = nsx_try_alloc(size, 1, "a digest", &err);
	if (!image)
		give_up(&err);
	for (size_t at = 0; at < size; at += MOST_AT_ONCE)
		MPI_Recv(image + at, (int)NSX_MIN(size - at, MOST_AT_ONCE),
			 MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (nsx_digest_parse(image, size, "a digest of another rank", keep, &v, &n, &err))
		give_up(&err);
	free(image);
	all = nsx_try_alloc(s->n + n, sizeof(*all), "ranks", &err);
	if (!all)
		give_up(&err);
	if (s->n)
		memcpy(all, s->v, s->n * sizeof(*all));
	if (n)
		memcpy(all + s->n, v, n * sizeof(*all));
	free(s->v);
	free(v);
	*s = (struct set){all, s->n + n};
}

/* A binomial tree: in round b ranks whose bit b is set send and finish. */
static void main_mpi_reduce(struct set *s, unsigned keep)
{
	for (int bit = 1; bit < nprocesses; bit <<= 1) {
		if (me & bit) {
			send_set(s, me - bit);
			return;
		}
		if (me + bit < nprocesses)
			receive_set(s, me + bit, keep);
	}
}

/* Gathers what the ranks left out on rank 0, ordered by rank. */
static void gather_left_out(struct nsx_left_out *x, struct nsx_arena *a)
{
	int n[2] = {(int)x->n, (int)x->why.n};
	int *all = nsx_arena_get(a, (size_t)nprocesses * sizeof(n));
	int *size = nsx_arena_get(a, (size_t)nprocesses * sizeof(*size));
	int *at = nsx_arena_get(a, (size_t)nprocesses * sizeof(*at)), sum = 0;
	char *why;

	MPI_Gather(n, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
	for (int p = 0; p < nprocesses && !me; p++) {
		at[p] = sum;
		size[p] = all[2 * p + 1];
		sum += size[p];
		x->n += p ? (size_t)all[2 * p] : 0;
	}
	why = nsx_arena_get(a, (size_t)sum + 1);
	MPI_Gatherv(x->why.p, n[1], MPI_CHAR, why, size, at, MPI_CHAR, 0, MPI_COMM_WORLD);
	if (!me && sum > n[1])
		nsx_buf_add(&x->why, why + n[1], (size_t)(sum - n[1]));
}

static const struct nsx_cmd fleet = {NSX_FLEET_COMMAND};

static int main_mpi_run(int argc, char **argv)
{
	struct nsx_fleet_run r = {.digest = {.rank = -1, .threads = 1}};
	struct nsx_fleet_inputs mine;
	struct nsx_arena *a = nsx_arena_new();
	struct set s = {0};
	struct nsx_err err;
	int n, rc = nsx_opt_parse(&fleet, argc, argv, &r, &n, &err) ?:
		    nsx_fleet_run_begin(&r, n, argv + 1, &err);

	/* All ranks have the same command line; only rank 0 looks for files. */
	if (rc && !me)
		nsx_cmd_fail(&err, false);
	MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rc) {
		nsx_arena_free(a);
		return rc == NSX_E_USAGE ? 2 : 3;
	}
	if (me) /* only rank 0 analyses them; the others forward them */
		r.digest.keep = NSX_KEEP_BYTES;
	mine = split_lines(main_mpi_scatter(&r.inputs, a), a);
	if (nsx_fleet_read(&mine, &r.digest, r.jobs, &s.v, &s.n, &r.left_out, &err))
		give_up(&err);
	nsx_fleet_run_say(&r.left_out);
	gather_left_out(&r.left_out, a);
	main_mpi_reduce(&s, r.digest.keep);
	if (!me) {
		rc = nsx_fleet_run_finish(&r, s.v, s.n, &err);
		rc = rc < 0 ? nsx_cmd_fail(&err, r.json) : nsx_cmd_printed(rc);
	}
	MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
	nsx_fleet_run_done(&r);
	nsx_arena_free(a);
	return rc;
}

int main(int argc, char **argv)
{
	int code = 2;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &nprocesses);
	if (argc < 2 || strcmp(argv[1], "fleet") != 0) {
		if (!me)
			fprintf(stderr, "usage: mpirun nsys-explain-mpi fleet %s\n", fleet.usage);
	} else if (nsx_opt_wants_help(&fleet, argc - 1, argv + 1)) {
		if (!me)
			nsx_opt_help(&fleet, stdout);
		code = 0;
	} else {
		code = main_mpi_run(argc - 1, argv + 1);
	}
	MPI_Finalize();
	return code;
}
