/* cutrace.h - writes the records that CUPTI makes of a run, as lines of text.
 *
 * A line is a kind and its values, separated by tabs; times are in ns:
 *
 *   Q stream flag                                         a stream that is not the default one
 *   N start end name                                      a range of the host
 *   R start end call name                                 a call of the CUDA runtime
 *   K start end stream call name blocks registers graph node
 *   C start end stream call bytes kind source destination
 *   Y start end call stream event record                  a wait
 *   E stream call event record                            an event is recorded
 *   O start end kind call                                 overhead
 *
 * call is the correlation id, record the id of one recording of an event. */
#ifndef CUTRACE_H
#define CUTRACE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cutrace_flag { CUTRACE_BLOCKING = 1, CUTRACE_NONBLOCKING };

void cutrace_start(void);
void cutrace_discard(void); /* what was recorded so far */
void cutrace_begin_step(void);
void cutrace_end_step(void);
void cutrace_print_stream(FILE *f, void *stream, enum cutrace_flag flag);
void cutrace_print(FILE *f); /* what was recorded since */

#ifdef __cplusplus
}
#endif
#endif
