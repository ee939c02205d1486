/* fuzz.h - functions for several targets: above all a run of the whole program on a database file.
 */
#ifndef NSX_FUZZ_H
#define NSX_FUZZ_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "convert/convert.h"
#include "emit/emit.h"
#include "passes/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                              \
	do {                                                                  \
		if (!(x)) {                                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,    \
				#x);                                          \
			abort();                                              \
		}                                                             \
	} while (0)

/* The path of a file in memory that belongs to this process, for targets that need a path. */
static inline const char *fuzz_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/nsx-fuzz-%d.sqlite",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	return path;
}

/* The path of a seed of fuzz_open, next to the program's folder; name "": the folder of the seeds.
 */
enum { FUZZ_SEED_PATH = 4096 };
static inline void fuzz_seed_path(const char *name, char ret[FUZZ_SEED_PATH])
{
	ssize_t n = readlink("/proc/self/exe", ret, FUZZ_SEED_PATH - 128);

	CHECK(n > 0);
	ret[n] = '\0';
	sprintf(strrchr(ret, '/'), "/../seeds/fuzz_open/%s", name);
}

/* Whether bytes contain a secret: a text of the fixture "secrets". An answer may contain one only
 * if the question did.
 */
static inline bool fuzz_has_secret(const void *p, size_t n)
{
	return memmem(p, n, "SECRET", 6) && memmem(p, n, "MARKER_", 7);
}

static inline void fuzz_write(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	CHECK(f && fwrite(p, 1, n, f) == n);
	CHECK(!fclose(f));
}

struct fuzz_run {
	unsigned threads;
	bool by_sqlite;	 /* SQLite reads all tables, not the page decoder    */
	bool whole_json; /* JSON has the queries, which take most of a run's time */
	const char *window;
	size_t kernel_limit;
	const struct nsx_phase_map *phases;
};

static inline void fuzz_check_json(const char *text, size_t n)
{
	json_t *root = json_loadb(text, n, JSON_ALLOW_NUL, NULL);

	CHECK(root);
	json_decref(root);
}

/* Prints every format and checks that JSON is valid. Also prints values and tables to `out`. */
static inline void fuzz_print(const struct nsx_report *r, bool whole_json, FILE *out)
{
	FILE *null = fopen("/dev/null", "w");
	struct nsx_out_file all = {.subject = r};
	struct nsx_err err;
	struct nsx_buf text = {0};

	CHECK(null && !nsx_write_md(&all, null, &err));
	for (size_t i = 0; i < r->nsections; i++) {
		const struct nsx_section *s = &r->sections[i];

		for (size_t k = 0; k < s->ntables; k++)
			CHECK(!nsx_emit_csv(s->tables[k]->layout, s->tables[k], NULL, null, &err));
		fprintf(out, "%s\n", s->pass->id);
		CHECK(!nsx_emit_json_section(s, out, &err));
	}
	if (whole_json) {
		all.write = nsx_write_json;
		CHECK(!nsx_out_string(&all, &text, &err));
		fuzz_check_json(text.p, text.n);
		nsx_buf_done(&text);
	}
	fclose(null);
}

static inline int fuzz_report(const struct nsx_schema *schema,
			      const struct fuzz_run *run, const char *path,
			      FILE *out, struct nsx_err *err)
{
	struct nsx_opts opts = {.path = path,
				.window = run->window,
				.kernel_limit = run->kernel_limit,
				.threads = run->threads,
				.phases = run->phases,
				.nvtx_kernel_map = true,
				.nvtx_coverage_warn = 0.7};
	struct nsx_report *r = NULL;
	int rc = nsx_report_make(schema, &opts, &r, err);

	if (!rc)
		fuzz_print(r, run->whole_json, out);
	nsx_report_free(r);
	return rc;
}

static inline int fuzz_convert(const struct nsx_schema *schema,
			       const struct fuzz_run *run, struct nsx_err *err)
{
	struct nsx_convert_opts opts = {
		.activities = (1U << NSX_NACTIVITIES) - 1,
		.window = run->window, .threads = run->threads,
		.path = "fuzz"};
	struct nsx_convert_counts counts;
	struct nsx_buf warnings = {0}, notes = {0};
	char path[80];
	json_t *root;
	struct nsx_out out;
	int rc;

	snprintf(path, sizeof(path), "%s.json", fuzz_path());
	unlink(path);
	CHECK(!nsx_out_open(&(struct nsx_target){.path = path}, 2, &out, err));
	rc = nsx_convert(schema, &opts, &out, &counts, &warnings, &notes, err);
	if (!rc) {
		CHECK(!nsx_out_commit(&out, err));
		root = json_load_file(path, JSON_ALLOW_NUL, NULL);
		CHECK(root);
		json_decref(root);
	}
	nsx_out_done(&out);
	nsx_buf_done(&notes);
	nsx_buf_done(&warnings);
	unlink(path);
	return rc;
}

/* Opens and loads a file, runs every pass, prints every format and converts. Whatever the input,
 * this must end with a report or with one message. Returns the printed values, or the message.
 * Owner: the caller, free().
 */
static inline char *fuzz_whole(const char *path, const struct fuzz_run *run)
{
	struct nsx_err err = {0}, why = {0};
	struct nsx_schema schema;
	struct nsx_db *db;
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	int rc = nsx_db_open(path, &db, &err);

	if (!rc) {
		if (run->by_sqlite)
			nsx_db_force_sqlite(db);
		rc = nsx_schema_probe(db, &schema, &err);
		if (!rc) {
			rc = fuzz_report(&schema, run, path, out, &err);
			if (fuzz_convert(&schema, run, &why))
				CHECK(why.msg[0] && !strpbrk(why.msg, "\n\r"));
			nsx_schema_done(&schema);
		}
		nsx_db_close(db);
	}
	if (rc)
		CHECK(err.msg[0] && !strpbrk(err.msg, "\n\r"));
	fputs(err.msg, out);
	fclose(out);
	return text;
}

#endif
