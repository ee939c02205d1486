/* nsx/schema.h - what an export holds.
 *
 * Exports differ in their tables from version to version and by what was
 * recorded.  Here they have the names of our own that `nsys-explain schema`
 * prints: kernel, memcpy, runtime, nvtx, gpu_metrics, ...
 */
#ifndef NSX_PUBLIC_SCHEMA_H
#define NSX_PUBLIC_SCHEMA_H

#include <nsx/open.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "2024.6.1.90-246135": the nsys that wrote it; "" if it is not recorded. */
NSX_API const char *nsx_export_product_version(const struct nsx_export *e);

/* The file's own name of one of our tables; NULL: the export does not have it,
 * or there is none of this name.
 */
NSX_API const char *nsx_export_table(const struct nsx_export *e,
				     const char *name);

/* What the analysis of this id (`nsys-explain passes`) needs and the export does
 * not have, in words; NULL: nothing; "" if there is no such analysis.
 */
NSX_API const char *nsx_export_lacks(struct nsx_export *e, const char *analysis);

#ifdef __cplusplus
}
#endif

#endif
