/* scan.c - reads tables in parallel parts into column sets, small tables row by row, and cells. */
#include <stdarg.h>
#include "schema/viewscan.h"
#include "trace/load.h"

struct job { /* one part of some tables, which are read together */
	struct nsx_tableload *const *tables;
	size_t ntables;
	unsigned part;
};
struct jobs {
	struct nsx_loader *l;
	struct job *list;
	size_t n;
};

static int open_table(struct nsx_loader *l, struct nsx_tableload *t, struct nsx_err *err)
{
	const struct nsx_schema *s = l->schema;
	const char *columns[32];
	int rc;

	t->scan = NULL;
	t->nparts = 0;
	if (!nsx_has_view(s, t->view))
		return 0;
	for (unsigned i = 0; i < t->nfields; i++)
		columns[i] = t->is_survey && !(t->survey_fields & NSX_BIT(i)) ?
				     NULL : s->column[t->fields[i]];
	rc = nsx_view_open(s, s->db, t->view, columns, t->nfields, l->threads, &t->scan, err);
	if (nsx_is_damage(rc)) {
		nsx_schema_lose_rows(s, t->view, err);
		return 0;
	}
	return rc;
}

static int make_parts(struct nsx_tableload *t, struct nsx_err *err)
{
	t->nparts = nsx_scan_parts(t->scan);
	t->parts = nsx_alloc(t->nparts, sizeof(*t->parts));
	if (!t->is_survey)
		return 0;
	t->nzones = nsx_scan_first_block(t->scan, t->nparts);
	t->zones = nsx_try_alloc(t->nzones, sizeof(*t->zones), "blocks of rows", err);
	return t->zones ? 0 : err->rc;
}

/* An upper bound of a part's rows. It is 0 if no columns are filled: counting the rows would read
 * every page.
 */
static size_t most_rows_of_part(struct nsx_part *p)
{
	const struct nsx_tableload *t = p->table;
	size_t end, rows = 0;

	if (!t->set)
		return 0;
	if (!t->zones)
		return nsx_scan_rows(t->scan, p->index);
	end = nsx_scan_first_block(t->scan, p->index + 1);
	for (size_t i = nsx_scan_first_block(t->scan, p->index); i < NSX_MIN(end, t->nzones); i++)
		if (nsx_wants_block(p, i))
			rows += t->zones[i].rows;
	return rows;
}

/* Decides where each part writes, and how many rows each column set needs. */
static int assign_room(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
		       struct nsx_err *err)
{
	for (size_t i = 0; i < n;) {
		struct nsx_colset *set = list[i].set, *beside = list[i].beside;
		size_t rows = 0, next = i;
		size_t beside_rows = 0;

		for (; next < n && list[next].set == set; next++) {
			struct nsx_tableload *t = &list[next];

			for (unsigned p = 0; p < t->nparts; p++) {
				t->parts[p] = (struct nsx_part){
					.l = l,
					.table = t,
					.index = p,
					.at = rows,
					.own = t->own ? (char *)t->own + p * t->own_size : NULL,
				};
				t->parts[p].room = most_rows_of_part(&t->parts[p]);
				rows += t->parts[p].room;
			}
			if (t->beside) {
				beside = t->beside;
				beside_rows = rows;
			}
		}
		if (set && nsx_colset_alloc(set, l->t->arena, rows, err))
			return err->rc;
		if (beside && nsx_colset_alloc(beside, l->t->arena, beside_rows, err))
			return err->rc;
		i = next == i ? i + 1 : next;
	}
	return 0;
}

static int pass_row_to_table(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		       struct nsx_err *err)
{
	struct nsx_part *p = ctx;

	if (p->table->zones && p->table->set && !nsx_wants_row(p, v))
		return 0;
	if (p->n >= p->room && p->table->set)
		return nsx_fail(err, NSX_E_DATA, "more rows than the table's pages announce");
	return p->table->row(p, v, err);
}

static void prepare_part(struct nsx_part *p)
{
	for (unsigned k = 0; k < ARRAY_LEN(p->cache); k++)
		p->cache[k] = nsx_alloc(1, sizeof(*p->cache[k]));
	p->shapes = nsx_alloc(1, sizeof(*p->shapes));
	if (p->table->zones && p->table->set)
		p->choice.wants = nsx_wants_block;
}

static void release_part(struct nsx_part *p)
{
	for (unsigned k = 0; k < ARRAY_LEN(p->cache); k++)
		free(p->cache[k]);
	free(p->shapes);
}

