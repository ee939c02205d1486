/* derive.c - orders the rows, then derives which call launched which GPU operation, the class of
 * each call, and how rows nest.
 */
#include "schema/viewscan.h"
#include "trace/load.h"

/* Order -------------------------------------------------------------------*/

/* Compares two operations of the same kind, device and start by their content, so that results
 * never depend on the file's row order.
 */
static int cmp_op_content(const struct nsx_loader *l, uint32_t a, uint32_t b)
{
	const struct nsx_ops_rw *o = &l->ops;
	int c = NSX_CMP(o->stream[a], o->stream[b]);

	if (!c && o->kind[a] == NSX_OP_KERNEL)
		c = nsx_str_cmp(l->t->strings, l->t->shape_name[o->detail[a]],
				l->t->shape_name[o->detail[b]]);
	if (!c)
		c = NSX_CMP(o->call[a], o->call[b]); /* `call` still holds the correlation id */
	if (!c && (o->kind[a] == NSX_OP_MEMCPY || o->kind[a] == NSX_OP_MEMSET))
		c = memcmp(&l->copies[o->detail[a]], &l->copies[o->detail[b]],
			   offsetof(struct nsx_copy, src_device));
	return c;
}

/* The device of an operation. The second entry of a peer copy belongs to the other device. */
static uint32_t device_of_op(const void *ctx, uint32_t i)
{
	const struct nsx_loader *l = ctx;
	uint32_t d = l->t->stream[l->ops.stream[i]].device;

	if (l->ops.flags[i] & NSX_OP_PEER) {
		const struct nsx_copy *c = &l->copies[l->ops.detail[i]];

		return c->src_device == d ? c->dst_device : c->src_device;
	}
	return d;
}

NSX_ROW_ORDER(cmp_ops, ops, OF(device_of_op), UP(start_ns), UP(end_ns), UP(kind),
	      BY(cmp_op_content));

int nsx_sort_ops(struct nsx_loader *l, struct nsx_err *err)
{
	return nsx_colset_sort(&l->op_set, device_of_op, l->t->ndevices, cmp_ops, l, err);
}

NSX_THREAD_ORDER(derive_cmp_calls, calls, UP(start_ns), DOWN(end_ns));
/* Ranges of equal extent nest by domain and name, because the file's row order means nothing. */
NSX_THREAD_ORDER(cmp_nvtx, nvtx, UP(kind), UP(start_ns), DOWN(end_ns), UP(domain), NAME(name));
NSX_THREAD_ORDER(cmp_overheads, t->overheads, UP(start_ns));

static int sort_ranges(struct nsx_loader *l, struct nsx_err *err)
{
	return NSX_SORT_BY_THREAD(l, &l->nvtx_set, cmp_nvtx, err);
}

static const struct nsx_window no_hull = {INT64_MAX, INT64_MIN};

void nsx_set_hull(struct nsx_trace *t, const struct nsx_window *gpu,
		  const struct nsx_window *host, const struct nsx_window *early)
{
	struct nsx_window all = *gpu;

	t->has_gpu_work = gpu->start_ns <= gpu->end_ns;
	t->session_start_ns = gpu->start_ns < 0 ? INT64_MIN : 0;
	nsx_widen(&all, host->start_ns, host->end_ns);
	if (t->session_start_ns < 0)
		nsx_widen(&all, early->start_ns, early->end_ns);
	if (all.start_ns <= all.end_ns) {
		t->first_ns = all.start_ns;
		t->last_ns = all.end_ns;
		t->full = t->has_gpu_work ? *gpu : *host;
	}
}

