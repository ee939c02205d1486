/* nsx/version.h - the version of libnsx, and an overview.
 *
 * libnsx explains reports and exports of NVIDIA Nsight Systems. The headers of this folder are
 * its whole interface, used in this order:
 *
 *	nsx/open.h	opens a file as an export
 *	nsx/schema.h	the contents of the export
 *	nsx/load.h	reads and analyses the export
 *	nsx/report.h	findings, sections and their tables; output files
 *	nsx/several.h	compares captures; explains the ranks of a job
 *	nsx/error.h	why a function failed
 *
 * Handles are opaque. A function that makes one stores it in its last argument but one; the
 * caller frees it with the function named there. Returned text is UTF-8; it belongs to the
 * handle in the first argument and lives as long as that. One thread at a time may use a
 * handle; different handles are independent. Nothing is printed. If a small allocation
 * fails, the process ends with a line on stderr and exit code 3; if an allocation that
 * grows with the input fails, the function fails.
 *
 * Functions are added, not changed, as long as the number in the library's soname
 * (libnsx.so.0) stays.
 */
#ifndef NSX_PUBLIC_VERSION_H
#define NSX_PUBLIC_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define NSX_API __attribute__((visibility("default")))

/* The version of the running library, such as "0.2.0". */
NSX_API const char *nsx_version(void);

#ifdef __cplusplus
}
#endif

#endif
