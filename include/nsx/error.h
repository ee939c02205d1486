/* nsx/error.h - why a function failed.
 *
 * Functions that can fail return 0 or a negative enum nsx_code. On failure they have filled
 * the struct nsx_problem that is their last argument, and stored nothing else. That
 * argument must not be NULL and need not be initialised.
 */
#ifndef NSX_PUBLIC_ERROR_H
#define NSX_PUBLIC_ERROR_H

#include <nsx/version.h>

enum nsx_code {
	NSX_CODE_OK = 0,
	NSX_CODE_IO = -1,	 /* a file cannot be opened, read or written    */
	NSX_CODE_DATABASE = -2,	 /* SQLite refuses the file                     */
	NSX_CODE_NO_EXPORT = -3, /* it is not an export of Nsight Systems       */
	NSX_CODE_DAMAGED = -4,	 /* a table's content is damaged                */
	NSX_CODE_MEMORY = -5,	 /* not enough memory; the text says for what   */
	NSX_CODE_STOPPED = -6,	 /* the caller or a signal interrupted the work */
	NSX_CODE_USAGE = -7,	 /* an argument is wrong                        */
};

struct nsx_problem {
	int code;	 /* enum nsx_code */
	char text[1024]; /* one line without a newline: what failed, on what in
			    single quotes, why, what to do */
};

#endif