static void find_hull(struct nsx_loader *l)
{
	/* host[1] covers the host events before time 0. */
	struct nsx_window gpu = no_hull, host[2] = {no_hull, no_hull};

	for (size_t i = 0; i < l->call_set.n; i++)
		nsx_widen(&host[l->calls.start_ns[i] < 0], l->calls.start_ns[i],
			  l->calls.end_ns[i]);
	for (size_t i = 0; i < l->nvtx_set.n; i++)
		nsx_widen(&host[l->nvtx.start_ns[i] < 0], l->nvtx.start_ns[i],
			  l->nvtx.end_ns[i]);
	for (size_t i = 0; i < l->op_set.n; i++)
		nsx_widen(&gpu, l->ops.start_ns[i], l->ops.end_ns[i]);
	nsx_set_hull(l->t, &gpu, &host[0], &host[1]);
}

/* A range that was never closed lasts until the end of the trace. */
static void close_ranges(struct nsx_loader *l)
{
	for (size_t i = 0; i < l->nvtx_set.n; i++)
		if (l->nvtx.flags[i] & NSX_NVTX_OPEN) {
			l->nvtx.end_ns[i] = NSX_MAX(l->t->last_ns, l->nvtx.start_ns[i]);
			l->t->defects.open_ranges++;
		}
	if (l->portion.is_on)
		l->t->defects.open_ranges = l->portion.nopen;
}

/* Turns push/pop ranges that end after their enclosing range into start/end ranges, because ranges
 * of one thread and domain must nest. Returns their number. Scratch: parent, by range; top, by
 * domain.
 */
static size_t unstack_crossing_ranges(struct nsx_loader *l, uint32_t *parent, uint32_t *top)
{
	struct nsx_nvtx_rw *x = &l->nvtx;
	uint32_t thread = NSX_NONE;
	size_t n = 0;

	for (uint32_t i = 0; i < l->nvtx_set.n; i++) {
		uint32_t *at = &top[x->domain[i]];

		if (x->kind[i] != NSX_NVTX_STACK)
			continue;
		if (x->thread[i] != thread) {
			thread = x->thread[i];
			memset(top, 0xff, l->t->ndomains * sizeof(*top));
		}
		while (*at != NSX_NONE && x->end_ns[*at] <= x->start_ns[i])
			*at = parent[*at];
		if (*at != NSX_NONE && x->end_ns[i] > x->end_ns[*at]) {
			x->kind[i] = NSX_NVTX_ASYNC;
			x->flags[i] |= NSX_NVTX_CROSSING;
			n++;
			continue;
		}
		parent[i] = *at;
		*at = i;
	}
	return n;
}

static int unstack_and_resort(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	uint32_t *parent, *top;
	int rc = nsx_new_arrays(a, l->nvtx_set.n, "range parents", err, parent);

	nsx_few(top, a, l->t->ndomains);
	if (!rc)
		l->t->defects.crossing_ranges = unstack_crossing_ranges(l, parent, top);
	nsx_arena_free(a);
	if (rc || !l->t->defects.crossing_ranges)
		return rc;
	/* Ranges that cross the crossing range may be missing from a partial read, so all rows
	 * must be read.
	 */
	return l->portion.is_on ? NSX_PRESUMED_WRONG : sort_ranges(l, err);
}

/* The window ------------------------------------------------------------------*/

/* Reads "60.331s" on the trace's clock, exact to the nanosecond. */
static bool parse_clock_seconds(const char *s, size_t n, int64_t *ret)
{
	int64_t ns = 0, unit = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '.') {
			unit = 1000000000;
		} else if (unit == 1) {
			continue; /* ignores digits beyond nanoseconds */
		} else {
			if (ns > NSX_TIME_MAX / 10)
				return false;
			ns = 10 * ns + (s[i] - '0');
			unit /= unit ? 10 : 1;
		}
	}
	return !__builtin_mul_overflow(ns, unit ? unit : 1000000000, ret);
}

/* Reads "1.5", seconds after the first event; or "1500ns" or "60.331s", a time on the trace's clock
 * that may be negative.
 */
