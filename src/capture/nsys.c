/* nsys.c - finds nsys and reads its help.
 *
 * A machine often has several installations: in PATH, in each CUDA toolkit, in /opt. Each is asked
 * for its version; links to one file count once. CUDA's bin/nsys is a script that starts another
 * installation, so the importer is looked for beside the file and also by version.
 */
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture/nsys.h"
#include "capture/proc.h"

enum { MAX_FOUND = 32, HELP_BYTES = 1 << 20 };

static const char *const usual[] = {
	"/usr/local/cuda*/bin/nsys",
	"/usr/local/cuda*/nsight-systems*/bin/nsys",
	"/opt/nvidia/nsight-systems*/*/bin/nsys",
	"/opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
	"/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Systems/bin/nsys",
	"/opt/cuda*/bin/nsys",
	"/opt/cuda*/nsight_systems*/bin/nsys",
	"/opt/cuda*/nsight-systems*/bin/nsys",
	"/usr/lib/nsight-systems/target-linux-*/nsys",
};
static const char *const importers[] = {
	"/opt/nvidia/nsight-systems*/%s*/host-linux-*/QdstrmImporter",
	"/usr/local/cuda*/nsight-systems-%s*/host-linux-*/QdstrmImporter",
};

int nsx_version_cmp(const char *a, const char *b)
{
	while (*a || *b) {
		char *ea, *eb;
		unsigned long na = strtoul(a, &ea, 10),
			      nb = strtoul(b, &eb, 10);

		if (na != nb)
			return na < nb ? -1 : 1;
		if (*ea != '.' || *eb != '.') /* in "54-2344..." the version ends before the dash */
			return (*ea == '.') - (*eb == '.');
		a = ea + 1;
		b = eb + 1;
	}
	return 0;
}

/* Finding ----------------------------------------------------------------*/

struct list {
	struct nsx_arena *arena;
	struct nsx_nsys *v;
	char **real; /* resolved paths, to recognise links */
	size_t n;
};

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* The version that a program prints, as in "NVIDIA Nsight Systems version 2023.4.4.54-..."; "": it
 * prints none. Owner: the arena.
 */
static const char *ask_version(struct nsx_arena *a, const char *path)
{
	const char *const argv[] = { path, "--version", NULL };
	const char *s = nsx_proc_output(argv, a);

	s = s ? strstr(s, "version ") : NULL;
	if (!s)
		return "";
	s += strlen("version ");
	return nsx_arena_strndup(a, s, strcspn(s, " \r\n"));
}

static void add_installation(struct list *l, const char *path)
{
	char *real;

	if (l->n == MAX_FOUND || !is_program(path))
		return;
	real = realpath(path, NULL);
	for (size_t i = 0; real && i < l->n; i++)
		if (!strcmp(l->real[i], real)) {
			free(real);
			return;
		}
	if (!real)
		return;
	l->real[l->n] = real;
	l->v[l->n].path = nsx_arena_strdup(l->arena, path);
	l->v[l->n].version = ask_version(l->arena, path);
	l->n++;
}

/* Adds the installation that the user named; path is the file or its folder. */
static void add_given(struct list *l, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		path = nsx_arena_printf(l->arena, "%s/nsys", path);
	add_installation(l, path);
}

static void add_matches(struct list *l, const char *pattern)
{
	glob_t g = { 0 };

	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			add_installation(l, g.gl_pathv[i]);
	globfree(&g);
}

static void add_programs_in_path(struct list *l)
{
	const char *s = getenv("PATH");

	while (s && *s) {
		size_t n = strcspn(s, ":");

		add_installation(l, nsx_arena_printf(l->arena, "%.*s/nsys", n ? (int)n : 1,
						     n ? s : "."));
		s += n + (s[n] == ':');
	}
}

/* Adds the installations in a CUDA toolkit's folder; home is NULL or "" if there is none. */
static void add_toolkit(struct list *l, const char *home)
{
	if (!home || !*home)
		return;
	add_matches(l, nsx_arena_printf(l->arena, "%s/bin/nsys", home));
	add_matches(l, nsx_arena_printf(l->arena, "%s/nsight-systems*/bin/nsys",
					home));
}

struct nsx_nsys *nsx_nsys_list(struct nsx_arena *a, const char *given, size_t *ret_n)
{
	char *real[MAX_FOUND];
	struct list l = { .arena = a, .real = real };

