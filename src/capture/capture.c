/* capture.c - a capture's warnings, the choice of nsys and its command line, and cleaning up. */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>
#include "capture/capture.h"
#include "emit/folder.h"

void nsx_capture_warn(struct nsx_capture *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsx_buf_adds(&c->warnings, nsx_arena_vprintf(c->arena, fmt, ap));
	nsx_buf_adds(&c->warnings, "\n");
	va_end(ap);
}

int nsx_capture_clean(const struct nsx_capture *c)
{
	int rc = c->work ? nsx_file_remove_tree(c->work) : 0;

	if (c->dir && !c->needs_record)
		nsx_unmake_dirs(c->dir, c->had);
	return rc;
}

void nsx_capture_done(struct nsx_capture *c)
{
	nsx_proc_end_done(&c->end);
	nsx_args_done(&c->extra);
	nsx_args_done(&c->argv);
	nsx_buf_done(&c->warnings);
	nsx_arena_free(c->arena);
}

/* The path with "%" doubled, because nsys treats "%" as the start of a pattern. */
static const char *escape_percent(struct nsx_capture *c, const char *path)
{
	char *to = nsx_arena_get(c->arena, 2 * strlen(path) + 1), *p = to;

	for (; *path; path++) {
		if (*path == '%')
			*p++ = '%';
		*p++ = *path;
	}
	return to;
}

/* Whether a word of the command sets CUDA_VISIBLE_DEVICES, as in "env CUDA_VISIBLE_DEVICES=0". */
static bool sets_devices(const char *const *command)
{
	static const char name[] = "CUDA_VISIBLE_DEVICES=";

	for (; *command; command++)
		if (strstr(*command, name))
			return true;
	return false;
}

/* Warns if other programs use a GPU, because their work slows the command down and is not recorded.
 */
static void warn_of_others(struct nsx_capture *c)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf names = {0};
	const char *root = getenv("NSX_PROC"); /* for tests */
	unsigned n = nsx_proc_gpu_users(root ? root : "/proc", &names);

	if (!n) /* the driver also sees other users' and containers' processes */
		n = nsx_nsys_gpu_users(c->arena, &names);
	if (n)
		nsx_capture_warn(c, "%u other process%s a GPU: %s; what %s makes the command "
				 "slower and is not in the capture", n, n > 1 ? "es use" : " uses",
				 names.p, n > 1 ? "they do" : "it does");
}

/* Composes "nsys start", without the preset's options: those were given to "nsys launch". */
static void start_session(struct nsx_capture *c, const char *output)
{
	nsx_args_add(&c->argv, c->nsys->path);
	nsx_args_add(&c->argv, "start");
	nsx_args_add(&c->argv, nsx_arena_printf(c->arena, "--session=%s", c->opts->session));
	nsx_args_add(&c->argv, nsx_arena_printf(c->arena, "--output=%s", output));
	for (size_t i = 0; i < c->extra.n; i++)
		nsx_args_add(&c->argv, c->extra.argv[i]);
}

int nsx_capture_equip(struct nsx_capture *c, struct nsx_err *err)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	const char *gpu = c->opts->gpu_id;
	const struct nsx_want want = {
		.preset = c->opts->preset,
		.extra = &c->extra,
		.gpu_id = gpu,
		.output = escape_percent(c, nsx_arena_printf(c->arena, "%s/trace", c->work)),
		.command = c->command,
	};
	size_t n;

	c->needs_record = true;
	c->nsys = nsx_nsys_list(c->arena, c->opts->nsys, &n);
	if (!n) {
		const char *path = getenv("NSYS_PATH");

		c->nsys = NULL;
		if (c->opts->nsys && !access(c->opts->nsys, F_OK) && access(c->opts->nsys, X_OK))
			return nsx_fail(err, NSX_E_IO, "cannot run '%s': %s", c->opts->nsys,
					strerror(errno));
		return nsx_fail(err, NSX_E_IO, "no nsys was found in %s; install NVIDIA Nsight "
				"Systems, or give its place with --nsys or NSYS_PATH",
				c->opts->nsys ? c->opts->nsys
				: path && *path ? "NSYS_PATH"
						: "PATH or the usual folders");
	}
	if (nsx_nsys_ask(c->nsys, c->arena, err))
		return err->rc;
	if (c->opts->session) {
		start_session(c, want.output);
		return 0;
	}
	if (gpu && visible && strcmp(gpu, visible))
		nsx_capture_warn(c, "CUDA_VISIBLE_DEVICES was '%s'; --gpu-id makes it '%s' for the "
			"command", visible, gpu);
	if (gpu && sets_devices(c->command))
		nsx_capture_warn(c, "the command sets CUDA_VISIBLE_DEVICES "
				 "itself, which --gpu-id does not change");
	warn_of_others(c);
	if (nsx_proc_count("/proc", "nsys"))
		nsx_capture_warn(c, "another nsys is running: captures may disturb each other");
	nsx_nsys_options(c->nsys, &want, c->arena, &c->argv, &c->warnings);
	return 0;
}