static bool parse_instant(const char *s, const char **ret_end, int64_t first, int64_t *ret)
{
	char *end;
	long long ns = strtoll(s, &end, 10);
	bool is_below = *s == '-';
	double seconds;

	if (end != s && !strncmp(end, "ns", 2)) {
		*ret = ns;
		*ret_end = end + 2;
		return true;
	}
	s += is_below;
	/* strtod would swallow the first dot of "1..2". */
	size_t n = strspn(s, "0123456789");

	if (s[n] == '.' && s[n + 1] != '.')
		n += 1 + strspn(s + n + 1, "0123456789");
	if (!n || n > 24)
		return false;
	if (s[n] == 's') {
		*ret_end = s + n + 1;
		if (!parse_clock_seconds(s, n, ret))
			return false;
		*ret = is_below ? -*ret : *ret;
		return true;
	}
	if (is_below) /* no event precedes the first */
		return false;
	seconds = strtod(s, NULL);
	if (seconds >= 1e9)
		return false;
	*ret = first + (int64_t)(seconds * 1e9 + 0.5);
	*ret_end = s + n;
	return true;
}

bool nsx_instant_parse(const char *text, int64_t first_ns, int64_t *ret)
{
	const char *end;

	return parse_instant(text, &end, first_ns, ret) && !*end;
}

int nsx_window_parse(const char *text, int64_t first_ns,
		     struct nsx_window *ret, struct nsx_err *err)
{
	const char *p = text;

	if (!parse_instant(p, &p, first_ns, &ret->start_ns) ||
	    strncmp(p, "..", 2) ||
	    !parse_instant(p + 2, &p, first_ns, &ret->end_ns) || *p)
		return nsx_fail(err, NSX_E_USAGE, "cannot read the window '%s': give START..END as "
				"the report prints it (60.1s..60.2s), in seconds from the first "
				"event (1..2), in the trace's nanoseconds (5ns..9ns); explain also "
				"takes nvtx:NAME, phase:NAME, iteration:N and step:KIND", text);
	if (ret->start_ns >= ret->end_ns)
		return nsx_fail(err, NSX_E_USAGE, "the window '%s' is empty: its end must come "
				"after its start", text);
	return 0;
}

/* Orders operations by start. The column `call` still holds the correlation id. */
NSX_ROW_ORDER(cmp_op_starts, ops, UP(start_ns), UP(kind), UP(call));

/* Notes each device's last operation before the window and first operation after it, where the
 * idle time at the window's edges begins and ends.
 */
static void note_work_outside_window(struct nsx_loader *l, const struct nsx_window *w)
{
	const struct nsx_ops_rw *o = &l->ops;
	struct nsx_trace *t = l->t;
	uint32_t *next;

	nsx_few(next, l->index_arena, t->ndevices);
	nsx_few(l->next, l->index_arena, t->ndevices);
	memset(next, 0xff, t->ndevices * sizeof(*next)); /* sets all to NSX_NONE */
	for (uint32_t d = 0; d < t->ndevices; d++)
		t->device[d].beyond = (struct nsx_beyond){
			INT64_MIN, INT64_MAX, NSX_NONE, false};
	for (uint32_t i = 0; i < l->op_set.n; i++) {
		uint32_t d = device_of_op(l, i);
		int64_t *dry_ns = &t->device[d].beyond.dry_ns;

		if (o->start_ns[i] == o->end_ns[i])
			continue;
		if (o->end_ns[i] <= w->start_ns)
			*dry_ns = NSX_MAX(*dry_ns, o->end_ns[i]);
		else if (o->start_ns[i] >= w->end_ns &&
			 (next[d] == NSX_NONE || cmp_op_starts(l, i, next[d]) < 0))
			next[d] = i;
	}
	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_beyond *x = &t->device[d].beyond;
		uint32_t i = next[d];

		if (i == NSX_NONE) {
			x->next_ns = t->read.end_ns;
			continue;
		}
		x->next_ns = o->start_ns[i];
		x->is_migration =
			o->kind[i] == NSX_OP_MEMCPY &&
			nsx_copy_is_migration(l->copies[o->detail[i]].copy_kind);
		l->next[d] = (struct nsx_next_work){
			t->stream[o->stream[i]].process, o->call[i]};
	}
}

