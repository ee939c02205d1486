/* options.c - composes nsys's command line.
 *
 * One table lists the options of each preset, with the names that they have in different versions.
 * nsys rejects repeated options, so a user's option replaces ours.
 */
#include "capture/nsys.h"
#include "schema/recapture.h"

enum { /* sets of presets, as bits */
	NCCL = 1 << NSX_PRESET_nccl,
	NVLINK = 1 << NSX_PRESET_nvlink,
	MEMORY = 1 << NSX_PRESET_memory,
	FULL = 1 << NSX_PRESET_full,
	ONLY_COUNTERS = 1 << NSX_PRESET_counters,
	ALWAYS = (1 << NSX_NPRESETS) - 1,
};

/* Values of options in the table that are computed; compared by address. */
static const char TRACE[] = "trace", COUNTERS[] = "counters";

static const struct option {
	unsigned presets;
	char letter;
	const char *names[2]; /* newest spelling first                     */
	const char *value;
	const char *missing; /* the warning if nsys lacks the option; NULL: no warning */
} options[] = {
	{ ALWAYS, 't', { "trace" }, TRACE, NULL },
	{ ALWAYS, 's', { "sample" }, "none", NULL },
	{ ALWAYS, 0, { "cuda-memory-usage" }, "true", "no memory usage" },
	{ ALWAYS, 0, { "cuda-trace-scope" }, "process-tree", NULL },
	/* Event tracing makes streams wait for each other. Some 2025 versions do it by default. */
	{ ALWAYS, 0, { "cuda-event-trace" }, "false", NULL },
	{ ALWAYS,
	  0,
	  { "cuda-graph-trace" },
	  "node",
	  "kernels inside CUDA graphs may not show" },
	{ MEMORY | FULL,
	  0,
	  { "cuda-um-cpu-page-faults" },
	  "true",
	  "no page faults of unified memory on the CPU" },
	{ MEMORY | FULL,
	  0,
	  { "cuda-um-gpu-page-faults" },
	  "true",
	  "no page faults of unified memory on the GPU" },
	{ NVLINK | FULL | ONLY_COUNTERS,
	  0,
	  { "gpu-metrics-devices", "gpu-metrics-device" },
	  COUNTERS,
	  "no GPU counters" },
};

/* Options that the user may not give, because we must find the result. */
static const struct {
	const char *name;
	char letter;
} ours[] = { { "output", 'o' }, { "force-overwrite", 'f' } };

/* Argument lists ---------------------------------------------------------*/

void nsx_args_add(struct nsx_args *args, const char *arg)
{
	nsx_grow_or_die(&args->argv, &args->cap, args->n + 2, sizeof(*args->argv));
	args->argv[args->n++] = arg;
	args->argv[args->n] = NULL;
}

void nsx_args_done(struct nsx_args *args)
{
	free(args->argv);
}

/* Takes the next character of a word; false: its end. quote: the open quote. */
static bool next_word_char(const char **s, char *quote, char *ret)
{
	for (;; ++*s) {
		char c = **s;

		if (!c || (!*quote && strchr(" \t\n", c)))
			return false;
		if (*quote && c == *quote) {
			*quote = 0;
		} else if (!*quote && (c == '\'' || c == '"')) {
			*quote = c;
		} else {
			if (c == '\\' && *quote != '\'' && (*s)[1])
				c = *++*s;
			++*s;
			*ret = c;
			return true;
		}
	}
}

int nsx_args_split(struct nsx_args *args, const char *text, struct nsx_arena *a,
		   struct nsx_err *err)
{
	const char *s = text;

	for (;;) {
		char *word, c, quote = 0;
		size_t n = 0;

		s += strspn(s, " \t\n");
		if (!*s)
			return 0;
		word = nsx_arena_get(a, strlen(s) + 1);
		while (next_word_char(&s, &quote, &c))
			word[n++] = c;
		if (quote)
			return nsx_fail(err, NSX_E_USAGE, "a quote is not closed in '%s'", text);
		nsx_args_add(args, word);
	}
}

bool nsx_args_have(const struct nsx_args *args, const char *name, char letter)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < args->n; i++) {
		const char *s = args->argv[i];

		if (s[0] != '-')
			continue;
		if (letter && s[1] == letter)
			return true;
		if (s[1] == '-' && !strncmp(s + 2, name, n) && (!s[2 + n] || s[2 + n] == '='))
			return true;
	}
	return false;
}

/* Options ----------------------------------------------------------------*/

