/* nsysrep.h - a report of nsys (.nsys-rep, .qdrep) as the database that its export
 * would be.
 */
#ifndef NSX_NSYSREP_H
#define NSX_NSYSREP_H

#include "sqlite/db.h"

/* Whether reports are named like that, compressed ones among them. */
bool nsx_has_report_name(const char *path);
/* Whether the file is a report, by its first bytes, or, where it is compressed, by its
 * name.
 */
bool nsx_is_report(const char *path);

/* Reads a report into a database in memory that stands for it.  What is damaged or
 * missing is nsx_db_warning's to tell, what is not known nsx_db_note's.  Owner: the
 * caller, nsx_db_close.  Errors: NSX_E_IO, NSX_E_SCHEMA, NSX_E_DATA where nothing can be
 * read, NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_report_read(const char *path, struct nsx_db **ret,
		    struct nsx_err *err) NSX_CHECKED;

#endif
