/* collect.c - finds the reports that nsys wrote, or the reason why there are none.
 *
 * The exit code of nsys does not show whether there is a report: it may be 0 without one (a range
 * that never opened, an importer that cannot start), and on success it is the command's code. So
 * only the files count. The folder was empty before, so its files are new. Versions before 2021.4
 * name a report .qdrep.
 */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>
#include "capture/capture.h"

enum { SMALL_BYTES = 1 << 20 };

static const char *const suffixes[] = { ".nsys-rep", ".qdrep" };

/* Lists the files of dir with the suffix, in the order of the numbers in their names. Owner: the
 * arena.
 */
static const char *const *collect_find_files(struct nsx_arena *a, const char *dir,
					     const char *suffix, size_t *ret_n)
{
	struct dirent **v;
	int n = scandir(dir, &v, NULL, versionsort);
	const char **found = nsx_arena_get(a, ((size_t)NSX_MAX(n, 0) + 1) * sizeof(*found));
	size_t k = 0, len = strlen(suffix);

	for (int i = 0; i < n; i++) {
		size_t has = strlen(v[i]->d_name);

		if (has > len && !strcmp(v[i]->d_name + has - len, suffix))
			found[k++] = nsx_arena_printf(a, "%s/%s", dir, v[i]->d_name);
		free(v[i]);
	}
	if (n >= 0)
		free(v);
	*ret_n = k;
	return found;
}

static void add_product(struct nsx_capture *c, const char *path, const char *suffix)
{
	struct nsx_product *p = &c->products[c->nproducts++];
	const char *name = strrchr(path, '/') + 1;
	size_t n = strlen(name) - strlen(suffix), dot;

	for (dot = n; dot && name[dot - 1] != '.'; dot--)
		;
	p->rep = path;
	p->rep_bytes = nsx_file_size(path);
	p->number = "";
	if (dot && strspn(name + dot, "0123456789") == n - dot)
		p->number = nsx_arena_strndup(c->arena, name + dot - 1, n - dot + 1);
}

static void find_reports(struct nsx_capture *c)
{
	for (unsigned i = 0; i < ARRAY_LEN(suffixes) && !c->nproducts; i++) {
		size_t n;
		const char *const *v = collect_find_files(c->arena, c->work, suffixes[i], &n);

		c->products = nsx_arena_get(c->arena, (n + 1) * sizeof(*c->products));
		for (size_t k = 0; k < n; k++)
			add_product(c, v[k], suffixes[i]);
	}
}

/* Raw data ---------------------------------------------------------------*/

/* Finds the raw data, and moves it to the work folder if necessary; NULL: there is none. */
static const char *collect_find_raw(struct nsx_capture *c)
{
	struct nsx_err err;
	size_t n;
	const char *const *v = collect_find_files(c->arena, c->work, ".qdstrm", &n),
			  *to;

	if (n)
		return v[0];
	if (!c->raw || nsx_file_size(c->raw) <= 0)
		return NULL;
	to = nsx_arena_printf(c->arena, "%s/trace.qdstrm", c->work);
	return nsx_file_move(c->raw, to, &err) ? NULL : to;
}

static int import_raw_data(struct nsx_capture *c, const char *raw, struct nsx_err *err)
{
	const char *const *argv = nsx_nsys_importer(c->nsys, c->arena, raw);
	const struct nsx_proc p = {
		.argv = argv, .limit_s = 600 + (double)nsx_file_size(raw) / 1e6
	};
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end = { 0 };
	const char *kept;

	nsx_capture_warn(c, "nsys left raw data only; importing it");
	if (argv && nsx_proc_run(&p, &end, err) && err->rc == NSX_E_STOP)
		return err->rc;
	find_reports(c);
	if (c->nproducts && c->products[0].rep_bytes > 0)
		return 0;
	c->nproducts = 0;
	kept = nsx_arena_printf(c->arena, "%s/trace%s.qdstrm", c->dir, c->rank);
	if (nsx_file_move(raw, kept, err))
		return err->rc;
	if (end.err.n)
		nsx_buf_add(&c->end.err, end.err.p, end.err.n);
	return nsx_fail(err, NSX_E_DATA, "nsys left raw data only, and %s; it is kept as '%s': "
			"import it with nsys %s on a machine where that works (often a library is "
			"missing beside QdstrmImporter)",
			argv ? "its importer failed" : "has no importer", kept, c->nsys->version);
}

/* Why there is no report ---------------------------------------------------- */

static bool nsys_printed(const struct nsx_capture *c, const char *words)
{
	return nsx_proc_find(&c->end.out, words, NULL) || nsx_proc_find(&c->end.err, words, NULL);
}

