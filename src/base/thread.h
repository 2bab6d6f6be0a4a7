/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_THREAD_H
#define GROAT_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* As pthread_create, but the thread takes no signal.  False: there is none. */
bool groat__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

/* So many milliseconds from now, by the monotonic clock: for waits on a
 * condition that has it. */
struct timespec groat__after_ms(double ms);

#endif