/* Cuts GPU work to w. Copies keep their rows, because operations refer to them by index. */
static void cut_ops(struct nsx_loader *l, const struct nsx_window *w)
{
	struct nsx_ops_rw *o = &l->ops;
	size_t n = 0;

	for (size_t i = 0; i < l->op_set.n; i++) {
		if (!nsx_reaches(w, o->start_ns[i], o->end_ns[i]))
			continue;
		if (o->start_ns[i] < w->start_ns) {
			o->start_ns[i] = w->start_ns;
			o->flags[i] |= NSX_OP_CUT;
		}
		o->end_ns[i] = NSX_MIN(o->end_ns[i], w->end_ns);
		nsx_colset_move(&l->op_set, n++, i, 1);
	}
	l->op_set.n = n;
}

static const char range_prefix[] = "nvtx:";

int nsx_window_range(struct nsx_loader *l, const char *text, nsx_str *ret, struct nsx_err *err)
{
	const char *name = text + sizeof(range_prefix) - 1;

	if (strncmp(text, range_prefix, sizeof(range_prefix) - 1))
		return 0;
	return nsx_strings_add(l->strings, name, strlen(name), ret, err);
}

/* The window from the first start to the last end of the ranges with this name. */
static struct nsx_window derive_find_ranges(const struct nsx_loader *l, nsx_str name)
{
	const struct nsx_nvtx_rw *x = &l->nvtx;
	struct nsx_window ret = no_hull;

	for (size_t i = 0; i < l->nvtx_set.n; i++)
		if (x->name[i] == name && x->kind[i] != NSX_NVTX_MARK)
			nsx_widen(&ret, x->start_ns[i], x->end_ns[i]);
	return ret;
}

static bool is_in_seconds(const char *window)
{
	const char *dots = strstr(window, "..");

	return dots && dots > window && (dots[-1] != 's' || !nsx_ends_with(dots, "s"));
}

struct earliest {
	int64_t ns;
	struct nsx_shifts *shifts;
	bool is_any_time; /* the session starts before 0, so an event may, too */
};

static int note_os_call(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			struct nsx_err *err NSX_UNUSED)
{
	struct earliest *first = ctx;

	if (nsx_is_possible(first->shifts, v) && (first->is_any_time || v->u.i >= 0))
		first->ns = NSX_MIN(first->ns, v->u.i);
	return 0;
}

/* Finds the time from which a window given in seconds counts. OS calls are not loaded yet, but one
 * may be the first event.
 */
static int find_first_event(const struct nsx_loader *l, const char *window,
			      int64_t *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = l->t;
	struct earliest os = {INT64_MAX, t->schema->shifts, t->session_start_ns < 0};

	*ret = t->first_ns;
	if (!is_in_seconds(window))
		return 0;
	if (nsx_view_each(l->schema, osrt, note_os_call, &os, err, start_ns))
		return err->rc;
	if (os.ns < t->first_ns || t->first_ns == t->last_ns)
		*ret = os.ns < INT64_MAX ? os.ns : t->first_ns;
	return 0;
}

int nsx_find_window(struct nsx_loader *l, const char *text,
		   const struct nsx_window *range, struct nsx_window *ret, struct nsx_err *err)
{
	int64_t first_ns;

	*ret = *range;
	if (!l->window_range)
		return find_first_event(l, text, &first_ns, err) ?:
		       nsx_window_parse(text, first_ns, ret, err);
	if (ret->start_ns < ret->end_ns)
		return 0;
	return nsx_fail(err, NSX_E_USAGE, "no NVTX range '%s' in the trace: tables/nvtx_ranges.csv "
			"of a report lists them", text + sizeof(range_prefix) - 1);
}

