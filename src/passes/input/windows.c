/* windows.c - the parts of the trace that the numbers cover. */
#include "passes/pass.h"

static void windows_put_window(struct nsx_section *out, const char *key, const struct nsx_window *w)
{
	if (w->start_ns == w->end_ns) {
		nsx_put(out, key, nsx_null());
		return;
	}
	nsx_put(out, nsx_say(out, "%s.start_ns", key), nsx_int(w->start_ns));
	nsx_put(out, nsx_say(out, "%s.end_ns", key), nsx_int(w->end_ns));
}

static void put_steady(struct nsx_section *out, const struct nsx_steady *s)
{
	const char **excluded;

	windows_put_window(out, "steady", &s->window);
	if (!s->method)
		return;
	excluded = nsx_arena_get(out->arena, (s->nexcluded + 1) * sizeof(*excluded));
	for (size_t i = 0; i < s->nexcluded; i++)
		excluded[i] = nsx_say(out, "%s", s->excluded[i]);
	nsx_put(out, "steady.method", nsx_string(nsx_steady_methods[s->method]));
	nsx_put(out, "steady.confidence", nsx_string(nsx_confidence_names[s->confidence]));
	nsx_put(out, "steady.excluded", nsx_list(excluded));
}

static const char *windows_describe(struct nsx_section *out, const struct nsx_window *w)
{
	return nsx_say(out, "%s, %s", nsx_text_window(out->arena, w),
		       nsx_say_time(out, w->end_ns - w->start_ns));
}

static const char *say_part(struct nsx_section *out, const struct nsx_trace *t)
{
	struct nsx_window w = nsx_read_window(t);

	if (t->schema->reach->is_on)
		return nsx_say(out, ". From tables sorted by time, only rows that begin in %s are "
			       "read (--reach)", nsx_text_window(out->arena, &w));
	return nsx_is_in_part(t) ?
		nsx_say(out, ". Events that reach into %s are read, margins for learning typical "
			"behaviour, and what else the window needs; other rows are only "
			"scanned", nsx_text_window(out->arena, &w)) : "";
}

static void say_steady(struct nsx_section *out, const struct nsx_steady *s)
{
	static const char *const how[NSX_NSTEADY] = {
		[NSX_STEADY_ITERATIONS] = "the longest run of similar iterations",
		[NSX_STEADY_ACTIVITY] = "the longest stretch in which the GPU is mostly busy",
		[NSX_STEADY_PHASE] = "a phase named by an NVTX range, without the idle time at its "
				     "ends",
		[NSX_STEADY_TRIMMED] = "all of it, without the idle time at its ends",
		[NSX_STEADY_USER] = "the requested window",
	};
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (size_t i = 0; i < s->nexcluded; i++)
		nsx_buf_printf(&b, "; %s%s", i ? "" : "left out: ", s->excluded[i]);
	if (s->method)
		nsx_md_bullet(out, "**Steady window**, on which findings are judged: %s; %s "
			      "(confidence %s)%s",
			      windows_describe(out, &s->window), how[s->method],
			      nsx_confidence_names[s->confidence], b.n ? b.p : "");
}

static int windows_run(const struct nsx_run *run, struct nsx_section *out,
		       struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = run->trace;

	if (t->full.start_ns == t->full.end_ns) {
		nsx_put(out, "full.start_ns", nsx_null());
		nsx_put(out, "full.end_ns", nsx_null());
	} else {
		windows_put_window(out, "full", &t->full);
	}
	put_steady(out, &run->facts->steady);
	windows_put_window(out, "user", &t->user);
	nsx_md_heading(out, "Appendix");
	if (t->full.start_ns < t->full.end_ns)
		nsx_md_bullet(out, "**Full window**, from the first start to the last end of %s: "
			      "%s%s",
			      t->ndevices ? "any GPU work" :
			      "any API call, NVTX range or OS call that starts at 0 or later",
			      windows_describe(out, &t->full),
			      nsx_has_window(t) ||
					      !t->ndevices ? "" :
			      ". GPU times and shares refer to it; calls and ranges of the host "
			      "are counted over the whole trace");
	if (nsx_has_window(t))
		nsx_md_bullet(out, "**Requested window**, which all tables cover: "
			      "%s%s", windows_describe(out, &t->user), say_part(out, t));
	say_steady(out, &run->facts->steady);
	return 0;
}

NSX_DEFINE_PASS(windows, .is_top = true,
	.summary = "the full, the steady and the requested window",
	.caveat = "times are integer nanoseconds of the trace's own clock; spans are half-open; "
		  "ms, us and s are decimal, GB is 10^9 bytes. An event that begins before a "
		  "window counts with its part inside, and is not counted as an event. A device is "
		  "busy while any kernel, copy, memset or graph replay of any process runs on it; "
		  "idle is the rest of the window. Sums over concurrent work may exceed the wall "
		  "clock; unions (busy, exclusive, exposed, idle) do not. Percentiles interpolate "
		  "linearly at (n - 1) q. Calls and GPU work are matched by (process, correlation "
		  "id); the outermost call counts",
	.doc = "full: from the first start to the last end of any GPU work; without GPU work, of "
	       "any API, NVTX or OS event that starts at 0 or later. steady: the window on which "
	       "findings are judged, the steady part of the run phase with most compute. It is the "
	       "longest run of three or more similar iterations (within 5 % of the median or 3 x "
	       "1.4826 x MAD). Such a run leaves out the first and the last iteration. It ends at "
	       "an iteration that loads modules for more than 1 % of its time, or differs by more "
	       "than a quarter (unless a tenth of all do, or these return three times). The last "
	       "part of the run may be three or more iterations that are less similar. Without "
	       "such a run it is all of a phase that an NVTX range names, without the idle time of "
	       "all devices at its ends. Otherwise the phase is divided into 256 equal bins. "
	       "Active bins are at least half as busy as the 80th percentile. The steady window is "
	       "the stretch in which active bins outnumber the others most, if it is a fifth of "
	       "the phase or more. Otherwise it is the phase without the idle time of all devices "
	       "at its ends. user: requested with --window; it is then the steady window too.");
