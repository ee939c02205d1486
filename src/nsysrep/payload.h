/* payload.h - what NVTX events carry by schemas of their own: NCCL's messages, MPI's
 * calls, stacks of Python.
 */
#ifndef NSX_PAYLOAD_H
#define NSX_PAYLOAD_H

#include "base/arena.h"
#include "base/str.h"
#include "nsysrep/strings.h"
#include "nsysrep/wire.h"

/* A payload is told by its process, its schema and its bytes. */
struct nsx_rep_payload {
	uint64_t pid, schema;
	struct nsx_piece bytes;
};

struct nsx_rep_schemas {
	struct nsx_rep_layout *v; /* of structures and enumerations, in order of
				     process and id                          */
	size_t n, cap;
	uint64_t basic[128]; /* bytes of basic types, by number              */
	unsigned nbasic;
	struct nsx_rep_loose { /* a payload without an event                 */
		int64_t at_ns;
		struct nsx_rep_payload payload;
	} *loose; /* in the order of the file                                */
	size_t nloose, loose_cap;
	struct nsx_arena *arena;
	const struct nsx_rep_strings *strings;
};

/* block: that of the schemas, which must stay, as must the strings.  Owner: the caller,
 * nsx_rep_schemas_done, after a failure, too.
 */
int nsx_rep_schemas_read(struct nsx_piece block, const struct nsx_rep_strings *strings,
			 struct nsx_rep_schemas *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_rep_schemas_done(struct nsx_rep_schemas *s);

/* Appends it as a JSON object.  False: it cannot be read, and b may have part of it. */
bool nsx_payload_json(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		      struct nsx_buf *b);

/* Numbers by what their schema says they mean. */
enum nsx_rep_meaning {
	NSX_MEANS_COMM = 1, NSX_MEANS_ROOT = 3, NSX_MEANS_TAG = 5,
	NSX_MEANS_SEND_TAG, NSX_MEANS_RECV_TAG, NSX_MEANS_SOURCE = 9,
	NSX_MEANS_TARGET, NSX_MEANS_SENT = 23, NSX_MEANS_RECEIVED,
	NSX_MEANS_REQUEST = 48, NSX_NMEANINGS = 64
};
struct nsx_rep_meanings {
	uint64_t has; /* by bit                                              */
	int64_t v[NSX_NMEANINGS];
	bool has_list; /* of requests, each of width bytes                   */
	struct nsx_piece list;
	size_t width;
};
bool nsx_payload_meanings(const struct nsx_rep_schemas *s,
			  const struct nsx_rep_payload *p,
			  struct nsx_rep_meanings *ret);
/* The number with that name; false: there is none. */
bool nsx_payload_named(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		       const char *name, int64_t *ret);
/* An integer of the machine that was traced, up to 8 bytes of little end first. */
int64_t nsx_payload_int(struct nsx_piece b, bool is_signed);

#endif