/* Decides the window, from the survey's results or, without a survey, from the rows. */
static int decide_window(struct nsx_loader *l, const char *window, struct nsx_err *err)
{
	const struct nsx_portion *x = &l->portion;
	struct nsx_window ranges;

	l->t->read = (struct nsx_window){INT64_MIN, INT64_MAX};
	if (x->is_on) {
		l->t->user = x->user;
		l->t->read = x->read;
		return l->t->has_clock_off ? NSX_PRESUMED_WRONG : 0;
	}
	ranges = derive_find_ranges(l, l->window_range);
	return window ? nsx_find_window(l, window, &ranges, &l->t->user, err) : 0;
}

int nsx_cut_window(struct nsx_loader *l, const char *window, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	int rc;

	if (!l->portion.is_on)
		find_hull(l);
	close_ranges(l);
	t->window = t->full;
	rc = decide_window(l, window, err);
	if (rc)
		return rc;
	if (window) {
		t->window = t->user;
		note_work_outside_window(l, &t->user);
		cut_ops(l, &t->user);
	}
	/* Corrected times change the order of operations. */
	if (window || l->schema->shifts->n)
		rc = nsx_sort_ops(l, err);
	if (!rc && t->defects.open_ranges)
		rc = sort_ranges(l, err);
	return rc ? rc : unstack_and_resort(l, err);
}

/* Slices ------------------------------------------------------------------*/

/* Stores the thread of each block's first row, and the thread of the last row (nsx_thread_of). */
static int index_threads(struct nsx_trace *t, const uint32_t *thread, size_t n,
			 uint32_t **ret, struct nsx_err *err)
{
	size_t nblocks = (n + NSX_THREAD_BLOCK - 1) / NSX_THREAD_BLOCK;

	if (!nsx_new_array(*ret, t->arena, nblocks + 1, "threads", err))
		return err->rc;
	for (size_t b = 0; b < nblocks; b++)
		(*ret)[b] = thread[b * NSX_THREAD_BLOCK];
	if (n)
		(*ret)[nblocks] = thread[n - 1];
	return 0;
}

/* The number of rows of thread `of`, the first of which is at `at`. Rows are ordered by thread. */
static uint32_t derive_count_rows(const uint32_t *thread, size_t n, uint32_t at, uint32_t of)
{
	return (uint32_t)NSX_SEARCH((size_t)at, n, mid, thread[mid] <= of) - at;
}

static void derive_slice_calls(struct nsx_loader *l)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < l->t->nthreads; i++) {
		struct nsx_thread *th = &l->t->thread[i];

		th->calls_at = at;
		th->ncalls = derive_count_rows(l->calls.thread, l->call_set.n, at, i);
		th->has_calls |= th->ncalls > 0;
		at += th->ncalls;
	}
}

static void slice_ranges(struct nsx_loader *l)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < l->t->nthreads; i++) {
		struct nsx_thread *th = &l->t->thread[i];

		th->nvtx_at = at;
		th->nnvtx = derive_count_rows(l->nvtx.thread, l->nvtx_set.n, at, i);
		th->has_ranges |= th->nnvtx > 0;
		th->has_stack |= th->nnvtx && l->nvtx.kind[at] == NSX_NVTX_STACK;
		at += th->nnvtx;
	}
}

/* Sets each device's slice of the operations, which are ordered by device. */
static void slice_devices(struct nsx_loader *l)
{
	size_t at = 0;

	for (uint32_t d = 0; d < l->t->ndevices; d++) {
		size_t end = NSX_SEARCH(at, l->op_set.n, mid, device_of_op(l, (uint32_t)mid) <= d);

		l->t->device[d].ops_at = (uint32_t)at;
		l->t->device[d].nops = (uint32_t)(end - at);
		at = end;
	}
}

/* Classes ------------------------------------------------------------------*/

