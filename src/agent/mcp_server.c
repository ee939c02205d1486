/* mcp_server.c - reads and writes lines, and runs the thread that does the calls.
 *
 * The reading thread never waits for a call: it goes on reading, so that it sees a
 * cancellation, and sends progress five times a second. nsx_stop_flag stops a call as a signal
 * does, but with a value of its own that is reset when the call has ended.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "agent/mcp.h"

enum { MAX_LINE = 4 << 20, MAX_WAITING = 256, TICK_MS = 200, DONE_MS = 10 };

struct job {
	struct job *next;
	struct nsx_jsonr *message;
	const struct nsx_jsonr *id;
};
struct server {
	struct nsx_mcp m;
	int in, out;
	struct nsx_buf line;
	bool is_too_long; /* a line is too long, and the rest of it is skipped */
	pthread_mutex_t lock; /* guards the members below                    */
	pthread_cond_t change;
	struct job *first, **last, *running;
	size_t nwaiting;
	bool is_cancelled; /* the running job was cancelled                  */
	bool is_over;	   /* no more jobs will come                         */
	_Atomic bool is_gone; /* the client has closed the output            */
	struct timespec began; /* when the running job began                 */
	pthread_mutex_t writing;
};

/* The value of nsx_stop_flag if only the running call is to stop, because it was cancelled. */
enum { CANCELLED = 2 };

