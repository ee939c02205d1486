/* doctor.c - the list of checks, and what several of them use: adding lines, reading files. */
#include <stdarg.h>
#include <stdio.h>
#include "doctor/doctor.h"

/* in the order in which they run */
nsx_check_fn *const nsx_doctor_checks[] = {
	nsx_check_place,
	nsx_check_nsys,
	nsx_check_gpus,
	nsx_check_age,
	nsx_check_status,
	nsx_check_perf,
	nsx_check_counters,
	nsx_check_clients,
	nsx_check_injection,
	nsx_check_disk,
	NULL,
};

void nsx_doctor_add(struct nsx_doctor *d, const char *id,
		    enum nsx_doctor_verdict verdict, const char *mend, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsx_push_or_die(d->lines, d->n, d->cap, (struct nsx_doctor_line){
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

const char *nsx_doctor_value(const struct nsx_doctor *d, const char *text, const char *key)
{
	const char *s = text ? strstr(text, key) : NULL;

	if (!s)
		return NULL;
	s += strlen(key);
	s += strspn(s, " \t:=");
	return nsx_arena_strndup(d->arena, s, strcspn(s, "\r\n"));
}