static uint8_t class_of_op(const struct nsx_loader *l, size_t i)
{
	if (l->ops.kind[i] == NSX_OP_KERNEL)
		return nsx_shape_launch(l->t, &l->t->shape[l->ops.detail[i]])->op ?
			       NSX_C_COMM : NSX_C_COMPUTE;
	return l->ops.kind[i] == NSX_OP_GRAPH ? NSX_C_COMPUTE : NSX_C_COPY;
}

/* Sets the class of each call. Names repeat, so each distinct name is classified once. */
static int classify_calls(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_calls_rw *c = &l->calls;
	struct known {
		uint8_t cls, flags, seen;
	};
	NSX_AT_EXIT(nsx_free_at) struct known *known =
		nsx_try_alloc(nsx_strings_bound(l->t->strings), sizeof(*known), "API names", err);

	if (!known)
		return err->rc;
	for (size_t i = 0; i < l->call_set.n; i++) {
		struct known *k = &known[c->name[i]];

		if (!k->seen) {
			k->cls = (uint8_t)nsx_classify_call(nsx_text(l->t, c->name[i]), &k->flags);
			k->seen = 1;
		}
		c->cls[i] = k->cls;
		c->flags[i] |= k->flags;
		if (k->cls == NSX_CALL_LAUNCH)
			l->t->thread[c->thread[i]].launches = true;
	}
	return 0;
}

/* Flags the calls that were made while another call of their thread was open. */
static void mark_nested(struct nsx_loader *l)
{
	struct nsx_calls_rw *c = &l->calls;

	for (uint32_t t = 0; t < l->t->nthreads; t++) {
		const struct nsx_thread *th = &l->t->thread[t];
		int64_t open_until = INT64_MIN;

		for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++)
			if (c->end_ns[i] <= open_until)
				c->flags[i] |= NSX_CALL_NESTED;
			else
				open_until = c->end_ns[i];
	}
}

/* Correlation ---------------------------------------------------------------*/

/* Orders calls by correlation id; among equal ids the outermost comes first. */
NSX_ORDER_IN(cmp_corr, uint32_t, struct nsx_calls_rw, UP(c->corr[*x]), UP(c->start_ns[*x]),
	     DOWN(c->end_ns[*x]), UP(*x));

static int allocate_call_indices(struct nsx_loader *l, struct nsx_err *err)
{
	const struct nsx_trace *t = l->t;
	struct nsx_arena *a = l->index_arena;

	nsx_arena_clear(a);
	nsx_few(l->index, a, t->nprocesses);
	for (uint32_t h = 0; h < t->nthreads; h++)
		l->index[t->thread[h].process].n += t->thread[h].ncalls;
	for (uint32_t p = 0, at = 0; p < t->nprocesses; p++) {
		struct nsx_call_index *x = &l->index[p];

		if (!nsx_new_array(x->calls, a, x->n, "correlation ids", err))
			return err->rc;
		x->calls_at = at;
		at += (uint32_t)x->n;
	}
	return 0;
}

/* Keeps only the first of overlapping calls with one id, because it encloses the others. */
static void drop_enclosed_calls(const struct nsx_calls_rw *c, struct nsx_call_index *x)
{
	int64_t end_ns = INT64_MIN;
	size_t n = 0;

	for (size_t k = 0; k < x->n; k++) {
		uint32_t i = x->calls[k];
		bool is_first = !n || c->corr[x->calls[n - 1]] != c->corr[i];

		if (is_first || c->start_ns[i] >= end_ns) {
			x->calls[n++] = i;
			end_ns = c->end_ns[i];
		} else {
			end_ns = NSX_MAX(end_ns, c->end_ns[i]);
		}
	}
	x->n = n;
}

