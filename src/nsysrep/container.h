/* container.h - a report's file: its sections, its head and its blocks of events.
 *
 * README.md describes the layout.  All bytes handed out belong to the container.
 */
#ifndef NSX_CONTAINER_H
#define NSX_CONTAINER_H

#include "base/arena.h"
#include "nsysrep/wire.h"

struct nsx_container {
	struct nsx_arena *arena;
	struct nsx_piece file;
	struct nsx_piece ui, options, clocks; /* sections; n 0: absent       */
	struct nsx_piece first, header;
	struct nsx_piece blocks;  /* packed blocks of events, to be read with
				     nsx_block_next                          */
	bool is_cut;		  /* no end is known: blocks may hold what
				     follows the events, too                 */
	uint64_t nevents;	  /* as the header counts them               */
	struct nsx_piece strings; /* messages behind the events; n 0: none   */
	struct nsx_piece threads, machine, schemas;
	const char *damage;	  /* what is missing and why; NULL: nothing  */
};

/* Owner: the caller, nsx_container_close.  Errors: NSX_E_IO, NSX_E_SCHEMA (not a
 * report, or nothing of it can be read), NSX_E_NOMEM.
 */
int nsx_container_open(const char *path, struct nsx_container *ret,
		       struct nsx_err *err) NSX_CHECKED;
void nsx_container_close(struct nsx_container *c);

/* Unpacks the block at *at, which then is the next one's: the bytes of its message
 * are *ret, within buf, which grows.  1 a block, 0 there is none, negative: the block is
 * damaged (NSX_E_DATA), or NSX_E_NOMEM.
 */
struct nsx_block_buf {
	uint8_t *p;
	size_t cap;
};
int nsx_block_next(struct nsx_wire *at, struct nsx_block_buf *buf,
		   struct nsx_piece *ret, struct nsx_err *err) NSX_CHECKED;

#endif
