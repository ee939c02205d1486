/* nsysrep.h - presents an nsys report (.nsys-rep, .qdrep) as the database its export would be. */
#pragma once

#include "sqlite/db.h"

/* Whether the path has a report's suffix, compressed or not. */
bool nsx_has_report_name(const char *path);
/* Whether the file is a report: by its first bytes, or by its name if compressed. */
bool nsx_is_report(const char *path);

/* Reads a report into an in-memory database. Damage is reported by nsx_db_warning, unknown content
 * by nsx_db_note. Owner: the caller, nsx_db_close. Errors: NSX_E_IO, NSX_E_SCHEMA, NSX_E_DATA if
 * nothing can be read, NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_report_read(const char *path, struct nsx_db **ret, struct nsx_err *err) NSX_CHECKED;
