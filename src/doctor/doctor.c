/* doctor.c - functions that several checks use: adding lines, reading files. */
#include <stdarg.h>
#include <stdio.h>
#include "doctor/doctor.h"

void nsx_doctor_add(struct nsx_doctor *d, const char *id,
		    enum nsx_doctor_verdict verdict, const char *mend, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsx_push_or_die(d->lines, d->n, d->cap,
			(struct nsx_doctor_line){
				id, verdict,
				nsx_arena_vprintf(d->arena, fmt, ap), mend});
	va_end(ap);
}

const char *nsx_doctor_read(const struct nsx_doctor *d, const char *path)
{
	enum { MAX = 65536 };
	FILE *f = fopen(nsx_arena_printf(d->arena, "%s%s", d->root, path), "re");
	char *text;
	size_t n;

	if (!f)
		return NULL;
	text = nsx_arena_get(d->arena, MAX + 1);
	n = fread(text, 1, MAX, f);
	text[n] = '\0';
	(void)fclose(f);
	return text;
}
