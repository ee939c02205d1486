/* facts.h - rows for what a report holds outside its events, such as GPUs and options. */
#pragma once

#include "nsysrep/container.h"
#include "nsysrep/rows.h"
#include "nsysrep/strings.h"

void nsx_rep_facts(const struct nsx_container *c, const struct nsx_rep_strings *strings,
		   struct nsx_rep_rows *rows);
/* The start and stop times of the session. */
void nsx_rep_session(const struct nsx_container *c, struct nsx_rep_rows *rows);
/* The options of the capture, as names and values. */
void nsx_rep_options(const struct nsx_container *c, struct nsx_rep_rows *rows);
/* Version of the capturing nsys, as "2024.5.1.113"; n 0: unknown. */
struct nsx_piece nsx_rep_version(const struct nsx_container *c);
