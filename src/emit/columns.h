/* columns.h - the rows of a table, gathered by column as Arrow and Parquet store them.
 *
 * Processors whose bytes are in the other order are not supported: values are stored as they lie in
 * memory, and both formats want the lowest byte first.
 */
#pragma once

#include "report/table.h"

struct nsx_file_column {
	const struct nsx_col *col;
	enum nsx_type type; /* the column's; STR if a cell of numbers is a text */
	unsigned at;	/* its index in a row                                            */
	size_t nnulls;
	struct nsx_buf valid;	/* a bit for each row, the first one lowest; 0: null     */
	struct nsx_buf values;	/* I64, F64: 8 bytes a row; BOOL: a bit a row; STR: the
				   texts, one after the other                            */
	struct nsx_buf offsets; /* STR: int32, where the text of each row begins in values,
				   and the end of the last one                           */
};

struct nsx_columns {
	struct nsx_file_column *v; /* the columns that files have, in their order */
	unsigned n;
	size_t nrows;
	const struct nsx_strings *strings; /* for cells with string ids; NULL: none */
	struct nsx_buf name; /* scratch */
};

/* The name of a column in files. */
static inline const char *nsx_col_in_file(const struct nsx_col *c)
{
	return c->is_exact ? c->title : c->key;
}

/* Begins without rows, for a table of this layout; t NULL: a table without rows. Reads the table to
 * find columns of numbers with a text, such as "0 (host 2)". Owner: the caller, nsx_columns_done.
 */
void nsx_columns_begin(struct nsx_columns *c, const struct nsx_layout *l,
		       const struct nsx_table *t);
/* Begins without rows, for the table of `like`. */
void nsx_columns_begin_like(struct nsx_columns *c, const struct nsx_columns *like);
void nsx_columns_add(struct nsx_columns *c, const struct nsx_cell *row);
/* Whether memory or the offsets of texts ask for the rows to be written now. */
bool nsx_columns_are_full(const struct nsx_columns *c);
/* Forgets the rows, and keeps the memory. */
void nsx_columns_clear(struct nsx_columns *c);
void nsx_file_column_done(struct nsx_file_column *c);
void nsx_columns_done(struct nsx_columns *c);