static void set_stop(int from, int to)
{
	(void)__atomic_compare_exchange_n(&nsx_stop_flag, &from, to, false,
					  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static bool is_stopped(const struct server *s)
{
	/* The flag is read only once, because a call that ends meanwhile resets CANCELLED. */
	int flag = __atomic_load_n(&nsx_stop_flag, __ATOMIC_RELAXED);

	return (flag && flag != CANCELLED) || s->is_gone;
}

/* Out -----------------------------------------------------------------------------*/

/* Writes buffered output, at a time only as much as fits without blocking, so that signals are
 * handled even if a client does not read.
 */
static void mcp_server_write_all(struct server *s, struct nsx_buf *b)
{
	struct pollfd p = {.fd = s->out, .events = POLLOUT};
	size_t at = 0;

	pthread_mutex_lock(&s->writing);
	while (at < b->n && !s->is_gone) {
		ssize_t n;

		if (poll(&p, 1, TICK_MS) <= 0) {
			s->is_gone = is_stopped(s);
			continue;
		}
		n = write(s->out, b->p + at, NSX_MIN(b->n - at, PIPE_BUF));
		if (n > 0)
			at += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			s->is_gone = true;
	}
	pthread_mutex_unlock(&s->writing);
	nsx_buf_done(b);
	*b = (struct nsx_buf){0};
}

/* The second thread ----------------------------------------------------------------*/

static void free_job(struct job *j)
{
	nsx_jsonr_free(j->message);
	free(j);
}

/* Takes the next job, which counts as running from now on; NULL: no more jobs will come. */
static struct job *take_job(struct server *s)
{
	struct job *j;

	pthread_mutex_lock(&s->lock);
	while (!s->first && !s->is_over)
		pthread_cond_wait(&s->change, &s->lock);
	j = s->first;
	if (j) {
		s->first = j->next;
		if (!s->first)
			s->last = &s->first;
		s->nwaiting--;
	}
	s->running = j;
	s->is_cancelled = false;
	(void)clock_gettime(CLOCK_MONOTONIC, &s->began);
	pthread_mutex_unlock(&s->lock);
	return j;
}

/* Ends the running job. Returns whether its answer is still wanted. */
static bool end_job(struct server *s)
{
	bool is_wanted;

	pthread_mutex_lock(&s->lock);
	is_wanted = !s->is_cancelled;
	set_stop(CANCELLED, 0);
	s->running = NULL;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	return is_wanted;
}

static void *mcp_server_work(void *arg)
{
	struct server *s = arg;
	struct nsx_err err;
	struct job *j;

	while ((j = take_job(s))) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf out = {0};
		int rc = nsx_mcp_do(&s->m, j->message, &out, &err);

		if (end_job(s) && !rc)
			mcp_server_write_all(s, &out);
		free_job(j);
	}
	return NULL;
}

/* In ------------------------------------------------------------------------------*/

static void queue_call_job(struct server *s, struct nsx_jsonr *message, const struct nsx_jsonr *id)
{
	struct job *j = nsx_alloc(1, sizeof(*j));

	j->message = message;
	j->id = id;
	pthread_mutex_lock(&s->lock);
	*s->last = j;
	s->last = &j->next;
	s->nwaiting++;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
}

static void cancel_request(struct server *s, const struct nsx_jsonr *id)
{
	pthread_mutex_lock(&s->lock);
	if (s->running && nsx_jsonr_equal(s->running->id, id)) {
		s->is_cancelled = true;
		set_stop(0, CANCELLED);
	}
	for (struct job **p = &s->first; *p;) {
		struct job *j = *p;

		if (!nsx_jsonr_equal(j->id, id)) {
			p = &j->next;
			continue;
		}
		*p = j->next;
		if (s->last == &j->next)
			s->last = p;
		s->nwaiting--;
		free_job(j);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Handles a message and takes ownership of it. */
static void mcp_server_take_message(struct server *s, struct nsx_jsonr *message)
{
	const struct nsx_jsonr *id = NULL;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf out = {0};

	switch (nsx_mcp_read(&s->m, message, &out, &id)) {
	case NSX_MCP_CALL:
		queue_call_job(s, message, id);
		return;
	case NSX_MCP_CANCEL:
		cancel_request(s, id);
		break;
	case NSX_MCP_ANSWERED:
		mcp_server_write_all(s, &out);
		break;
	default:
		break;
	}
	nsx_jsonr_free(message);
}

static void handle_line(struct server *s, const char *line, size_t n)
{
	struct nsx_buf out = {0};
	struct nsx_jsonr *message;
	struct nsx_err err;

	if (strspn(line, " \t\r") == n && !s->is_too_long)
		return;
	message = s->is_too_long ? NULL : nsx_jsonr_parse(line, n, &err);
	if (nsx_mcp_is_batch(&s->m, message)) {
		for (size_t i = 0; i < nsx_jsonr_count(message); i++)
			mcp_server_take_message(s, nsx_jsonr_keep(nsx_jsonr_at(message, i)));
		nsx_jsonr_free(message);
		return;
	}
	if (message) {
		mcp_server_take_message(s, message);
		return;
	}
	nsx_mcp_not_json(&s->m, s->is_too_long ? "a line of more than 4 MiB" : err.msg, &out);
	mcp_server_write_all(s, &out);
}

/* Handles all complete lines read so far. */
static void take_lines(struct server *s)
{
	size_t at = 0;
	char *end;

	while ((end = memchr(s->line.p + at, '\n', s->line.n - at))) {
		size_t n = (size_t)(end - (s->line.p + at));

		*end = '\0';
		handle_line(s, s->line.p + at, n);
		s->is_too_long = false;
		at += n + 1;
	}
	s->line.n -= at;
	memmove(s->line.p, s->line.p + at, s->line.n);
	if (s->line.n > MAX_LINE) {
		s->is_too_long = true;
		s->line.n = 0;
	}
}

static void send_progress(struct server *s)
{
	const struct nsx_jsonr *token;
	struct nsx_buf out = {0};
	struct timespec now;

	pthread_mutex_lock(&s->lock);
	token = s->running && !s->is_cancelled ? nsx_mcp_token(s->running->message) : NULL;
	if (token) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		nsx_mcp_progress(&s->m, token, (double)(now.tv_sec - s->began.tv_sec) +
						       (double)(now.tv_nsec -
								s->began.tv_nsec) / 1e9, &out);
		mcp_server_write_all(s, &out); /* inside the lock, so that it precedes the answer */
	}
	pthread_mutex_unlock(&s->lock);
}

static bool mcp_server_is_full(struct server *s)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	full = s->nwaiting >= MAX_WAITING;
	pthread_mutex_unlock(&s->lock);
	return full;
}

/* Reads messages until the end of input. If a client sends too much, reading pauses. */
static int mcp_server_read_all(struct server *s, struct nsx_err *err)
{
	enum { PIECE = 65536 };
	struct pollfd p = {.fd = s->in, .events = POLLIN};
	ssize_t n = 1;

	while (n && !is_stopped(s)) {
		bool wait = mcp_server_is_full(s);
		int ready = poll(&p, !wait, wait ? DONE_MS : TICK_MS);

		if (ready <= 0) {
			send_progress(s);
			continue;
		}
		n = read(s->in, nsx_buf_room(&s->line, PIECE), PIECE);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return nsx_fail(err, NSX_E_IO, "cannot read requests: %s", strerror(errno));
		if (n > 0) {
			s->line.n += (size_t)n;
			take_lines(s);
		}
		n = n < 0 ? 1 : n;
	}
	if (s->line.n && !is_stopped(s)) { /* a last line without a newline */
		nsx_buf_adds(&s->line, "\n");
		take_lines(s);
	}
	return 0;
}

/* Waits until all requests are answered, unless nobody reads the answers. */
static void wait_for_answers(struct server *s)
{
	struct pollfd p = {.fd = s->out};
	bool is_busy = true;

	while (is_busy) {
		pthread_mutex_lock(&s->lock);
		is_busy = s->first || s->running;
		pthread_mutex_unlock(&s->lock);
		if (is_busy && poll(&p, 1, DONE_MS) > 0 && p.revents & (POLLERR | POLLNVAL))
			s->is_gone = true;
		if (is_busy && is_stopped(s)) {
			__atomic_store_n(&nsx_stop_flag, 1, __ATOMIC_RELAXED);
			break;
		}
	}
	pthread_mutex_lock(&s->lock);
	while (s->is_gone && s->first) {
		struct job *j = s->first;

		s->first = j->next;
		free_job(j);
	}
	s->is_over = true;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
}

/* Starts the second thread with signals blocked: they must end the poll of the reading thread. */
static int start_worker(struct server *s, pthread_t *ret, struct nsx_err *err)
{
	sigset_t all, old;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(ret, NULL, mcp_server_work, s);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc ? nsx_fail(err, NSX_E_NOMEM, "cannot start a thread: %s", strerror(rc)) : 0;
}

int nsx_mcp_serve(const struct nsx_mcp_opts *o, struct nsx_err *err)
{
	struct server s = {.in = o->in, .out = o->out,
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .change = PTHREAD_COND_INITIALIZER,
			   .writing = PTHREAD_MUTEX_INITIALIZER};
	pthread_t worker;
	int rc;

	s.last = &s.first;
	s.m = (struct nsx_mcp){.version = -1};
	s.m.box = (struct nsx_toolbox){
		.budget = o->budget, .text_is_json = o->text_is_json,
		.cache = {.like = o->like, .most_bytes = o->cache_bytes, .threads = o->threads}};
	rc = nsx_roots_init(&s.m.box.roots, o->roots, o->nroots, err) ?:
	     start_worker(&s, &worker, err);
	if (!rc) {
		rc = mcp_server_read_all(&s, err);
		wait_for_answers(&s);
		(void)pthread_join(worker, NULL);
	}
	nsx_buf_done(&s.line);
	nsx_cache_done(&s.m.box.cache);
	nsx_roots_done(&s.m.box.roots);
	return rc;
}