static int fail_missing(const struct nsx_capture *c, struct nsx_err *err)
{
	if (nsys_printed(c, "No space left on device"))
		return nsx_fail(err, NSX_E_IO, "the disk became full during the capture; make room "
				"in '%s' and in '%s' (NSYS_TMPDIR), or record "
				"less", c->dir, nsx_capture_tmp());
	if (c->full_tmp)
		return nsx_fail(err, NSX_E_IO, "the temporary folder of nsys, '%s', became full "
				"during the capture; make room there, or set NSYS_TMPDIR to a "
				"folder with more", c->full_tmp);
	if (c->ended == NSX_ENDED_HUNG)
		return nsx_fail(err, NSX_E_IO, "nsys did not finish and was ended before it wrote "
				"a report");
	if (c->ended == NSX_ENDED_SIGNAL)
		return nsx_fail(err, NSX_E_STOP, "interrupted before there was a report");
	if (nsys_printed(c, "Generated:") && nsx_args_have(&c->extra, "capture-range", 'c'))
		return nsx_fail(err, NSX_E_DATA,
			"the capture range never opened: the command did not call "
			"cudaProfilerStart or push the NVTX range (names that are not registered "
			"need NSYS_NVTX_PROFILER_REGISTER_ONLY=0)");
	return nsx_fail(err, NSX_E_IO, "nsys ended with code %d and wrote no report; its own words "
			"are above", c->end.code);
}

static const char *signal_name(int code)
{
	return code == 128 + SIGSEGV   ? " (segmentation fault)"
	       : code == 128 + SIGABRT ? " (abort)"
	       : code == 128 + SIGKILL ? " (killed)"
				       : "";
}

static void warn_about_run(struct nsx_capture *c)
{
	int code = nsx_capture_target_code(c);

	if (c->full_tmp)
		nsx_capture_warn(c, "the temporary folder of nsys, '%s', became "
				 "full: what came after is missing; make room there, "
				 "or set NSYS_TMPDIR", c->full_tmp);
	else if (c->ended == NSX_ENDED_HUNG)
		nsx_capture_warn(c, "nsys did not finish and was ended");
	if (code > 0)
		nsx_capture_warn(c, "the command ended with code %d%s", code, signal_name(code));
	if (c->ended == NSX_ENDED_ALONE && c->target_s < c->opts->duration_s)
		nsx_capture_warn(c, "the command ended after %.1f s, before the %g s of --duration "
				 "were over", c->target_s, c->opts->duration_s);
	if (c->target_s < 20)
		nsx_capture_warn(c, "only %.1f s were recorded: start-up and warm-up weigh heavily "
			"below 20 s; record more or leave the beginning out with --warmup-skip",
			c->target_s);
	for (size_t i = 0; i < c->nproducts; i++)
		if (c->products[i].rep_bytes < SMALL_BYTES)
			nsx_capture_warn(c, "the report%s is small (%.3f MB): see whether it holds "
					 "what you expect", c->products[i].number,
					 (double)c->products[i].rep_bytes / 1e6);
}

/* Finds nsys's message that its agent died or could not be reached. */
static const char *lost_agent(const struct nsx_capture *c)
{
	static const char *const words[] = {
		"Agent launcher failed", "agent was terminated", "lost connection to the agent",
		"Connection to Agent lost", "Failed to start the agent",
		"Unable to connect to the agent",
	};

	return NSX_FIRST(i, ARRAY_LEN(words), nsys_printed(c, words[i]), words[i], NULL);
}

/* The reason to record once more: nsys itself failed, the user did not stop it, and the disk is not
 * full. NULL: there is no such reason.
 */
static const char *fault_of_nsys(const struct nsx_capture *c)
{
	if (c->is_again || c->ended == NSX_ENDED_SIGNAL ||
	    c->ended == NSX_ENDED_HUNG || nsys_printed(c, "No space left on device"))
		return NULL;
	return NSX_FIRST(i, c->nproducts, !c->products[i].rep_bytes, "nsys left an empty report",
			 !c->nproducts && lost_agent(c) ? "nsys lost its agent" : NULL);
}

static int record_again(struct nsx_capture *c, const char *why, struct nsx_err *err)
{
	nsx_capture_warn(c, "%s; recording once more", why);
	for (size_t i = 0; i < c->nproducts; i++)
		unlink(c->products[i].rep);
	if (c->raw)
		unlink(c->raw);
	c->nproducts = 0;
	c->raw = NULL;
	c->is_again = true;
	c->ended = NSX_ENDED_ALONE;
	nsx_proc_end_done(&c->end);
	return nsx_capture_record(c, err);
}

int nsx_capture_collect(struct nsx_capture *c, struct nsx_err *err)
{
	const char *raw, *why;
	int rc = 0;

	find_reports(c);
	why = fault_of_nsys(c);
	if (why) {
		if (record_again(c, why, err))
			return err->rc;
		find_reports(c);
	}
	for (size_t i = 0; i < c->nproducts; i++)
		if (!c->products[i].rep_bytes)
			return nsx_fail(err, NSX_E_DATA, "the report that nsys wrote is empty (0 "
					"bytes); is the disk full?");
	if (!c->nproducts) {
		/* After a second signal, the user does not want to wait for an import. */
		bool given_up = c->ended == NSX_ENDED_SIGNAL && nsx_proc_signals() > 1;

		raw = given_up ? NULL : collect_find_raw(c);
		rc = raw ? import_raw_data(c, raw, err) : fail_missing(c, err);
	}
	if (c->raw) /* left behind if nsys was ended early */
		unlink(c->raw);
	if (rc)
		return rc;
	warn_about_run(c);
	return 0;
}
