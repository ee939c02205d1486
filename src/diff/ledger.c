/* ledger.c - appends promises to a file, and sums up such files by kind of finding. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include "diff/ledger.h"

enum { MOST_LINES = 1 << 20 };

struct line {
	const char *kind;
	double won; /* relative to the promise; NAN: nothing was promised */
	bool kept;
};
struct lines {
	struct line *v;
	size_t n, cap;
};

/* Parses a line without its end. Returns false if it is malformed. */
static bool ledger_parse(char *text, struct nsx_arena *a, struct line *ret)
{
	double promised, won;
	int key = 0, end = 0;

	if (sscanf(text, "%*[^\t]%n\t%lf\t%lf\t%n", &key, &promised, &won, &end) != 2 || !end ||
	    !isfinite(promised) || !isfinite(won))
		return false;
	ret->kept = !strcmp(text + end, "kept");
	ret->kind = nsx_arena_strndup(a, text, NSX_MIN(strcspn(text, ":"), (size_t)key));
	ret->won = promised > 0 ? won / promised : NAN;
	return ret->kept || !strcmp(text + end, "not kept");
}

static int ledger_read_file(const char *path, struct nsx_arena *a, struct lines *all,
			    struct nsx_err *err)
{
	FILE *f = fopen(path, "re");
	size_t size = 0, number = 0;
	char *text = NULL;
	ssize_t n;
	int rc = 0;

	if (!f)
		return nsx_fail(err, NSX_E_IO, "cannot read the ledger '%s': %s", path,
				strerror(errno));
	while (!rc && (n = getline(&text, &size, f)) > 0) {
		text[n - (text[n - 1] == '\n')] = '\0';
		number++;
		nsx_grow_or_die(&all->v, &all->cap, all->n + 1, sizeof(*all->v));
		if (all->n == MOST_LINES)
			rc = nsx_fail(err, NSX_E_USAGE, "cannot read the ledger '%s': "
				      "more than %d lines", path, MOST_LINES);
		else if (!ledger_parse(text, a, &all->v[all->n++]))
			rc = nsx_fail(err, NSX_E_USAGE, "cannot read the ledger '%s': line %zu is "
				      "not as verify --ledger writes it", path, number);
	}
	free(text);
	(void)fclose(f);
	return rc;
}

int nsx_ledger_append(const char *path, const struct nsx_promise *v, size_t n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct nsx_arena *a = nsx_arena_new();
	struct lines old = {0};
	int rc = access(path, F_OK) ? 0 : ledger_read_file(path, a, &old, err), fd;

	free(old.v);
	nsx_arena_free(a);
	if (rc || !n)
		return rc;
	for (size_t i = 0; i < n; i++)
		nsx_buf_printf(&b, "%s\t%.2f\t%.2f\t%s\n", v[i].finding->key,
			       100 * v[i].share, 100 * v[i].own,
			       v[i].kept ? "kept" : "not kept");
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, b.p, b.n) != (ssize_t)b.n)
		rc = nsx_fail(err, NSX_E_IO, "cannot append to the ledger '%s': %s", path,
			      strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

NSX_ORDER(cmp_lines, struct line, TEXT(kind), UP(won));
NSX_ORDER(cmp_rows, struct nsx_ledger_row, DOWN(n), TEXT(kind));

int nsx_ledger_sum(const char *const *paths, size_t npaths, struct nsx_arena *a,
		   struct nsx_ledger_row **ret, size_t *ret_n, struct nsx_err *err)
{
	struct lines all = {0};
	int rc = 0;

	*ret_n = 0;
	for (size_t i = 0; !rc && i < npaths; i++)
		rc = ledger_read_file(paths[i], a, &all, err);
	all.n = rc ? 0 : all.n;
	*ret = nsx_arena_get(a, all.n * sizeof(**ret));
	nsx_sort(all.v, all.n, sizeof(*all.v), cmp_lines);
	NSX_EACH_RUN(i, next, all.n, !strcmp(all.v[i].kind, all.v[next].kind)) {
		size_t n = next - i, middle = i + n / 2;
		struct nsx_ledger_row *row = &(*ret)[(*ret_n)++];

		*row = (struct nsx_ledger_row){.kind = all.v[i].kind, .n = n,
			.won = n % 2 ? all.v[middle].won :
				       (all.v[middle - 1].won + all.v[middle].won) / 2};
		for (size_t k = i; k < next; k++)
			row->kept += all.v[k].kept;
	}
	nsx_sort(*ret, *ret_n, sizeof(**ret), cmp_rows);
	free(all.v);
	return rc;
}
