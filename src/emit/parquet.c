/* parquet.c - writes a table as Apache Parquet, for those who keep the tables of many captures.
 *
 * The format is that of https://parquet.apache.org/docs/file-format: one data page a column and
 * row group, plain values, compressed by zstd; metadata in Thrift's compact protocol.
 */
#include <zstd.h>
#include "emit/columns.h"
#include "emit/emit.h"

/* Numbers of the format. */
enum { BOOLEAN = 0, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };	/* Type                  */
enum { OPTIONAL = 1, UTF8 = 0, ZSTD = 6, DATA_PAGE = 0 };	/* one of several enums  */
enum { PLAIN = 0, RLE = 3 };					/* Encoding              */
/* numbers of types in Thrift */
enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

struct parquet {
	FILE *out;
	struct nsx_columns columns;
	int64_t at, nrows, ngroups; /* at: bytes written */
	struct nsx_buf groups;	    /* metadata of the row groups so far, in Thrift */
	struct nsx_buf page, packed;
	struct nsx_err *err;
	int rc; /* error code of the first page that could not be compressed */
};

/* Says in each file who wrote it. */
static const char created_by[] = "nsys-explain version " NSX_VERSION;

/* Thrift ------------------------------------------------------------------------------ */

static void put_byte(struct nsx_buf *b, unsigned x)
{
	char byte = (char)x;

	nsx_buf_add(b, &byte, 1);
}

static void put_thrift_varint(struct nsx_buf *b, uint64_t x)
{
	for (; x > 127; x >>= 7)
		put_byte(b, (unsigned)(x & 127) | 128);
	put_byte(b, (unsigned)x);
}

/* Begins a field; *last: the number of the struct's field before it, 0 at first. */
static void put_field(struct nsx_buf *b, int *last, int number, int type)
{
	put_byte(b, (unsigned)((number - *last) << 4 | type));
	*last = number;
}

static void put_number(struct nsx_buf *b, int *last, int number, int type, int64_t x)
{
	put_field(b, last, number, type);
	put_thrift_varint(b, x < 0 ? ~((uint64_t)x << 1) : (uint64_t)x << 1);
}

static void put_text(struct nsx_buf *b, const char *text)
{
	put_thrift_varint(b, strlen(text));
	nsx_buf_adds(b, text);
}

/* Begins a list in a field; its elements follow. */
static void put_list(struct nsx_buf *b, int *last, int number, int type, size_t n)
{
	put_field(b, last, number, T_LIST);
	put_byte(b, (unsigned)NSX_MIN(n, 15u) << 4 | (unsigned)type);
	if (n >= 15)
		put_thrift_varint(b, n);
}

static void end_struct(struct nsx_buf *b)
{
	nsx_buf_add(b, "", 1);
}

/* Pages ------------------------------------------------------------------------------- */

static int physical_type(const struct nsx_file_column *c)
{
	switch (c->type) {
	case NSX_T_BOOL:
		return BOOLEAN;
	case NSX_T_F64:
		return DOUBLE;
	case NSX_T_STR:
		return BYTE_ARRAY;
	default:
		return INT64;
	}
}

static void put_32(struct nsx_buf *b, uint32_t x)
{
	nsx_buf_add(b, (const char *)&x, sizeof(x));
}

/* Appends the definition levels, 1 for a value and 0 for null, as one bit-packed run. */
static void put_levels(struct nsx_buf *b, const struct nsx_file_column *c, size_t nrows)
{
	size_t at = b->n;
	uint32_t size;

	put_32(b, 0);
	put_thrift_varint(b, (nrows + 7) / 8 << 1 | 1);
	nsx_buf_add(b, c->valid.p, c->valid.n);
	size = (uint32_t)(b->n - at - sizeof(size));
	memcpy(b->p + at, &size, sizeof(size));
}

static bool bit_at(const struct nsx_buf *b, size_t i)
{
	return b->p[i / 8] >> i % 8 & 1;
}

