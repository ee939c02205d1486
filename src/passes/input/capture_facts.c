/* capture_facts.c - recognises settings and messages by keys and words. */
#include <strings.h>
#include "passes/input/capture_facts.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

/* A text cell, cut to size; "" for other types. */
static const char *capture_facts_text(const struct nsx_val *v, char *buf, size_t size)
{
	size_t n = v->type == NSX_V_TEXT ? NSX_MIN(v->len, size - 1) : 0;

	if (n)
		memcpy(buf, v->u.p, n);
	buf[n] = '\0';
	return buf;
}

/* Settings of the capture and of the export. Some versions prefix keys with "PROCESS_0:", so their
 * ends are compared.
 */
static const struct {
	const char *key;
	const char *is, *is_not; /* value, in any case; is NULL: any but "" and is_not */
	size_t fact;
} settings[] = {
#define FACT(name) offsetof(struct nsx_capture_facts, name)
	{"CAPTURE_EVENT_TYPE", NULL, "", FACT(has_settings)},
	{"CAPTURE_EVENT_TYPE", "Cuda", NULL, FACT(traced_cuda)},
	{"CAPTURE_EVENT_TYPE", "NvtxEvents", NULL, FACT(traced_nvtx)},
	{"CAPTURE_EVENT_TYPE", "OSRuntime", NULL, FACT(traced_osrt)},
	{"COLLECT_GPU_MEMORY_USAGE", "false", NULL, FACT(memory_usage_off)},
	{"TIMES_TO_EXPORT", NULL, "", FACT(part_of_time)},
	{"TABLES_TO_EXPORT", NULL, "", FACT(part_of_tables)},
	{"TIME_NORMALIZE", "true", NULL, FACT(shifted)},
	{"TIME_SHIFT", NULL, "0", FACT(shifted)},
	{"INCLUDE_JSON", "false", NULL, FACT(without_json)},
	{"INCLUDE_BLOBS", "false", NULL, FACT(without_blobs)},
#undef FACT
};

static int read_setting_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			    struct nsx_err *err NSX_UNUSED)
{
	char name[96], value[64];

	capture_facts_text(&v[0], name, sizeof(name));
	capture_facts_text(&v[1], value, sizeof(value));
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (nsx_ends_with(name, settings[i].key) &&
		    (settings[i].is ? !strcasecmp(value, settings[i].is) :
				      *value && strcmp(value, settings[i].is_not)))
			*(bool *)((char *)ctx + settings[i].fact) = true;
	return 0;
}

static const struct {
	const char *words;
	enum nsx_message kind;
} known[] = {
	{"incomplete CUPTI events", NSX_MSG_LOST},
	{"CUPTI events dropped", NSX_MSG_LOST},
	{"CUPTI events might be missing", NSX_MSG_LOST},
	{"Not all CUDA events", NSX_MSG_PARTIAL},
	{"size limit on recording", NSX_MSG_LIMIT},
	{"Wrong event order", NSX_MSG_ORDER},
	{"is not supported by this build", NSX_MSG_DRIVER},
	{"Missing Data", NSX_MSG_METRICS},
	{"uffer overflow", NSX_MSG_METRICS},
	{"Scheduling information is absent", NSX_MSG_SCHED},
	{"perf event paranoid", NSX_MSG_PERF},
	{"collection of CPU IP", NSX_MSG_PERF},
	{"data cannot be collected", NSX_MSG_PERF},
	{"event source Perf", NSX_MSG_PERF},
	{"IP samples", NSX_MSG_PERF},
	{"events might have been collected", NSX_MSG_OTHERS},
	{"is currently not supported", NSX_MSG_OTHERS},
	{"Unified Memory cannot be traced", NSX_MSG_OTHERS},
	{"events collected. Does the process use", NSX_MSG_HARMLESS},
	{"might have not been started correctly", NSX_MSG_HARMLESS},
	{"might cause symbols to remain unresolved", NSX_MSG_HARMLESS},
	{"nvtxNameOsThread", NSX_MSG_HARMLESS},
	{"symbols found in", NSX_MSG_HARMLESS},
	{"video accelerator events", NSX_MSG_HARMLESS},
	{"do not support video acceleration", NSX_MSG_HARMLESS},
	{"find Vulkan runtime", NSX_MSG_HARMLESS},
	{"dropped", NSX_MSG_DROPPED},
	{"discarded", NSX_MSG_DROPPED},
	{"were lost", NSX_MSG_DROPPED},
	{"Could not parse", NSX_MSG_DROPPED},
};

/* The number at the end of a message such as "... dropped: 12". */
static int64_t number_at_end(const char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] < '0' || s[n - 1] > '9'))
		n--;
	while (n && s[n - 1] >= '0' && s[n - 1] <= '9')
		n--;
	return strtoll(s + n, NULL, 10);
}

enum { SEVERITY_WARNING = 2, SEVERITY_ERROR = 3 };

struct reader {
	struct nsx_capture_facts *f;
	const struct nsx_trace *t;
};

/* Whether a message matters. False for messages about a process without events. */
static bool is_relevant_message(const struct nsx_trace *t, const struct nsx_val *pid)
{
	uint64_t key = nsx_process_key((uint64_t)nsx_i64_or(pid, 0));

	return !nsx_pid_of(key) || /* the message is about the session */
	       nsx_process_find(t, key) != NSX_NONE;
}

static int read_message_row(void *ctx, int64_t rid NSX_UNUSED,
			    const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	struct reader *r = ctx;
	char buf[512];
	int64_t severity = nsx_i64_or(&v[0], 0);

	r->f->has_messages = true;
	if (!is_relevant_message(r->t, &v[2]))
		return 0;
	capture_facts_text(&v[1], buf, sizeof(buf));
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!strcasestr(buf, known[i].words))
			continue;
		if (known[i].kind == NSX_MSG_LOST) {
			int64_t n = number_at_end(buf);

			if (!n && strchr(buf, ':'))
				return 0; /* "...: 0" reports no loss */
			r->f->lost = NSX_MIN(r->f->lost + n, INT32_MAX);
		}
		r->f->messages[known[i].kind]++;
		return 0;
	}
	r->f->messages[NSX_MSG_ERROR] += severity == SEVERITY_ERROR;
	r->f->messages[NSX_MSG_WARNING] += severity == SEVERITY_WARNING;
	return 0;
}

int nsx_read_capture_facts(const struct nsx_trace *t,
			   struct nsx_capture_facts *ret, struct nsx_err *err)
{
	const struct nsx_schema *s = t->schema;
	struct reader r = {ret, t};

	*ret = (struct nsx_capture_facts){0};
	return nsx_view_each(s, capture_meta, read_setting_row, ret, err, name, value) ?:
	       nsx_view_each(s, export_meta, read_setting_row, ret, err, name, value) ?:
	       nsx_view_each(s, diagnostic, read_message_row, &r, err, severity, text,
			     global_pid);
}
