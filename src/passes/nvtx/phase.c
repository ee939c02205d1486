/* phase.c - the user's phase map: patterns tried in file order. */
#include "base/jsonread.h"
#include "base/arena.h"
#include "base/open.h"
#include "base/regex.h"
#include "passes/nvtx/phase.h"

enum {
	MAX_FILE = 16 << 20,
};

struct pattern {
	unsigned phase;
	const char *text; /* substring; NULL: a regex                        */
	struct nsx_regex *regex;
};
struct nsx_phase_map {
	struct nsx_arena *arena;
	const char *path; /* set while the file is read */
	const char **names;
	size_t nnames, cap_names;
	struct pattern *v;
	size_t n, cap;
};

static int add_pattern(void *ctx, const char *key, const char *text, size_t at, struct nsx_err *err)
{
	struct nsx_phase_map *m = ctx;
	struct pattern p = {.text = NULL};

	if (!at)
		nsx_push_or_die(m->names, m->nnames, m->cap_names,
				nsx_arena_strdup(m->arena, key));
	if (!text)
		return 0;
	p.phase = (unsigned)m->nnames - 1;
	if (strncmp(text, "re:", 3))
		p.text = nsx_arena_strdup(m->arena, text);
	else if (nsx_regex_new(text + 3, &p.regex, err))
		return nsx_wrap(err, "cannot use '%s': pattern %zu of phase '%s' is not a POSIX "
				"extended regex: '%s'", m->path, at + 1, key, text + 3);
	nsx_push_or_die(m->v, m->n, m->cap, p);
	return 0;
}

int nsx_phase_map_parse(const char *text, size_t n, const char *path,
			struct nsx_phase_map **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_phase_map *m = nsx_arena_get(a, sizeof(*m));
	size_t bom = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	int rc;

	m->arena = a;
	m->path = path;
	rc = nsx_json_each_string(text + bom, n - bom, path, add_pattern, m, err);
	if (rc) {
		nsx_phase_map_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

int nsx_phase_map_read(const char *path, struct nsx_phase_map **ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) char *text = NULL;
	size_t n;
	int rc = nsx_read_named(path, "the map", MAX_FILE, &text, &n, err);

	return rc ?: nsx_phase_map_parse(text, n, path, ret, err);
}

void nsx_phase_map_free(struct nsx_phase_map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		nsx_regex_free(m->v[i].regex);
	free(m->v);
	free(m->names);
	nsx_arena_free(m->arena);
}

unsigned nsx_phase_count(const struct nsx_phase_map *m)
{
	return (unsigned)m->nnames;
}

const char *nsx_phase_name(const struct nsx_phase_map *m, unsigned i)
{
	return m->names[i];
}

unsigned nsx_phase_of(const struct nsx_phase_map *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct pattern *p = &m->v[i];

		if (p->text ? strcasestr(name, p->text) != NULL : nsx_regex_matches(p->regex, name))
			return p->phase;
	}
	return nsx_phase_count(m);
}
