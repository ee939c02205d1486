/* record.c - runs the command under nsys, until nsys ends.
 *
 * SIGINT makes nsys end the command and write its report. A second SIGINT makes nsys discard the
 * report, so it is sent only after a long wait, or if the user presses Ctrl-C again. While nsys
 * writes its result, only a long silence counts as hanging. When the duration has elapsed, the
 * command first gets SIGTERM and time to end by itself. NSX_CAPTURE_WAIT="60,90,300,30" sets the
 * limits first_s, again_s, silence_s and grace_s, for tests.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "capture/capture.h"

/* LEAVING: the command got SIGTERM; ASKED: nsys got SIGINT; ASKED_AGAIN: a second one. */
enum stage { RUNNING, LEAVING, ASKED, ASKED_AGAIN, KILLED };

struct recording {
	struct nsx_capture *c;
	enum stage stage;
	/* Time limits: after the first SIGINT, after the second, without output, after SIGTERM. */
	double first_s, again_s, silence_s, grace_s;
	double since_s;			    /* start of this stage          */
	double looked_s; /* last check of the space for raw data            */
	pid_t target;	    /* the command's process; 0: not seen yet       */
	double seen_s, gone_s; /* when target was first seen, and first missing; 0: not yet */
	double collected_s; /* when nsys began to write its result; valid if c->raw is set */
	const char *recorded_to; /* raw data file that nsys has open; NULL: unknown */
	int signals;	    /* number of signals to us so far               */
};

/* Notes the end of the recording, when nsys prints "Generating 'PATH.qdstrm'". */
static void note_progress(struct recording *r, const struct nsx_proc_end *e)
{
	static const char mark[] = "Generating '", suffix[] = ".qdstrm'";
	const char *s = nsx_proc_find(&e->out, mark, NULL);

	for (; !r->c->raw && s; s = nsx_proc_find(&e->out, mark, s)) {
		size_t n;

		s += strlen(mark);
		n = strcspn(s, "'\n") + 1;
		if (n < strlen(suffix) || strncmp(s + n - strlen(suffix), suffix, strlen(suffix)))
			continue; /* the line is incomplete, or the command printed it */
		r->collected_s = nsx_now_s();
		r->c->raw = nsx_arena_strndup(r->c->arena, s, n - 1);
	}
}

/* Notes start and end of the command's process: nsys needs seconds before and after it. Also notes
 * the raw data file that nsys has open, because nsys prints its name only at the end.
 */
static void note_target(struct recording *r, const struct nsx_proc_end *e)
{
	enum { LOOK_S = 30 };
	double now = nsx_now_s();

	if (r->target && r->gone_s <= 0 && kill(r->target, 0))
		r->gone_s = now;
	if (now - e->began_s > LOOK_S)
		return;
	if (!r->recorded_to)
		r->recorded_to = nsx_proc_raw_data(r->c->arena);
	if (r->target)
		return;
	r->target = nsx_proc_descendant(r->c->command[0]);
	r->seen_s = now;
}

static double target_seconds(const struct recording *r, const struct nsx_proc_end *e)
{
	double end_s = r->c->raw ? r->collected_s : e->began_s + e->seconds;

	return (r->gone_s > 0 ? r->gone_s : end_s) - (r->target ? r->seen_s : e->began_s);
}

/* Whether the current stage has waited too long. */
static bool is_overdue(const struct recording *r, const struct nsx_proc_end *e)
{
	double now = nsx_now_s();

	if (r->c->raw)
		return now - e->last_s > r->silence_s && now - r->since_s > r->silence_s;
	switch (r->stage) {
	case RUNNING:
		return r->c->opts->duration_s > 0 && now - e->began_s > r->c->opts->duration_s;
	case LEAVING:
		return now - r->since_s > r->grace_s;
	case ASKED:
		return now - r->since_s > r->first_s;
	case ASKED_AGAIN:
		return now - r->since_s > r->again_s;
	case KILLED:
		break;
	}
	return false;
}

/* Whether the space for raw data is exhausted. nsys may then hang, so the limits are shortened. */
static bool record_is_full(struct recording *r)
{
	enum { FULL_MB = 8, EVERY_S = 1, HURRIED_S = 10 };
	const char *most = getenv("NSX_CAPTURE_FULL_MB"); /* for tests */
	double now = nsx_now_s();
	int64_t have;

	if (r->c->full_tmp || r->c->raw || now - r->looked_s < EVERY_S)
		return false;
	r->looked_s = now;
	have = nsx_file_room_mb(nsx_capture_tmp());
	if (have < 0 || have >= (most ? atoll(most) : FULL_MB))
		return false;
	r->c->full_tmp = nsx_capture_tmp();
	r->first_s = NSX_MIN(r->first_s, HURRIED_S);
	r->again_s = NSX_MIN(r->again_s, HURRIED_S);
	r->silence_s = NSX_MIN(r->silence_s, HURRIED_S);
	return true;
}

/* Sends SIGTERM to the command, or to the group it leads. False: the command was not seen. */
static bool terminate_target(const struct recording *r)
{
	if (!r->target || r->gone_s > 0)
		return false;
	return !kill(getpgid(r->target) == r->target ? -r->target : r->target, SIGTERM);
}