/* Fills a process's index of calls. Calls of a process are adjacent, because its threads are. */
static void fill_call_index(const struct nsx_loader *l, struct nsx_call_index *x)
{
	size_t end = x->calls_at + x->n;

	x->n = 0;
	for (size_t i = x->calls_at; i < end; i++)
		if (l->calls.corr[i])
			x->calls[x->n++] = (uint32_t)i;
	nsx_sort_r(x->calls, x->n, sizeof(*x->calls), cmp_corr, (void *)&l->calls);
	drop_enclosed_calls(&l->calls, x);
	x->least = x->n ? l->calls.corr[x->calls[0]] : 0;
}

/* Notes each process's smallest correlation id, including calls that were not read. */
static void note_least_corr(struct nsx_loader *l)
{
	for (size_t i = 0; i < l->callers_map.n; i++) {
		uint64_t process = nsx_process_key(l->callers_map.keys[i].w[0]);
		uint32_t p = nsx_process_find(l->t, process);
		uint32_t corr = l->least_corr[i];

		if (p != NSX_NONE && corr && (!l->index[p].least || corr < l->index[p].least))
			l->index[p].least = corr;
	}
}

struct matcher {
	struct nsx_loader *l;
	int64_t first_call_ns;
	struct nsx_matching *found; /* matched operations, by part           */
};

enum { MATCHED_AT_A_TIME = 1 << 16 };