/* Appends the values that are not null. */
static void put_values(struct nsx_buf *b, const struct nsx_file_column *c, size_t nrows)
{
	const int32_t *offset = (const void *)c->offsets.p;
	size_t nbits = 0;

	for (size_t i = 0; i < nrows; i++) {
		if (!bit_at(&c->valid, i))
			continue;
		switch (c->type) {
		case NSX_T_BOOL:
			if (nbits % 8 == 0)
				nsx_buf_add(b, "", 1);
			b->p[b->n - 1] |= (char)(bit_at(&c->values, i) << nbits++ % 8);
			break;
		case NSX_T_STR:
			put_32(b, (uint32_t)(offset[i + 1] - offset[i]));
			nsx_buf_add(b, c->values.p + offset[i], (size_t)(offset[i + 1] - offset[i]));
			break;
		default:
			nsx_buf_add(b, c->values.p + i * 8, 8);
		}
	}
}

static void parquet_write(struct parquet *p, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, p->out);
	p->at += (int64_t)n;
}

static void put_page_header(struct nsx_buf *b, size_t size, size_t packed, size_t nrows)
{
	int last = 0, inner = 0;

	put_number(b, &last, 1, T_I32, DATA_PAGE);
	put_number(b, &last, 2, T_I32, (int64_t)size);
	put_number(b, &last, 3, T_I32, (int64_t)packed);
	put_field(b, &last, 5, T_STRUCT);
	put_number(b, &inner, 1, T_I32, (int64_t)nrows);
	put_number(b, &inner, 2, T_I32, PLAIN);
	put_number(b, &inner, 3, T_I32, RLE);
	put_number(b, &inner, 4, T_I32, RLE);
	end_struct(b);
	end_struct(b);
}

/* Adds the metadata of a column's page to those of the row group. */
static void put_chunk(struct parquet *p, const struct nsx_file_column *c, int64_t at, size_t size)
{
	struct nsx_buf *b = &p->groups;
	int last = 0, inner = 0;

	put_number(b, &last, 2, T_I64, at);
	put_field(b, &last, 3, T_STRUCT);
	put_number(b, &inner, 1, T_I32, physical_type(c));
	put_list(b, &inner, 2, T_I32, 2);
	put_thrift_varint(b, PLAIN << 1);
	put_thrift_varint(b, RLE << 1);
	put_list(b, &inner, 3, T_BINARY, 1);
	put_text(b, nsx_col_in_file(c->col));
	put_number(b, &inner, 4, T_I32, ZSTD);
	put_number(b, &inner, 5, T_I64, (int64_t)p->columns.nrows);
	put_number(b, &inner, 6, T_I64, (int64_t)size);
	put_number(b, &inner, 7, T_I64, p->at - at);
	put_number(b, &inner, 9, T_I64, at);
	end_struct(b);
	end_struct(b);
}

/* Writes a column's page. Returns its size before compression, with its header. */
static size_t write_page(struct parquet *p, const struct nsx_file_column *c)
{
	size_t room, packed, header, nrows = p->columns.nrows;
	int64_t at = p->at;

	nsx_buf_clear(&p->page);
	nsx_buf_clear(&p->packed);
	put_levels(&p->page, c, nrows);
	put_values(&p->page, c, nrows);
	room = ZSTD_compressBound(p->page.n);
	nsx_buf_room(&p->packed, room);
	packed = ZSTD_compress(p->packed.p, room, p->page.p, p->page.n, 1);
	if (ZSTD_isError(packed)) {
		p->rc = nsx_fail(p->err, NSX_E_NOMEM, "not enough memory to compress a page");
		return 0;
	}
	p->packed.n = packed;
	nsx_buf_clear(&p->columns.name);
	put_page_header(&p->columns.name, p->page.n, packed, nrows);
	header = p->columns.name.n;
	parquet_write(p, p->columns.name.p, header);
	parquet_write(p, p->packed.p, packed);
	put_chunk(p, c, at, header + p->page.n);
	return header + p->page.n;
}