static int watch_recording(void *ctx, const struct nsx_proc_end *e)
{
	struct recording *r = ctx;
	bool asked = nsx_proc_signals() > r->signals, full;

	note_progress(r, e);
	note_target(r, e);
	r->signals = nsx_proc_signals();
	if (r->stage == KILLED)
		return SIGKILL;
	full = record_is_full(r);
	if (!asked && !full && !is_overdue(r, e))
		return 0;
	if (r->stage == RUNNING) {
		r->c->ended = asked		  ? NSX_ENDED_SIGNAL
			      : r->c->raw || full ? NSX_ENDED_HUNG
						  : NSX_ENDED_DURATION;
		r->stage = LEAVING;
		r->since_s = nsx_now_s();
		if (r->c->ended == NSX_ENDED_DURATION && terminate_target(r))
			return 0;
	}
	r->stage++;
	r->since_s = nsx_now_s();
	if (r->stage == KILLED) {
		r->c->ended = NSX_ENDED_HUNG;
		return SIGKILL;
	}
	return SIGINT;
}

int nsx_capture_target_code(const struct nsx_capture *c)
{
	bool by_option = nsx_args_have(&c->extra, "duration", 'd') ||
			 nsx_args_have(&c->extra, "capture-range", 'c');

	if (c->ended != NSX_ENDED_ALONE || (by_option && c->end.code == 128 + SIGTERM))
		return -1; /* we made nsys end it */
	return c->end.code;
}

/* Sessions -------------------------------------------------------------------*/

static int watch_session_stop(void *ctx, const struct nsx_proc_end *e)
{
	struct recording *r = ctx;

	note_progress(r, e);
	if (is_overdue(r, e))
		r->c->ended = NSX_ENDED_HUNG;
	return r->c->ended == NSX_ENDED_HUNG || nsx_proc_signals() > r->signals + 1 ? SIGKILL : 0;
}

static int start_session_recording(struct nsx_capture *c, struct nsx_err *err)
{
	const struct nsx_proc p = {.argv = c->argv.argv, .limit_s = 60};
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end = {0};

	if (nsx_proc_run(&p, &end, err))
		return err->rc;
	if (!end.code)
		return 0;
	return nsx_fail(err, NSX_E_IO, "nsys cannot record session '%s': %s; "
			"start the service with: nsys launch --session-new=%s "
			"COMMAND", c->opts->session, nsx_proc_words(&end, c->arena),
			c->opts->session);
}

/* Records a session. Its service runs before, during and after the recording. */
static int record_session(struct nsx_capture *c, struct recording *r, struct nsx_err *err)
{
	const char *const argv[] = {
		c->nsys->path, "stop",
		nsx_arena_printf(c->arena, "--session=%s", c->opts->session),
		NULL};
	const struct nsx_proc p = {.argv = argv, .passthrough = true,
				   .watch = watch_session_stop, .ctx = r};
	double began;
	int rc;

	if (start_session_recording(c, err))
		return err->rc;
	began = nsx_now_s();
	while (nsx_proc_signals() == r->signals &&
	       (c->opts->duration_s <= 0 || nsx_now_s() - began < c->opts->duration_s))
		usleep(50000);
	c->target_s = nsx_now_s() - began;
	c->ended = nsx_proc_signals() > r->signals ? NSX_ENDED_SIGNAL : NSX_ENDED_DURATION;
	r->stage = ASKED;
	r->since_s = nsx_now_s();
	rc = nsx_proc_run(&p, &c->end, err);
	if (!rc)
		note_progress(r, &c->end);
	return rc;
}

int nsx_capture_record(struct nsx_capture *c, struct nsx_err *err)
{
	struct recording r = {
		.c = c, .first_s = 60, .again_s = 90, .silence_s = 300, .grace_s = 30,
		.looked_s = nsx_now_s(),
	};
	const char *limits = getenv("NSX_CAPTURE_WAIT");
	const struct nsx_proc p = {
		.argv = c->argv.argv,
		.env = c->opts->gpu_id
			       ? nsx_arena_printf(c->arena, "CUDA_VISIBLE_DEVICES=%s",
						  c->opts->gpu_id)
			       : NULL,
		.passthrough = true,
		.watch = watch_recording,
		.ctx = &r,
	};
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf names = { 0 };

	if (limits)
		sscanf(limits, "%lf,%lf,%lf,%lf", &r.first_s, &r.again_s, &r.silence_s, &r.grace_s);
	r.signals = nsx_proc_signals();
	if (c->opts->session)
		return record_session(c, &r, err);
	if (nsx_proc_run(&p, &c->end, err))
		return err->rc;
	note_progress(&r, &c->end);
	c->target_s = target_seconds(&r, &c->end);
	if (!c->raw)
		c->raw = r.recorded_to;
	nsx_proc_sweep(c->ended == NSX_ENDED_HUNG ? 0 : 2, &names);
	if (names.n)
		nsx_capture_warn(c, "ended what was still running: %s", names.p);
	return 0;
}
