/* session.c - the start of the session, on the session's clock and as time of day.
 *
 * Event times count from the start of the session. Up to 2025.6 the first message lists offsets
 * between pairs of clocks. Later versions have a section with points: what one clock showed when
 * another showed a given time.
 */
#include <time.h>
#include "nsysrep/facts.h"

enum { EVENTS = 1, TICKS = 3, SESSION = 7, UTC = 9, LOCAL = 10, /* clocks   */
       KIND_COUNTER = 10, KIND_UTC = 11, KIND_LOCAL = 12, KIND_MONOTONIC = 14,
       KIND_SESSION = 15, /* kinds of clocks in the section                 */
       MOST_CLOCKS = 256, FIRST_DEVICE = 1, FIRST_OFFSETS = 16, FIRST_START = 17, FIRST_STOP = 18 };

struct session {
	int64_t start_ns, stop_ns, utc_ns, local_ns;
	bool has_start, has_stop, has_utc, has_local;
	bool is_garbled; /* messages are damaged                             */
};

/* A damaged report may hold any clock value, so sums must wrap instead of overflowing. */
static int64_t add_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t subtract_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static bool session_parse(struct nsx_piece b, int64_t *ret)
{
	bool is_negative = b.n && b.p[0] == '-';
	uint64_t n = 0;

	for (size_t i = is_negative; i < b.n; i++) {
		if (b.p[i] < '0' || b.p[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(b.p[i] - '0');
	}
	*ret = (int64_t)(is_negative ? 0 - n : n);
	return b.n > is_negative;
}

/* Finds the offset between two clocks: {1 from, 2 to, 5 the number as text, 6 "Offset"}. */
static bool find_offset(struct nsx_piece first, struct session *s, uint64_t from, uint64_t to,
			int64_t *ret)
{
	struct nsx_wire w = nsx_wire_of(first), in;
	struct nsx_msg m;
	bool is_found = false;

	while (nsx_wire_next(&w)) {
		if (w.field != FIRST_OFFSETS || !w.bytes.p)
			continue;
		for (in = nsx_wire_of(w.bytes); nsx_wire_message(&in, 1, &m, &s->is_garbled);)
			if (nsx_msg_uint(&m, 1) == from && nsx_msg_uint(&m, 2) == to &&
			    nsx_piece_is(nsx_msg_bytes(&m, 6), "Offset"))
				is_found |= session_parse(nsx_msg_bytes(&m, 5), ret);
	}
	return is_found;
}

static void set_from_offsets(struct nsx_piece first, struct session *s)
{
	int64_t n, ticks;

	if (find_offset(first, s, SESSION, EVENTS, &n)) {
		s->start_ns = subtract_wrapping(0, n);
		s->has_start = true;
	}
	if (!s->has_start || !find_offset(first, s, TICKS, UTC, &n))
		return;
	s->utc_ns = subtract_wrapping(s->start_ns, n);
	if (find_offset(first, s, EVENTS, TICKS, &ticks))
		s->utc_ns = subtract_wrapping(s->utc_ns, ticks);
	s->has_utc = true;
	s->local_ns = s->utc_ns;
	if (find_offset(first, s, UTC, LOCAL, &n))
		s->local_ns = subtract_wrapping(s->utc_ns, n);
	s->has_local = true;
}

/* The kind of the clock with this uuid. The section is {1 clocks with their kinds, 2 relations},
 * each a list of messages.
 */
static uint64_t clock_kind_of(const struct nsx_msg *section, struct session *s,
			      struct nsx_piece uuid)
{
	struct nsx_wire w = nsx_wire_of(nsx_msg_bytes(section, 1));
	struct nsx_msg m;

	for (unsigned n = 0; n < MOST_CLOCKS && nsx_wire_message(&w, 0, &m, &s->is_garbled); n++) {
		struct nsx_piece id = nsx_msg_bytes(&m, 1);

		if (id.n == uuid.n && !memcmp(id.p, uuid.p, id.n))
			return nsx_msg_uint(&m, 2);
	}
	return 0;
}

/* Finds a point {1 x, 2 y}: clock `from` showed x when clock `to` showed y. */
static bool find_point(const struct nsx_msg *section, struct session *s, uint64_t from,
		       uint64_t to, int64_t *x, int64_t *y)
{
	struct nsx_wire w = nsx_wire_of(nsx_msg_bytes(section, 2));
	struct nsx_msg m, line, point;

	for (unsigned n = 0; n < MOST_CLOCKS && nsx_wire_message(&w, 0, &m, &s->is_garbled); n++)
		if (clock_kind_of(section, s, nsx_msg_bytes(&m, 1)) == from &&
		    clock_kind_of(section, s, nsx_msg_bytes(&m, 2)) == to &&
		    nsx_msg_sound(&line, nsx_msg_bytes(&m, 3), &s->is_garbled) &&
		    nsx_msg_sound(&point, nsx_msg_bytes(&line, 1), &s->is_garbled)) {
			*x = nsx_msg_int(&point, 1);
			*y = nsx_msg_int(&point, 2);
			return true;
		}
	return false;
}

static void set_from_points(struct nsx_piece bytes, struct session *s)
{
	struct nsx_msg clocks, *section = &clocks;
	int64_t x, y;

	if (!nsx_msg_sound(section, bytes, &s->is_garbled))
		return;
	if (find_point(section, s, KIND_SESSION, KIND_MONOTONIC, &x, &y)) {
		s->start_ns = x;
		s->has_start = true;
	}
	if (s->has_start && find_point(section, s, KIND_UTC, KIND_COUNTER, &x, &y)) {
		s->utc_ns = subtract_wrapping(add_wrapping(x, s->start_ns), y);
		s->has_utc = true;
	}
	if (s->has_utc && find_point(section, s, KIND_LOCAL, KIND_UTC, &x, &y)) {
		s->local_ns = subtract_wrapping(add_wrapping(s->utc_ns, x), y);
		s->has_local = true;
	}
}

/* If the start was rounded down to a coarser step, rounds the stop to the same step. */
static void round_stop(struct session *s, int64_t exact_start)
{
	static const int64_t steps[] = {100000, 1000000};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (s->start_ns != exact_start &&
		    exact_start / steps[i] * steps[i] == s->start_ns) {
			s->stop_ns = s->stop_ns / steps[i] * steps[i];
			return;
		}
}

static struct nsx_val time_text(int64_t ns, char *to, size_t size)
{
	time_t s = (time_t)(ns / 1000000000);
	struct tm tm;

	return gmtime_r(&s, &tm) && strftime(to, size, "%Y-%m-%dT%H:%M:%S", &tm) ?
		       nsx_val_str(to) : nsx_val_none();
}

void nsx_rep_session(const struct nsx_container *c, struct nsx_rep_rows *rows)
{
	struct session s = {.has_start = false};
	struct nsx_msg first, device;
	char utc[40], local[40];

	if (!nsx_msg_sound(&first, c->first, &rows->is_garbled) ||
	    !nsx_msg_sound(&device, nsx_msg_bytes(&first, FIRST_DEVICE), &rows->is_garbled))
		return;
	s.has_start = nsx_msg_has(&first, FIRST_START);
	s.start_ns = nsx_msg_int(&first, FIRST_START);
	s.has_stop = nsx_msg_has(&first, FIRST_STOP);
	s.stop_ns = nsx_msg_int(&first, FIRST_STOP);
	set_from_offsets(c->first, &s);
	if (!s.has_utc && c->clocks.n)
		set_from_points(c->clocks, &s);
	rows->is_garbled |= s.is_garbled;
	if (s.has_utc)
		nsx_rows_put(rows, NSX_REP_SESSION, (struct nsx_val[]){
			     nsx_val_int(s.utc_ns),
			     time_text(s.utc_ns, utc, sizeof(utc)),
			     s.has_local ? time_text(s.local_ns, local, sizeof(local)) : nsx_val_none(),
			     nsx_val_int(s.start_ns)});
	if (!s.has_start || !s.has_stop)
		return;
	round_stop(&s, nsx_msg_int(&first, FIRST_START));
	nsx_rows_put(rows, NSX_REP_ANALYSIS, (struct nsx_val[]){
			     nsx_val_field(&device, 3),
			     nsx_val_int(subtract_wrapping(s.stop_ns, s.start_ns)),
			     nsx_val_int(s.start_ns), nsx_val_int(s.stop_ns)});
}
