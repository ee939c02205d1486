/* nsx/version.h - which libnsx this is.
 *
 * libnsx explains reports and exports of NVIDIA Nsight Systems.  The five headers of
 * this folder are all of its interface, used in this order:
 *
 *	nsx/open.h	a file becomes an export
 *	nsx/schema.h	what the export holds
 *	nsx/load.h	the export is read and analysed
 *	nsx/report.h	what was found, sections and their tables; files
 *	nsx/error.h	what a function says when it fails
 *
 * Handles are opaque.  A function that makes one stores it in its last but one
 * argument; the caller gives it back with the function named there.  Text that
 * a function returns belongs to the handle in its first argument, is UTF-8, and
 * lives as long as that handle.  A handle is used by one thread at a time; two
 * handles may be used by two.  Nothing is printed.  Where memory for something
 * small is wanting, the process ends with a line on stderr and exit code 3; for
 * all that grows with the input the function fails.
 *
 * Functions are added, not changed, while the number in the library's soname
 * (libnsx.so.0) stays.
 */
#ifndef NSX_PUBLIC_VERSION_H
#define NSX_PUBLIC_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define NSX_API __attribute__((visibility("default")))

/* "0.1.0": the version of the library that runs. */
NSX_API const char *nsx_version(void);

#ifdef __cplusplus
}
#endif

#endif
