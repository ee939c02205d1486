/* blame.h - what keeps a program without GPU work: its time, by range and call.
 *
 * At each instant the time goes to the threads that move the program on, in equal parts; threads
 * that wait for other threads get none of it. This is the blame shifting of Tallent,
 * Mellor-Crummey and Porterfield, "Analyzing lock contention in multithreaded applications" (PPoPP
 * 2010). All blame adds up to the part of the window in which some thread has events around it.
 */
#pragma once

#include "facts/facts.h"

struct nsx_blamed {
	nsx_str range; /* label of the innermost push/pop range; 0: outside of ranges */
	nsx_str call;  /* OS or CUDA call; 0: the thread's own code          */
	bool is_cuda;
	double ns;	    /* its part of the window                        */
	int64_t thread_ns;  /* time of all threads in it                     */
	int64_t profiled_ns; /* the part of thread_ns that is the profiler's own */
	size_t count;	    /* calls that began in the window; own code: ranges */
	uint32_t nthreads;
	uint64_t global_tid; /* the thread with the greatest part of ns      */
	double most_ns;	     /* that part                                    */
	/* The call in which other threads wait longest for this, and how long together; 0: none
	 * waits.
	 */
	nsx_str wait;
	double wait_ns;
};

enum { NSX_MOST_BLAMED = 4 };
/* Finds the rows with most blame, greatest first; *ret_n is at most NSX_MOST_BLAMED. Linear in
 * events, times the logarithm of the number of threads. Errors: NSX_E_NOMEM.
 */
int nsx_find_blame(const struct nsx_trace *t, const struct nsx_facts *f,
		   struct nsx_blamed ret[NSX_MOST_BLAMED], size_t *ret_n,
		   struct nsx_err *err) NSX_CHECKED;