/* Replaces the correlation ids of a part's operations by call indices. */
static int match_ops_of_part(void *ctx, size_t part, struct nsx_err *err)
{
	struct matcher *m = ctx;
	const struct nsx_loader *l = m->l;
	const struct nsx_trace *t = l->t;
	struct nsx_matching *found = &m->found[part];
	size_t i = part * MATCHED_AT_A_TIME;
	size_t end = NSX_MIN(i + MATCHED_AT_A_TIME, l->op_set.n);
	NSX_AT_EXIT(nsx_free_at) size_t *at = nsx_alloc(t->nprocesses, sizeof(*at));

	for (; i < end; i++) {
		uint32_t p = t->stream[l->ops.stream[i]].process;
		uint32_t corr = l->ops.call[i], call = NSX_NONE;

		if (corr && p != NSX_NONE)
			call = nsx_find_call(l, p, corr, l->ops.start_ns[i], &at[p]);
		l->ops.call[i] = call;
		l->ops.cls[i] = class_of_op(l, i);
		if (l->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		found->matched += call != NSX_NONE;
		/* Ids of a process only grow, so one below those of all recorded calls belongs to
		 * a launch before the capture began.
		 */
		if (call == NSX_NONE &&
		    (l->ops.start_ns[i] < m->first_call_ns ||
		     (p != NSX_NONE && corr && corr < l->index[p].least)))
			found->before_capture++;
		else
			found->no_call += call == NSX_NONE;
	}
	return nsx_stopped(err);
}

static int derive_match_ops(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t nparts = (l->op_set.n + MATCHED_AT_A_TIME - 1) / MATCHED_AT_A_TIME;
	struct matcher m = {.l = l, .first_call_ns = INT64_MAX};

	nsx_few(m.found, l->index_arena, nparts);
	if (!nsx_new_array(l->calls.op, t->arena, l->call_set.n, l->call_set.what, err) ||
	    !nsx_new_array(l->ops.cls, t->arena, l->op_set.n, l->op_set.what, err))
		return err->rc;
	memset(l->calls.op, 0xff, l->call_set.n * 4); /* sets all to NSX_NONE */
	if (l->portion.is_on)
		m.first_call_ns = l->portion.first_call_ns;
	for (size_t i = 0; i < l->call_set.n; i++)
		m.first_call_ns = NSX_MIN(m.first_call_ns, l->calls.start_ns[i]);
	if (nsx_par(l->threads, nparts, match_ops_of_part, &m, err))
		return err->rc;
	for (size_t i = l->op_set.n; i-- > 0;)
		if (l->ops.call[i] != NSX_NONE && !(l->ops.flags[i] & NSX_OP_PEER))
			l->calls.op[l->ops.call[i]] = (uint32_t)i;
	for (uint32_t d = 0; l->next && d < t->ndevices; d++)
		if (l->next[d].corr && l->next[d].process != NSX_NONE)
			t->device[d].beyond.next_call = nsx_host_call(
				l, l->next[d].process, l->next[d].corr,
				t->device[d].beyond.next_ns);
	for (size_t i = 0; i < nparts; i++) {
		t->matching.matched += m.found[i].matched;
		t->matching.before_capture += m.found[i].before_capture;
		t->matching.no_call += m.found[i].no_call;
	}
	return 0;
}

/* Replaces the correlation ids in `call` by call indices. at_ns: times of the rows; NULL:
 * unknown.
 */
static void match_rows_to_calls(const struct nsx_loader *l, const uint32_t *process,
				const int64_t *at_ns, uint32_t *call, size_t n)
{
	for (size_t i = 0; i < n; i++)
		call[i] = call[i] && process[i] != NSX_NONE ?
				  nsx_host_call(l, process[i], call[i],
						at_ns ? at_ns[i] : INT64_MIN) :
				  NSX_NONE;
}

/* Runs one of the independent tasks. Task i indexes the calls of process i. The last task
 * classifies all calls, because that is independent of the index.
 */
static int run_index_task(void *ctx, size_t i, struct nsx_err *err)
{
	struct nsx_loader *l = ctx;

	if (i < l->t->nprocesses) {
		fill_call_index(l, &l->index[i]);
		return 0;
	}
	mark_nested(l);
	return classify_calls(l, err);
}

int nsx_index_calls(struct nsx_loader *l, struct nsx_err *err)
{
	int rc;

	/* No other task allocates from the trace's arena at this time. */
	if (!l->calls.cls &&
	    !nsx_new_array(l->calls.cls, l->t->arena, l->call_set.n, l->call_set.what, err))
		return err->rc;
	derive_slice_calls(l);
	rc = allocate_call_indices(l, err) ?:
	     nsx_par(l->threads, (size_t)l->t->nprocesses + 1, run_index_task, l, err);
	if (rc)
		return rc;
	note_least_corr(l);
	return index_threads(l->t, l->calls.thread, l->call_set.n, &l->t->calls_thread, err);
}

static int derive_order_calls(struct nsx_loader *l, struct nsx_err *err)
{
	return NSX_SORT_BY_THREAD(l, &l->call_set, derive_cmp_calls, err) ?:
	       nsx_index_calls(l, err);
}

static int order_ranges(struct nsx_loader *l, struct nsx_err *err)
{
	int rc = sort_ranges(l, err);

	if (!rc)
		slice_ranges(l);
	return rc;
}

static int order_overheads(struct nsx_loader *l, struct nsx_err *err)
{
	return NSX_SORT_BY_THREAD(l, &l->overhead_set, cmp_overheads, err);
}

static int (*const order_steps[])(struct nsx_loader *l, struct nsx_err *err) = {
	nsx_sort_ops, derive_order_calls, order_ranges, nsx_order_libraries, order_overheads,
};

static int run_order_step(void *ctx, size_t i, struct nsx_err *err)
{
	return order_steps[i](ctx, err);
}

int nsx_order_rows(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;

	return nsx_par(l->threads, ARRAY_LEN(order_steps), run_order_step, l, err) ?:
	       index_threads(t, l->nvtx.thread, l->nvtx_set.n, &t->nvtx_thread, err);
}

int nsx_derive(struct nsx_loader *l, struct nsx_err *err)
{
	slice_devices(l);
	if (derive_match_ops(l, err))
		return err->rc;
	match_rows_to_calls(l, l->t->syncs.process, l->t->syncs.start_ns, l->t->syncs.call, l->sync_set.n);
	match_rows_to_calls(l, l->t->records.process, NULL, l->t->records.call, l->record_set.n);
	return 0;
}
