/* container.h - a report's file: its sections, its head and its blocks of events.
 *
 * README.md describes the layout. The container owns all bytes it hands out.
 */
#pragma once

#include "base/arena.h"
#include "nsysrep/wire.h"

struct nsx_rep_block { /* a block of compressed events                           */
	uint64_t at; /* offset in the file                                   */
	uint32_t packed, plain; /* sizes in bytes                            */
};

struct nsx_container {
	struct nsx_arena *arena;
	int fd;			 /* the file, read on demand; -1: see image  */
	struct nsx_piece image;	 /* content of a compressed file             */
	uint64_t size;
	struct nsx_piece ui, options, clocks; /* sections; n 0: absent       */
	struct nsx_piece first, header;
	struct nsx_rep_block *blocks;
	size_t nblocks;
	uint32_t most_packed, most_plain; /* sizes of the largest blocks     */
	uint64_t nlost;		  /* 1 if the list of blocks breaks off, otherwise 0 */
	bool is_cut;		  /* the end of the events is unknown: later data may be taken
				     for blocks                              */
	uint64_t nevents, nstrings; /* numbers of events and strings according to the header */
	bool is_garbled;	  /* a section or the directory is damaged   */
	struct nsx_piece strings; /* messages after the events; n 0: none    */
	struct nsx_piece threads, machine, schemas;
	const char *damage;	  /* what is missing and why; NULL: nothing  */
};

/* Owner: the caller, nsx_container_close. Errors: NSX_E_IO, NSX_E_SCHEMA (not a report, or
 * unreadable as a whole), NSX_E_DATA, NSX_E_NOMEM.
 */
int nsx_container_open(const char *path, struct nsx_container *ret,
		       struct nsx_err *err) NSX_CHECKED;
void nsx_container_close(struct nsx_container *c);

/* Unpacks a block; *ret is its message, inside buf, which grows as needed. Thread-safe if each
 * thread has its own buf. Owner of the buffers: the caller, free. Errors: NSX_E_DATA: the block is
 * damaged; NSX_E_NOMEM.
 */
struct nsx_block_buf {
	uint8_t *plain, *packed;
	size_t plain_cap, packed_cap;
};
int nsx_block_read(const struct nsx_container *c, const struct nsx_rep_block *b,
		   struct nsx_block_buf *buf, struct nsx_piece *ret,
		   struct nsx_err *err) NSX_CHECKED;
