/* notices.c - writes findings and gates where a CI pipeline looks for them. */
#include "cli/notices.h"
#include "emit/target.h"

#define OF_GITLAB "gl-code-quality-report.json"

/* Lists the requested files; ret has room for three. */
static size_t list_files(const struct nsx_notice_opts *o, struct nsx_target *ret,
			 struct nsx_out_file *files)
{
	const char *const paths[] = {
		o->annotations == NSX_ANNOTATE_GITLAB ? OF_GITLAB : NULL, o->junit,
		o->sarif};
	int (*const writers[])(const struct nsx_out_file *, FILE *, struct nsx_err *) = {
		nsx_write_gitlab, nsx_write_junit, nsx_write_sarif};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i]) {
			ret[n] = (struct nsx_target){.path = paths[i],
						     .is_ours = nsx_notices_is};
			files[n++] = (struct nsx_out_file){.write = writers[i]};
		}
	return n;
}

int nsx_notices_check(const struct nsx_notice_opts *o, bool is_taken, struct nsx_err *err)
{
	struct nsx_target to[3];
	struct nsx_out_file files[3];
	size_t n = list_files(o, to, files);

	if (is_taken && o->annotations == NSX_ANNOTATE_GITHUB)
		return nsx_fail(err, NSX_E_USAGE, "--annotations github prints lines on "
				"stdout: leave --json, --brief, --md and --html out");
	for (size_t i = 0; i < n; i++)
		if (nsx_target_check(&to[i], err))
			return err->rc;
	return 0;
}

int nsx_notices_deliver(const struct nsx_notice_opts *o, const struct nsx_notices *l,
			struct nsx_err *err)
{
	const struct nsx_out_file lines = {.subject = l};
	struct nsx_target to[3];
	struct nsx_out_file files[3];
	size_t n = list_files(o, to, files);

	for (size_t i = 0; i < n; i++) {
		to[i].inputs = &l->path;
		to[i].ninputs = 1;
		files[i].subject = l;
		if (nsx_target_fill(&to[i], &files[i], err))
			return err->rc;
	}
	return o->annotations == NSX_ANNOTATE_GITHUB ? nsx_write_github(&lines, stdout, err) : 0;
}
