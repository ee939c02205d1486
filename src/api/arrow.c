/* arrow.c - tables as streams of Apache Arrow, for programs that read them without a copy.
 *
 * Whoever takes an array frees it by its release, and may keep a child longer than its parent; so
 * each owns its own memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <nsx/report.h>
#include "api/arrow.h"
#include "emit/columns.h"

enum { NULLABLE = 2 }; /* a flag of a schema */

/* The rows that were not taken yet: batch is the next of nbatches. */
struct stream {
	struct nsx_columns none; /* the columns, without rows */
	struct nsx_columns *batches;
	size_t batch, nbatches, cap;
};

/* Schemas ----------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
	free(s->private_data);
	s->release = NULL;
}

static const char *arrow_format(enum nsx_type type)
{
	switch (type) {
	case NSX_T_BOOL:
		return "b";
	case NSX_T_F64:
		return "g";
	case NSX_T_STR:
		return "u";
	default:
		return "l";
	}
}

/* The memory of a schema or an array: its children, and pointers to them. */
struct nest {
	union {
		struct ArrowSchema schema;
		struct ArrowArray array;
	} child[NSX_MAX_COLUMNS];
	void *children[NSX_MAX_COLUMNS];
	const void *no_nulls;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *ret)
{
	const struct nsx_columns *c = &((struct stream *)stream->private_data)->none;
	struct nest *nest = calloc(1, sizeof(*nest));

	if (!nest)
		return ENOMEM;
	for (unsigned i = 0; i < c->n; i++) {
		nest->child[i].schema = (struct ArrowSchema){
			.format = arrow_format(c->v[i].type), .flags = NULLABLE,
			.name = c->v[i].col->key, .release = release_schema};
		nest->children[i] = &nest->child[i].schema;
	}
	*ret = (struct ArrowSchema){.format = "+s", .name = "", .n_children = c->n,
				    .children = (struct ArrowSchema **)nest->children,
				    .release = release_schema, .private_data = nest};
	return 0;
}

/* Arrays ------------------------------------------------------------------------------ */

struct owned { /* the memory of one column */
	struct nsx_file_column column;
	const void *buffers[3];
};

static void release_column(struct ArrowArray *a)
{
	struct owned *o = a->private_data;

	nsx_file_column_done(&o->column);
	free(o);
	a->release = NULL;
}

static void release_rows(struct ArrowArray *a)
{
	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
	free(a->private_data);
	a->release = NULL;
}

/* Moves a column into an array. */
static bool take_column(struct nsx_file_column *c, size_t nrows, struct ArrowArray *ret)
{
	struct owned *o = malloc(sizeof(*o));
	bool is_text = c->type == NSX_T_STR;

	if (!o)
		return false;
	*o = (struct owned){*c, {c->valid.p, is_text ? c->offsets.p : c->values.p, c->values.p}};
	c->valid = c->values = c->offsets = (struct nsx_buf){0};
	*ret = (struct ArrowArray){.length = (int64_t)nrows, .null_count = (int64_t)o->column.nnulls,
				   .n_buffers = 2 + is_text, .buffers = o->buffers,
				   .release = release_column, .private_data = o};
	return true;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *ret)
{
	struct stream *s = stream->private_data;
	struct nsx_columns *c = &s->batches[s->batch];
	struct nest *nest;

	*ret = (struct ArrowArray){0};
	if (s->batch == s->nbatches)
		return 0;
	nest = calloc(1, sizeof(*nest));
	if (!nest)
		return ENOMEM;
	*ret = (struct ArrowArray){.length = (int64_t)c->nrows, .n_buffers = 1,
				   .buffers = &nest->no_nulls,
				   .children = (struct ArrowArray **)nest->children,
				   .release = release_rows, .private_data = nest};
	for (unsigned i = 0; i < c->n; i++) {
		nest->children[i] = &nest->child[i].array;
		if (!take_column(&c->v[i], c->nrows, &nest->child[i].array)) {
			release_rows(ret);
			return ENOMEM;
		}
		ret->n_children++;
	}
	nsx_columns_done(c);
	s->batch++;
	return 0;
}

/* The stream -------------------------------------------------------------------------- */

static const char *last_error(struct ArrowArrayStream *stream NSX_UNUSED)
{
	return "not enough memory for the rows";
}

static void release_stream(struct ArrowArrayStream *stream)
{
	struct stream *s = stream->private_data;

	for (size_t i = s->batch; i < s->nbatches; i++)
		nsx_columns_done(&s->batches[i]);
	nsx_columns_done(&s->none);
	free(s->batches);
	free(s);
	stream->release = NULL;
}

void nsx_rows_arrow(const struct nsx_rows *rows, struct ArrowArrayStream *ret)
{
	const struct nsx_table *t = (const struct nsx_table *)rows;
	struct stream *s = NULL;
	struct nsx_columns *c = NULL;
	size_t cap = 0;

	nsx_grow_or_die(&s, &cap, 1, sizeof(*s));
	*s = (struct stream){.nbatches = 0};
	nsx_columns_begin(&s->none, t->layout, t);
	for (size_t i = 0; i < t->nrows; i++) {
		if (!c || nsx_columns_are_full(c)) {
			nsx_push_or_die(s->batches, s->nbatches, s->cap, (struct nsx_columns){0});
			c = &s->batches[s->nbatches - 1];
			nsx_columns_begin_like(c, &s->none);
		}
		nsx_columns_add(c, nsx_row_at(t, i));
	}
	*ret = (struct ArrowArrayStream){get_schema, get_next, last_error, release_stream, s};
}