	l.v = nsx_arena_get(a, MAX_FOUND * sizeof(*l.v));
	if (!given && getenv("NSYS_PATH") && *getenv("NSYS_PATH"))
		given = getenv("NSYS_PATH");
	if (given) {
		add_given(&l, given);
	} else {
		add_programs_in_path(&l);
		add_toolkit(&l, getenv("CUDA_HOME"));
		add_toolkit(&l, getenv("CUDA_PATH"));
		for (unsigned i = 0; i < ARRAY_LEN(usual); i++)
			add_matches(&l, usual[i]);
	}
	for (size_t i = 1; i < l.n; i++) /* insertion sort, because it is stable and there are
					    few */
		for (size_t k = i; k && nsx_version_cmp(l.v[k - 1].version, l.v[k].version) < 0;
		     k--) {
			struct nsx_nsys swap = l.v[k];

			l.v[k] = l.v[k - 1];
			l.v[k - 1] = swap;
		}
	for (size_t i = 0; i < l.n; i++)
		free(real[i]);
	*ret_n = l.n;
	return l.v;
}

/* Asking -----------------------------------------------------------------*/

static int read_help(const struct nsx_nsys *n, struct nsx_arena *a,
		     const char *command, const char **ret, struct nsx_err *err)
{
	const char *const argv[] = { n->path, command ? command : "--help",
				     command ? "--help" : NULL, NULL };
	const struct nsx_proc p = { .argv = argv,
				    .limit_s = 30,
				    .keep = HELP_BYTES };
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end;

	if (nsx_proc_run(&p, &end, err))
		return err->rc;
	if (!end.out.n)
		return nsx_fail(err, NSX_E_IO, "'%s' does not work: %s; give another with --nsys",
				n->path, end.timed_out ? "no answer to --help"
				: end.err.n   ? nsx_proc_words(&end, a)
					      : "its help is empty");
	*ret = nsx_arena_strdup(a, end.out.p);
	return 0;
}

int nsx_nsys_ask(struct nsx_nsys *n, struct nsx_arena *a, struct nsx_err *err)
{
	if (read_help(n, a, NULL, &n->help, err) ||
	    read_help(n, a, "profile", &n->profile_help, err) ||
	    read_help(n, a, "export", &n->export_help, err))
		return err->rc;
	return 0;
}