/* Reads a part of n tables, of which each has a share. Damage is a loss of each table's rows. */
static int run_shares(struct jobs *jobs, const struct nsx_scan_share *v, size_t n, unsigned part,
		      struct nsx_err *err)
{
	struct nsx_err late;
	int rc = nsx_scan_can_join(v->scan) ?
			 nsx_scan_run_joined(v, n, part, err) :
			 nsx_scan_run(v->scan, part, v->choice, v->fn, v->ctx, err);

	if (rc && !nsx_is_damage(rc))
		return rc;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_part *p = v[i].ctx;

		if (nsx_groups_settle(&jobs->l->shapes, &jobs->l->lock, p->shapes, &late))
			return *err = late, late.rc;
		if (rc)
			nsx_schema_lose_rows(jobs->l->schema, p->table->view, err);
	}
	return 0;
}

static int run_job(void *ctx, size_t i, struct nsx_err *err)
{
	struct jobs *jobs = ctx;
	const struct job *job = &jobs->list[i];
	NSX_AT_EXIT(nsx_free_at) struct nsx_scan_share *v = nsx_alloc(job->ntables, sizeof(*v));
	int rc;

	for (size_t k = 0; k < job->ntables; k++) {
		struct nsx_part *p = &job->tables[k]->parts[job->part];

		prepare_part(p);
		v[k] = (struct nsx_scan_share){p->table->scan, &p->choice, pass_row_to_table,
						 p->table->again, p};
	}
	rc = run_shares(jobs, v, job->ntables, job->part, err);
	for (size_t k = 0; k < job->ntables; k++) {
		struct nsx_part *p = &job->tables[k]->parts[job->part];

		release_part(p);
		nsx_progress_add(jobs->l->progress, (int64_t)p->room);
	}
	return rc;
}

/* Lists the jobs: one for each part, of all tables if they are joined, otherwise of each. */
static int scan_run_all(struct nsx_loader *l, struct nsx_tableload *const *tables, size_t n,
			const char *stage, struct nsx_err *err)
{
	size_t each = n && nsx_scan_can_join(tables[0]->scan) ? n : 1;
	struct jobs jobs = {.l = l};
	int64_t rows = 0;
	int rc;

	for (size_t i = 0; i < n; i += each)
		jobs.n += tables[i]->nparts;
	jobs.list = nsx_alloc(jobs.n, sizeof(*jobs.list));
	jobs.n = 0;
	for (size_t i = 0; i < n; i++)
		for (unsigned p = 0; p < tables[i]->nparts; p++) {
			if (i % each == 0)
				jobs.list[jobs.n++] = (struct job){&tables[i], each, p};
			rows += (int64_t)tables[i]->parts[p].room;
		}
	nsx_progress_stage(l->progress, stage, rows);
	rc = nsx_par(l->threads, jobs.n, run_job, &jobs, err);
	free(jobs.list);
	return rc;
}

/* Closes the gaps between the parts' rows and sums the defects. */
static void compact_parts(struct nsx_loader *l, struct nsx_tableload *list, size_t n)
{
	struct nsx_defects *d = &l->t->defects;

	for (size_t i = 0; i < n; i++) {
		struct nsx_tableload *t = &list[i];
		struct nsx_colset *sets[] = {t->set, t->beside};

		for (unsigned s = 0; s < ARRAY_LEN(sets); s++) {
			bool first = !i || (s ? list[i - 1].beside : list[i - 1].set) != sets[s];

			if (!sets[s])
				continue;
			if (first)
				sets[s]->n = 0;
			for (unsigned p = 0; p < t->nparts; p++) {
				nsx_colset_move(sets[s], sets[s]->n, t->parts[p].at, t->parts[p].n);
				sets[s]->n += t->parts[p].n;
			}
		}
		for (unsigned p = 0; p < t->nparts; p++) {
			const struct nsx_defects *q = &t->parts[p].defects;

			d->negative += q->negative;
			d->mistyped += q->mistyped;
			d->out_of_range += q->out_of_range;
			d->dangling += q->dangling;
			d->duplicate_calls += q->duplicate_calls;
			if (q->far)
				nsx_count_far(l->t, t->view, q->far, 0, q->far_ns);
		}
	}
}

/* Plans the parts of the tables that the file has, and reads them. */
static int read_opened_tables(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
		       const char *stage, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_tableload **found =
		nsx_try_alloc(n, sizeof(*found), "scans", err);
	NSX_AT_EXIT(nsx_free_at) struct nsx_scan_share *v =
		nsx_try_alloc(n, sizeof(*v), "scans", err);
	size_t nfound = 0;
	int rc = found && v ? 0 : err->rc;

	for (size_t i = 0; !rc && i < n; i++)
		if (list[i].scan) {
			v[nfound].scan = list[i].scan;
			found[nfound++] = &list[i];
		}
	if (!rc && nfound > 1 && nsx_scan_can_join(v->scan))
		rc = nsx_scan_join(v, nfound, err);
	for (size_t i = 0; !rc && i < nfound; i++)
		rc = make_parts(found[i], err);
	return rc ?: assign_room(l, list, n, err) ?: scan_run_all(l, found, nfound, stage, err);
}

