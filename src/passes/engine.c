/* engine.c - reads the files in which the user describes the traced engine. */
#include "passes/engine.h"
#include "passes/nvtx/phase.h"

int nsx_engine_read(struct nsx_engine *e, struct nsx_opts *opts, struct nsx_err *err)
{
	int rc = e->classes_path ? nsx_phase_map_read(e->classes_path, &e->classes, err) : 0;

	if (!rc && e->model_path)
		rc = nsx_llm_read(e->model_path, &e->model, err);
	if (!rc && e->steps_path)
		rc = nsx_step_patterns_read(e->steps_path, &e->steps, err);
	opts->kernel_classes = e->classes;
	opts->model = e->model_path ? &e->model : NULL;
	opts->steps_from = e->steps;
	return rc;
}

void nsx_engine_say(const struct nsx_engine *e, struct nsx_buf *b)
{
	const struct {
		const char *option, *path;
	} v[] = {{" --kernel-classes", e->classes_path}, {" --model", e->model_path},
		 {" --steps-from", e->steps_path}};

	for (unsigned i = 0; i < ARRAY_LEN(v); i++)
		if (v[i].path) {
			nsx_buf_adds(b, v[i].option);
			nsx_buf_add_word(b, v[i].path);
		}
}

void nsx_engine_done(struct nsx_engine *e)
{
	nsx_phase_map_free(e->classes);
	nsx_step_patterns_free(e->steps);
}