/* Writes the rows that were gathered as a row group. */
static void write_group(struct parquet *p)
{
	int64_t size = 0;
	int last = 0;

	put_list(&p->groups, &last, 1, T_STRUCT, p->columns.n);
	for (unsigned i = 0; i < p->columns.n; i++)
		size += (int64_t)write_page(p, &p->columns.v[i]);
	put_number(&p->groups, &last, 2, T_I64, size);
	put_number(&p->groups, &last, 3, T_I64, (int64_t)p->columns.nrows);
	end_struct(&p->groups);
	p->nrows += (int64_t)p->columns.nrows;
	p->ngroups++;
	nsx_columns_clear(&p->columns);
}

static void parquet_put_row(void *ctx, const struct nsx_cell *row)
{
	struct parquet *p = ctx;

	nsx_columns_add(&p->columns, row);
	if (nsx_columns_are_full(&p->columns))
		write_group(p);
}

/* The file ----------------------------------------------------------------------------- */

static void put_schema(struct nsx_buf *b, const struct nsx_columns *c)
{
	int last = 0;

	put_field(b, &last, 4, T_BINARY);
	put_text(b, "table");
	put_number(b, &last, 5, T_I32, c->n);
	end_struct(b);
	for (unsigned i = 0; i < c->n; i++) {
		last = 0;
		put_number(b, &last, 1, T_I32, physical_type(&c->v[i]));
		put_number(b, &last, 3, T_I32, OPTIONAL);
		put_field(b, &last, 4, T_BINARY);
		put_text(b, nsx_col_in_file(c->v[i].col));
		if (c->v[i].type == NSX_T_STR)
			put_number(b, &last, 6, T_I32, UTF8);
		end_struct(b);
	}
}

static void write_footer(struct parquet *p)
{
	struct nsx_buf *b = &p->page;
	int last = 0;

	nsx_buf_clear(b);
	put_number(b, &last, 1, T_I32, 1);
	put_list(b, &last, 2, T_STRUCT, p->columns.n + 1);
	put_schema(b, &p->columns);
	put_number(b, &last, 3, T_I64, p->nrows);
	put_list(b, &last, 4, T_STRUCT, (size_t)p->ngroups);
	nsx_buf_add(b, p->groups.p, p->groups.n);
	put_field(b, &last, 6, T_BINARY);
	put_text(b, created_by);
	end_struct(b);
	put_32(b, (uint32_t)b->n);
	nsx_buf_adds(b, "PAR1");
	parquet_write(p, b->p, b->n);
}

bool nsx_parquet_is(const char *path)
{
	FILE *f = fopen(path, "rb");
	char end[sizeof(created_by) + 8];
	bool is = f && !fseek(f, -(long)sizeof(end), SEEK_END) &&
		  fread(end, sizeof(end), 1, f) == 1 && !memcmp(end + sizeof(end) - 4, "PAR1", 4) &&
		  memmem(end, sizeof(end), created_by, strcspn(created_by, " "));

	if (f)
		fclose(f);
	return is;
}

int nsx_emit_parquet(const struct nsx_layout *layout, const struct nsx_table *t,
		     const struct nsx_bound *bound, FILE *out, struct nsx_err *err)
{
	struct parquet p = {.out = out, .err = err};
	int rc;

	nsx_columns_begin(&p.columns, layout, t);
	parquet_write(&p, "PAR1", 4);
	rc = t ? nsx_emit_rows(t, bound, parquet_put_row, &p, err) : 0;
	if (!rc && p.columns.nrows)
		write_group(&p);
	if (!rc)
		write_footer(&p);
	nsx_columns_done(&p.columns);
	nsx_buf_done(&p.groups);
	nsx_buf_done(&p.page);
	nsx_buf_done(&p.packed);
	return rc ?: p.rc;
}

int nsx_write_parquet(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_table *t = f->subject;

	return nsx_emit_parquet(t->layout, t, NULL, out, err);
}
