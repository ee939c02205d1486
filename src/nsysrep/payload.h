/* payload.h - NVTX payloads whose layout a schema describes: NCCL messages, MPI calls, Python
 * stacks.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "nsysrep/strings.h"
#include "nsysrep/wire.h"

/* pid and schema together identify the layout of the bytes. */
struct nsx_rep_payload {
	uint64_t pid, schema;
	struct nsx_piece bytes;
};

struct nsx_rep_schemas {
	struct nsx_rep_layout *v; /* layouts of structures and enumerations, ordered by (process,
				     id)                                     */
	size_t n, cap;
	uint64_t basic[128]; /* sizes in bytes of basic types, by number     */
	unsigned nbasic;
	struct nsx_rep_loose { /* a payload without an event                 */
		int64_t at_ns;
		struct nsx_rep_payload payload;
	} *loose; /* in the order of the file                                */
	size_t nloose, loose_cap;
	struct nsx_arena *arena;
	const struct nsx_rep_strings *strings;
	bool is_garbled; /* schemas or payloads are damaged                  */
};

/* Reads the schemas in a block. The block and the strings must outlive *ret. Owner: the caller,
 * nsx_rep_schemas_done.
 */
void nsx_rep_schemas_read(struct nsx_piece block, const struct nsx_rep_strings *strings,
			  struct nsx_rep_schemas *ret);
void nsx_rep_schemas_done(struct nsx_rep_schemas *s);

/* Appends the payload as a JSON object. False: unreadable; b may hold a part of it. */
bool nsx_payload_json(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		      struct nsx_buf *b);

/* Meanings that schemas give to the numbers of a payload. */
enum nsx_rep_meaning {
	NSX_MEANS_NOTHING, NSX_MEANS_COMM, NSX_MEANS_WINDOW, NSX_MEANS_ROOT, NSX_MEANS_TAG = 5,
	NSX_MEANS_SEND_TAG, NSX_MEANS_RECV_TAG, NSX_MEANS_PEER, NSX_MEANS_SOURCE,
	NSX_MEANS_TARGET, NSX_MEANS_SENT = 23, NSX_MEANS_RECEIVED, NSX_MEANS_BUFFER = 30,
	NSX_MEANS_REQUEST = 48, NSX_NMEANINGS = 64
};
struct nsx_rep_meanings {
	uint64_t has; /* bit set of the meanings that the payload has        */
	int64_t v[NSX_NMEANINGS]; /* numbers by meaning                      */
	bool has_list; /* a list of requests, each `width` bytes             */
	struct nsx_piece list;
	size_t width;
};
/* Collects a payload's numbers by meaning. False: the payload is unreadable. */
bool nsx_payload_meanings(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
			  struct nsx_rep_meanings *ret);
/* The number with that name; false: there is none. */
bool nsx_payload_named(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		       const char *name, int64_t *ret);
/* An integer of the traced machine: up to 8 bytes, little-endian. */
int64_t nsx_payload_int(struct nsx_piece b, bool is_signed);
