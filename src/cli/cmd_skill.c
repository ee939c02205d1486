/* cmd_skill.c - this version's skill files, for agents that read them. */
#include <stdio.h>
#include "agent/skill.h"
#include "base/jsonw.h"
#include "cli/cmd_common.h"
#include "emit/emit.h"

struct args {
	const char *out;
};
static const struct nsx_opt opts[] = {
	NSX_OPT(struct args, 'o', "out", NULL, "DIR", STR, out,
		"write the files into this folder; without it SKILL.md is printed"),
};

static int cmd_skill_write_file(const struct nsx_out_file *f, FILE *out,
				struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_skill_file *s = f->subject;

	fputs(s->text, out);
	return 0;
}

/* Records the version of the files. */
static int cmd_skill_write_record(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_json_document(0, NULL);

	(void)f;
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

static int cmd_skill_write_folder(const char *dir, struct nsx_err *err)
{
	enum { MOST = 16 };
	struct nsx_out_file files[MOST + 1];
	struct nsx_folder f = {.dir = dir, .files = files, .threads = 1};

	for (unsigned i = 0; i < nsx_nskill_files && i < MOST; i++) {
		struct nsx_out_file *x = &files[f.nfiles++];

		*x = (struct nsx_out_file){.write = cmd_skill_write_file,
					   .subject = &nsx_skill_files[i]};
		snprintf(x->name, sizeof(x->name), "%s", nsx_skill_files[i].name);
	}
	files[f.nfiles++] = (struct nsx_out_file){.name = "skill.json",
						  .write = cmd_skill_write_record};
	return nsx_folder_write(&f, err);
}

static int cmd_skill_run(void *args, int n, char **operands NSX_UNUSED, struct nsx_err *err)
{
	const struct args *a = args;

	if (n)
		return nsx_fail(err, NSX_E_USAGE, "skill takes no operand: name "
				"the folder with -o DIR");
	if (a->out && cmd_skill_write_folder(a->out, err))
		return err->rc;
	if (a->out)
		printf("Wrote skill to: %s/SKILL.md\n", a->out);
	else
		fputs(nsx_skill_files[0].text, stdout);
	return 0;
}

const struct nsx_cmd nsx_cmd_skill = {
	.name = "skill",
	.usage = "[-o DIR]",
	.summary = "write instructions for agents that use this command line",
	.doc = "Writes SKILL.md and the files that it refers to, in the form that agents read: "
	       "how to capture, explain, ask, change and compare with this version of the "
	       "program. Replaces no file of yours.",
	.examples = "nsys-explain skill -o .claude/skills/nsys-explain",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args),
	.run = cmd_skill_run,
};
