/* job.c - converts traces to a file, one after the other, and again with less content if the file
 * became too large.
 */
#include <errno.h>
#include "convert/several.h"
#include "convert/job.h"
#include "schema/viewscan.h"

void nsx_converted_done(struct nsx_converted *c)
{
	nsx_buf_done(&c->notes);
	nsx_buf_done(&c->warnings);
}

bool nsx_convert_is(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	if (n > 3 && !strcmp(path + n - 3, ".gz"))
		n -= 3;
	return n >= m && !strncmp(path + n - m, suffix, m);
}

/* Warns that a file changed while it was read. This warning replaces the file's others, which
 * describe the earlier content.
 */
static int warn_of_changed_file(struct nsx_buf *warnings, size_t had, const char *path, int rc,
				struct nsx_err *err)
{
	if (rc)
		return nsx_fail(err, rc, "'%s': " NSX_CHANGED, path);
	if (had < warnings->n)
		warnings->p[warnings->n = had] = '\0';
	nsx_buf_adds(warnings, NSX_CHANGED "\n");
	return 0;
}

static int convert_trace(const char *path, const struct nsx_convert_opts *o,
			 struct nsx_out *out, struct nsx_converted *ret, struct nsx_err *err)
{
	struct nsx_convert_counts counts;
	struct nsx_schema s;
	int rc = nsx_schema_open(path, &s, err);
	size_t had = ret->warnings.n;

	if (rc)
		return rc;
	rc = nsx_convert(&s, o, out, &counts, &ret->warnings, &ret->notes, err);
	if (!rc && !o->is_chosen) /* what was not asked for is not read either */
		rc = nsx_schema_look_over(&s, o->threads, err);
	for (size_t i = 0; !rc && nsx_schema_loss(&s, i); i++)
		nsx_buf_printf(&ret->warnings, "%s\n", nsx_schema_loss(&s, i));
	if (nsx_db_has_changed(s.db) && (!rc || nsx_is_damage(rc)))
		rc = warn_of_changed_file(&ret->warnings, had, path, rc, err);
	nsx_schema_close(&s);
	if (!rc)
		nsx_convert_add_counts(&ret->counts, &counts);
	return rc;
}

/* An archive -----------------------------------------------------------------*/

static void member_name(const struct nsx_convert_job *job, size_t i, struct nsx_buf *b)
{
	const char *base = nsx_base_name(job->traces[i]);
	size_t n = NSX_MIN(strcspn(base, "."), 64u);

	nsx_buf_printf(b, "%zu-", i);
	for (size_t k = 0; k < n; k++)
		nsx_buf_add(b, (unsigned char)base[k] > ' ' &&
			       (unsigned char)base[k] < 127 && base[k] != '"' &&
			       base[k] != '\\' ? &base[k] : "_", 1);
	nsx_buf_adds(b, ".pftrace");
}

/* Writes the machine of each member. Times are already on one clock, so readers that ignore the
 * manifest show them right.
 */
static void put_manifest(const struct nsx_convert_job *job,
			 const struct nsx_trace_place *places, struct nsx_out *out)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0}, first = {0};
	size_t at = nsx_tar_begin(out);

	member_name(job, 0, &first);
	nsx_buf_adds(&b, "{\"perfetto_manifest\":{\"version\":1,\"producer\":"
			 "\"nsys-explain " NSX_VERSION "\",\"files\":[");
	for (size_t i = 0; i < job->n; i++) {
		nsx_buf_adds(&b, i ? ",\n{\"path\":\"" : "\n{\"path\":\"");
		member_name(job, i, &b);
		nsx_buf_printf(&b, "\",\"machine\":{\"name\":\"host %u\"}", places[i].machine - 1);
		if (places[i].machine != places[0].machine)
			nsx_buf_printf(&b, ",\"clocks\":{\"clock\":\"BOOTTIME\","
				       "\"is\":{\"file\":\"%s\",\"clock\":\"BOOTTIME\"}}", first.p);
		nsx_buf_adds(&b, "}");
	}
	nsx_buf_adds(&b, "\n]}}\n");
	nsx_out_add(out, b.p, b.n);
	nsx_tar_end(out, at, "perfetto_manifest.json");
}

/* Output ---------------------------------------------------------------------*/

static int convert_all(const struct nsx_convert_job *job, const struct nsx_trace_place *places,
		       struct nsx_convert_opts *o, struct nsx_out *out,
		       struct nsx_converted *ret, struct nsx_err *err)
{
	bool is_tar = nsx_convert_is(job->to, ".tar");
	int rc = 0;

	if (is_tar)
		put_manifest(job, places, out);
	for (size_t i = 0; i < job->n && !rc && !out->error; i++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = {0};
		size_t at = 0;

		member_name(job, i, &name);
		o->path = job->traces[i];
		o->place = places[i];
		if (is_tar) {
			o->place.machine = 0; /* the manifest gives the machine */
			o->place.names_no_gpus = false;
			at = nsx_tar_begin(out);
		}
		rc = convert_trace(job->traces[i], o, out, ret, err);
		if (is_tar)
			nsx_tar_end(out, at, name.p);
	}
	if (is_tar)
		nsx_tar_close(out);
	return rc;
}

/* Converts all traces, without the content that the options leave out. Returns 1 if the file became
 * too large.
 */
static int try_conversion(const struct nsx_convert_job *job,
			  const struct nsx_trace_place *places, struct nsx_converted *ret,
			  struct nsx_err *err)
{
	struct nsx_convert_opts o = job->opts;
	struct nsx_out out;
	bool is_too_large;
	const struct nsx_target to = {.path = job->to, .inputs = job->traces,
				      .ninputs = job->n};
	int rc = nsx_out_open(&to, o.threads, &out, err);

	if (rc)
		return rc;
	out.max_bytes = job->max_bytes;
	o.shed = ret->shed;
	if (o.shed >> NSX_SHED_OSRT & 1)
		o.activities &= ~(1U << NSX_A_OSRT | 1U << NSX_A_SCHED | 1U << NSX_A_QUEUE);
	ret->counts = (struct nsx_convert_counts){0};
	nsx_buf_clear(&ret->warnings);
	rc = convert_all(job, places, &o, &out, ret, err) ?: nsx_out_commit(&out, err);
	is_too_large = rc && job->max_bytes && out.error == EFBIG;
	nsx_out_done(&out);
	return is_too_large ? 1 : rc;
}

int nsx_convert_run(const struct nsx_convert_job *job,
		    struct nsx_converted *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_trace_place *places =
		nsx_try_alloc(job->n, sizeof(*places), "traces", err);
	size_t had;
	int rc = 0;

	*ret = (struct nsx_converted){.shed = 0};
	if (!places)
		return err->rc;
	if (job->n > 1)
		rc = nsx_place_traces(job->traces, job->n, job->opts.threads, places,
			       &ret->notes, err);
	had = ret->notes.n;
	rc = rc ?: try_conversion(job, places, ret, err);
	for (unsigned i = 0; i < NSX_NSHEDS && rc == 1; i++) {
		ret->shed |= 1U << i;
		if (had < ret->notes.n)
			ret->notes.p[ret->notes.n = had] = '\0';
		rc = try_conversion(job, places, ret, err);
	}
	return rc == 1 ? nsx_fail(err, NSX_E_IO, "'%s' would be larger than %lld bytes even "
				  "without what can go; choose less with --window or "
				  "--only", job->to, (long long)job->max_bytes) : rc;
}
