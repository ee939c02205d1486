/* nsx/schema.h - the contents of an export.
 *
 * Tables differ by version and by what was recorded. Here they have our own names, which
 * `nsys-explain schema` lists: kernel, memcpy, runtime, nvtx, gpu_metrics, ...
 */
#ifndef NSX_PUBLIC_SCHEMA_H
#define NSX_PUBLIC_SCHEMA_H

#include <nsx/open.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of nsys that wrote it, such as "2024.6.1.90-246135"; "" if not recorded. */
NSX_API const char *nsx_export_product_version(const struct nsx_export *e);

/* The file's own name for one of our tables; NULL if the export lacks it or the name is unknown. */
NSX_API const char *nsx_export_table(const struct nsx_export *e, const char *name);

/* The needs of an analysis (an id of `nsys-explain passes`) that the export lacks, in words;
 * NULL: nothing; "" if there is no such analysis.
 */
NSX_API const char *nsx_export_lacks(struct nsx_export *e, const char *analysis);

#ifdef __cplusplus
}
#endif

#endif
