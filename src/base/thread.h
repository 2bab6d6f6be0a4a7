/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_THREAD_H
#define GROAT_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Starts a thread that blocks all signals.  False: it could not be started. */
bool groat__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

/* Makes a mutex and a condition that uses the monotonic clock.  False: neither
 * was made. */
bool groat__wait_init(pthread_mutex_t *lock, pthread_cond_t *changed);
void groat__wait_free(pthread_mutex_t *lock, pthread_cond_t *changed);

/* Returns the time in `ms` milliseconds, for waits on such a condition. */
struct timespec groat__after_ms(double ms);

#endif
