/* outside.c - iterates over OS calls, MPI calls and MPI ranges as one list. */
#include "facts/outside.h"

const char *const nsx_os_purpose_names[] = {
	[NSX_OS_LOCKS] = "locks", [NSX_OS_PROCESSES] = "threads and processes",
	[NSX_OS_SLEEP] = "sleep", [NSX_OS_EVENTS] = "events", [NSX_OS_FILES] = "files",
	[NSX_OS_NETWORK] = "network", [NSX_OS_STREAMS] = "files or sockets",
	[NSX_OS_DRIVERS] = "drivers", [NSX_OS_MEMORY] = "memory", [NSX_OS_OTHER] = "other",
};

enum nsx_os_purpose nsx_purpose_of(const char *name, enum nsx_awaited *ret)
{
	/* The first line with a word that the name contains decides. */
	static const struct {
		enum nsx_os_purpose purpose;
		enum nsx_awaited awaited;
		const char *words[22];
	} lines[] = {
		{NSX_OS_LOCKS, NSX_AWAITS_THREAD,
		 {"mutex", "cond_", "sem_", "rwlock", "futex", "spin", "barrier"}},
		{NSX_OS_PROCESSES, NSX_AWAITS_THREAD, {"_join"}},
		{NSX_OS_PROCESSES, NSX_AWAITS_UNKNOWN,
		 {"pthread_", "wait4", "waitpid", "waitid", "fork", "exec", "clone", "system",
		  "popen"}},
		{NSX_OS_SLEEP, NSX_AWAITS_TIME, {"sleep"}},
		{NSX_OS_EVENTS, NSX_AWAITS_REQUEST, {"epoll"}},
		{NSX_OS_EVENTS, NSX_AWAITS_INPUT, {"poll", "select"}},
		{NSX_OS_FILES, NSX_AWAITS_UNKNOWN,
		 {"open", "creat", "pread", "pwrite", "fread", "fwrite", "sync", "fflush",
		  "fclose", "fget", "fput", "getline", "stat", "seek", "readdir", "closedir",
		  "unlink", "rename", "trunc", "falloc", "sendfile", "mkdir"}},
		{NSX_OS_NETWORK, NSX_AWAITS_INPUT, {"recv"}},
		{NSX_OS_NETWORK, NSX_AWAITS_REQUEST, {"accept"}},
		{NSX_OS_NETWORK, NSX_AWAITS_UNKNOWN,
		 {"send", "connect", "socket", "addrinfo", "gethost", "listen", "bind"}},
		{NSX_OS_STREAMS, NSX_AWAITS_UNKNOWN, {"read", "write", "close"}},
		{NSX_OS_DRIVERS, NSX_AWAITS_DRIVER, {"ioctl"}},
		{NSX_OS_MEMORY, NSX_AWAITS_UNKNOWN,
		 {"mmap", "munmap", "mprotect", "madvise", "mlock", "brk"}},
	};

	for (size_t k = 0; k < ARRAY_LEN(lines); k++)
		for (const char *const *w = lines[k].words; w < lines[k].words + 22 && *w; w++)
			if (strstr(name, *w)) {
				if (ret)
					*ret = lines[k].awaited;
				return lines[k].purpose;
			}
	return NSX_OS_OTHER;
}

/* Whether ranges of an NVTX domain are MPI calls. They are used if there is no table of MPI calls.
 */
static bool is_mpi_domain(const struct nsx_trace *t, uint32_t domain)
{
	return !strcmp(nsx_text(t, t->domain[domain].name), "MPI");
}

static bool has_mpi_ranges(const struct nsx_trace *t)
{
	for (uint32_t d = 0; d < t->ndomains; d++)
		if (is_mpi_domain(t, d))
			return !t->library.n;
	return false;
}

static bool next_mpi_range(const struct nsx_trace *t, size_t *at, size_t first,
			   struct nsx_outside *ret)
{
	const struct nsx_nvtx *x = &t->nvtx;

	if (*at == first && !has_mpi_ranges(t))
		return false;
	while (*at < first + x->n) {
		size_t i = (*at)++ - first;

		if (x->kind[i] != NSX_NVTX_STACK || !is_mpi_domain(t, nsx_range_domain(x, i)))
			continue;
		*ret = (struct nsx_outside){nsx_nvtx_thread(t, i), x->name[i],
					    NSX_NONE, true,
					    nsx_range_start(x, i),
					    nsx_range_end(x, i), -1, -1};
		if (t->thread[ret->thread].launches)
			return true;
	}
	return false;
}

bool nsx_outside_next(const struct nsx_trace *t, size_t *at, struct nsx_outside *ret)
{
	const struct nsx_library_calls *c = &t->library;
	const struct nsx_osrt *o = &t->osrt;
	size_t i = *at;

	while (i < o->n && (o->thread[i] == NSX_NONE || !t->thread[o->thread[i]].launches))
		i++;
	if (i < o->n) {
		*at = i + 1;
		*ret = (struct nsx_outside){o->thread[i], o->name[i],
					    o->stack[i], false, o->start_ns[i],
					    o->end_ns[i], -1, -1};
		return true;
	}
	*at = NSX_MAX(*at, o->n);
	while (*at < o->n + c->n) {
		i = (*at)++ - o->n;
		if (c->library[i] != NSX_LIBRARY_MPI || !t->thread[c->thread[i]].launches)
			continue;
		*ret = (struct nsx_outside){
			c->thread[i], c->name[i], NSX_NONE, true,
			nsx_unpack(&c->start, i),
			nsx_unpack(&c->start, i) + nsx_unpack(&c->length, i),
			c->peer[i], c->tag[i]};
		return true;
	}
	return next_mpi_range(t, at, o->n + c->n, ret);
}