static bool is_word_char(char c)
{
	return c == '-' || c == '_' || (c >= '0' && c <= '9') ||
	       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the n bytes at s contain the word, with no word character before or after it. */
static bool has_word(const char *s, size_t n, const char *word)
{
	size_t k = strlen(word);

	for (size_t i = 0; i + k <= n; i++)
		if (!memcmp(s + i, word, k) && (!i || !is_word_char(s[i - 1])) &&
		    (i + k == n || !is_word_char(s[i + k])))
			return true;
	return false;
}

/* Whether a line of the help begins an option: with a dash, possibly after "(Experimental) ". */
static bool is_option_line(const char *line)
{
	line += strspn(line, " \t");
	if (*line == '(') {
		line += strcspn(line, ")\n");
		line += strspn(line, ") ");
	}
	return *line == '-';
}

bool nsx_nsys_knows(const char *help, const char *option, const char *value)
{
	char name[64];
	bool here = false;

	snprintf(name, sizeof(name), "--%s", option);
	while (*help) {
		size_t n = strcspn(help, "\n");

		if (is_option_line(help))
			here = has_word(help, n, name);
		if (here && (!value || has_word(help, n, value)))
			return true;
		help += n + (help[n] == '\n');
	}
	return false;
}

const char *nsx_nsys_no_counters(const struct nsx_nsys *n, const char *option, struct nsx_arena *a)
{
	static const char *const refusals[] = { "ERR_NVGPUCTRPERM",
						"nsufficient privilege",
						"not available", "not found",
						"None of the installed GPUs" };
	const char *arg = nsx_arena_printf(a, "--%s=help", option);
	const char *const argv[] = { n->path, "profile", arg, NULL };
	const struct nsx_proc p = { .argv = argv, .limit_s = 30 };
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end;
	struct nsx_err err;
	const char *s, *hit;

	if (nsx_proc_run(&p, &end, &err))
		return nsx_arena_strdup(a, err.msg);
	nsx_buf_adds(&end.out, end.err.n ? end.err.p : "");
	for (unsigned i = 0; i < ARRAY_LEN(refusals); i++) {
		hit = strstr(end.out.p, refusals[i]);
		if (!hit)
			continue;
		for (s = hit; s > end.out.p && s[-1] != '\n'; s--)
			;
		s += strspn(s, " \t");
		return nsx_arena_strndup(a, s, strcspn(s, "\n"));
	}
	return NULL;
}

/* Counter sets by compute capability, for capabilities whose GPUs all have the same set. */
static const struct {
	const char *capability, *set;
} metric_sets[] = { { "8.0", "ga100" }, { "8.6", "ga10x" }, { "8.7", "ga10b" },
		    { "8.9", "ad10x" }, { "9.0", "gh100" } };

unsigned nsx_nsys_gpu_users(struct nsx_arena *a, struct nsx_buf *names)
{
	static const char *const smi[] = { "nvidia-smi",
					   "--query-compute-apps=pid,process_name",
					   "--format=csv,noheader", NULL };
	const char *s = nsx_proc_output(smi, a);
	unsigned count = 0;

	for (; s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
		const char *line = nsx_arena_strndup(a, s, strcspn(s, "\n"));
		const char *name = strstr(line, ", ");

		if (name && atol(line) > 0 && count++ < 8)
			nsx_buf_printf(names, "%s%s (%ld)", names->n ? ", " : "",
				       nsx_base_name(name + 2), atol(line));
	}
	return count;
}

const char *nsx_nsys_metric_set(const struct nsx_nsys *n, struct nsx_arena *a)
{
	static const char *const smi[] = { "nvidia-smi",
					   "--query-gpu=compute_cap",
					   "--format=csv,noheader", NULL };
	const char *const help[] = {n->path, "profile", "--gpu-metrics-set=help", NULL};
	const char *kind = NULL, *s = nsx_proc_output(smi, a);

	for (; s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
		const char *of = NULL;

		for (unsigned i = 0; i < ARRAY_LEN(metric_sets); i++)
			if (has_word(s, strcspn(s, "\n"), metric_sets[i].capability))
				of = metric_sets[i].set;
		if (!of || (kind && kind != of))
			return NULL;
		kind = of;
	}
	s = kind ? nsx_proc_output(help, a) : NULL;
	return s && has_word(s, strlen(s), kind) ? kind : NULL;
}

/* Importer ---------------------------------------------------------------*/

static const char *first_match(struct nsx_arena *a, const char *pattern)
{
	const char *found = NULL;
	glob_t g = { 0 };

	if (!glob(pattern, 0, NULL, &g))
		found = nsx_arena_strdup(a, g.gl_pathv[0]);
	globfree(&g);
	return found;
}

static const char *find_importer(const struct nsx_nsys *n, struct nsx_arena *a)
{
	char *real = realpath(n->path, NULL), *slash;
	const char *found = NULL, *end = n->version;

	if (real && (slash = strrchr(real, '/'))) {
		*slash = '\0';
		found = first_match(a,
			nsx_arena_printf(a, "%s/../host-linux-*/QdstrmImporter",
					 real));
	}
	free(real);
	for (int dots = 0; *end && *end != '-'; end++) /* "2023.4.4" */
		if (*end == '.' && ++dots == 3)
			break;
	if (end == n->version)
		return found;
	for (unsigned i = 0; i < ARRAY_LEN(importers) && !found; i++) {
		const char *star = strstr(importers[i], "%s");

		found = first_match(a, nsx_arena_printf(a, "%.*s%.*s%s", (int)(star - importers[i]),
					       importers[i], (int)(end - n->version),
					       n->version, star + 2));
	}
	return found;
}

const char *const *nsx_nsys_importer(const struct nsx_nsys *n, struct nsx_arena *a, const char *raw)
{
	const char **argv = nsx_arena_get(a, 4 * sizeof(*argv));
	const char *program = find_importer(n, a);

	if (!program && !has_word(n->help, strlen(n->help), "import"))
		return NULL;
	argv[0] = program ? program : n->path;
	argv[1] = program ? "-i" : "import";
	argv[2] = raw;
	return argv;
}