struct builder {
	const struct nsx_nsys *nsys;
	const struct nsx_want *want;
	unsigned preset;
	struct nsx_arena *arena;
	struct nsx_args *args;
	struct nsx_buf *warnings;
};

/* The bit of a preset; name NULL: basic. 0: there is no such preset. */
static unsigned preset_bit(const char *name)
{
	return NSX_FIRST(i, NSX_NPRESETS, !name || !strcmp(name, nsx_presets[i].name), 1u << i, 0);
}

int nsx_want_check(const char *preset, const struct nsx_args *extra, struct nsx_err *err)
{
	if (!preset_bit(preset))
		return nsx_refuse_preset(preset, err);
	for (unsigned i = 0; i < ARRAY_LEN(ours); i++)
		if (nsx_args_have(extra, ours[i].name, ours[i].letter))
			return nsx_fail(err, NSX_E_USAGE, "--extra-nsys may not hold '--%s'; the "
					"place is chosen with --out", ours[i].name);
	return 0;
}

/* The value of the option that selects GPUs for counters. nsys has its own GPU numbers; newer
 * versions also accept "cuda-visible". Returns NULL and adds a warning if nsys refuses counters,
 * because it would then not start the command.
 */
static const char *counter_gpus(const struct builder *b, const char *name, const char *missing)
{
	const char *why = nsx_nsys_no_counters(b->nsys, name, b->arena);

	if (why) {
		nsx_buf_printf(b->warnings, "%s: %s\n", missing, why);
		return NULL;
	}
	if (nsx_nsys_knows(b->nsys->profile_help, name, "cuda-visible"))
		return "cuda-visible";
	return b->want->gpu_id ? b->want->gpu_id : "all";
}

static const char *trace_value(const struct builder *b, const char *name)
{
	bool nccl = b->preset & (NCCL | NVLINK | FULL);

	return nccl && nsx_nsys_knows(b->nsys->profile_help, name, "nccl")
		       ? "cuda,nvtx,osrt,nccl"
		       : "cuda,nvtx,osrt";
}

static void add_option(const struct builder *b, const char *name, const char *value)
{
	if (value)
		nsx_args_add(b->args, nsx_arena_printf(b->arena, "--%s=%s", name, value));
}

/* Adds a counter option, unless the user gave it or this nsys does not know it. */
static void add_counter_option(const struct builder *b, const char *name, const char *value)
{
	if (!nsx_args_have(b->want->extra, name, 0) &&
	    nsx_nsys_knows(b->nsys->profile_help, name, NULL))
		add_option(b, name, value);
}

static void add_counters(const struct builder *b, const char *name, const char *missing)
{
	const char *gpus = counter_gpus(b, name, missing);

	if (!gpus)
		return;
	add_option(b, name, gpus);
	add_counter_option(b, "gpu-metrics-set", nsx_nsys_metric_set(b->nsys, b->arena));
	add_counter_option(b, "gpu-metrics-frequency", "10000");
}

static void add_preset_option(const struct builder *b, const struct option *o)
{
	const char *known = NULL;

	for (unsigned i = 0; i < ARRAY_LEN(o->names) && o->names[i]; i++) {
		if (nsx_args_have(b->want->extra, o->names[i], o->letter))
			return;
		if (!known && nsx_nsys_knows(b->nsys->profile_help, o->names[i], NULL))
			known = o->names[i];
	}
	if (!known && o->missing)
		nsx_buf_printf(b->warnings, "this nsys knows no --%s: %s\n",
			       o->names[0], o->missing);
	if (known && o->value == COUNTERS)
		add_counters(b, known, o->missing);
	else if (known)
		add_option(b, known, o->value == TRACE ? trace_value(b, known) : o->value);
}

void nsx_nsys_options(const struct nsx_nsys *n, const struct nsx_want *want,
		      struct nsx_arena *a, struct nsx_args *args, struct nsx_buf *warnings)
{
	const struct builder b = {n, want, preset_bit(want->preset), a, args, warnings};

	nsx_args_add(args, n->path);
	nsx_args_add(args, "profile");
	for (unsigned i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].presets & b.preset)
			add_preset_option(&b, &options[i]);
	add_option(&b, "force-overwrite", "true");
	add_option(&b, "output", want->output);
	for (size_t i = 0; i < want->extra->n; i++)
		nsx_args_add(args, want->extra->argv[i]);
	for (unsigned i = 0; want->command[i]; i++)
		nsx_args_add(args, want->command[i]);
}