int nsx_load_tables(struct nsx_loader *l, struct nsx_tableload *list, size_t n,
		    const char *stage, struct nsx_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		list[i].scan = NULL, list[i].parts = NULL, list[i].nparts = 0;
	for (size_t i = 0; !rc && i < n; i++)
		rc = open_table(l, &list[i], err);
	rc = rc ?: read_opened_tables(l, list, n, stage, err);
	if (!rc)
		compact_parts(l, list, n);
	for (size_t i = 0; i < n; i++) {
		nsx_scan_close(list[i].scan);
		free(list[i].parts);
		list[i].scan = NULL, list[i].parts = NULL;
	}
	return rc;
}

void nsx_load_warn(struct nsx_loader *l, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&l->lock);
	va_start(ap, fmt);
	nsx_push_or_die(l->warnings, l->nwarnings, l->cap_warnings,
			nsx_arena_vprintf(l->t->arena, fmt, ap));
	va_end(ap);
	pthread_mutex_unlock(&l->lock);
}

struct row_reader {
	struct nsx_loader *l;
	void (*fn)(struct nsx_loader *l, const struct nsx_val *v);
};

static int pass_row_to_loader(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			      struct nsx_err *err NSX_UNUSED)
{
	const struct row_reader *r = ctx;

	r->fn(r->l, v);
	return 0;
}

void nsx_load_rows(struct nsx_loader *l, enum nsx_view view, const enum nsx_field *fields,
		   unsigned n, void (*fn)(struct nsx_loader *l, const struct nsx_val *v))
{
	struct row_reader r = {l, fn};
	struct nsx_err err;

	if (nsx_view_scan(l->schema, view, fields, n, 1, pass_row_to_loader, &r, 0, &err))
		nsx_schema_lose_rows(l->schema, view, &err);
}

nsx_str nsx_read_text(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_err err;
	nsx_str s = 0;

	if (v->type == NSX_V_TEXT && v->len &&
	    nsx_strings_add(l->strings, v->u.p, v->len, &s, &err))
		nsx_schema_lose(l->schema, err.msg);
	return s;
}

bool nsx_read_instant(struct nsx_part *p, const struct nsx_val *v, int64_t *ret)
{
	if (v->type != NSX_V_I64)
		p->defects.mistyped++;
	else if (v->u.i > NSX_TIME_MAX || v->u.i < -NSX_TIME_MAX)
		p->defects.out_of_range++;
	else if (!nsx_is_possible(p->l->schema->shifts, v))
		p->defects.far_ns = p->defects.far++ ? p->defects.far_ns : v->u.i;
	else
		return *ret = v->u.i, true;
	return false;
}

bool nsx_read_span(struct nsx_part *p, const struct nsx_val *start,
		   const struct nsx_val *end, int64_t *ret_start, int64_t *ret_end)
{
	if (!nsx_read_instant(p, start, ret_start) || !nsx_read_instant(p, end, ret_end))
		return false;
	if (*ret_end >= *ret_start)
		return true;
	p->defects.negative++;
	return false;
}

struct nsx_extent nsx_extent_of(const struct nsx_val *v)
{
	if (!nsx_is_instant(&v[0]) || !nsx_is_instant(&v[1]) || v[1].u.i < v[0].u.i)
		return (struct nsx_extent){INT64_MIN, INT64_MAX, false};
	return (struct nsx_extent){v[0].u.i, v[1].u.i, true};
}

uint64_t nsx_read_thread_key(const struct nsx_val *global_tid, const struct nsx_val *pid,
			     const struct nsx_val *tid)
{
	if (global_tid->type == NSX_V_I64)
		return (uint64_t)global_tid->u.i;
	return nsx_read_process_key(global_tid, pid) | ((uint64_t)nsx_i64_or(tid, 0) & 0xffffff);
}

int nsx_read_thread(struct nsx_part *p, const struct nsx_val *global_tid,
		    const struct nsx_val *pid, const struct nsx_val *tid,
		    uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{nsx_read_thread_key(global_tid, pid, tid)}};

	return nsx_keymap_add(&p->l->threads_map, p->cache[0], &key, ret, err);
}
