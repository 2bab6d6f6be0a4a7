/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_THREAD_H
#define GROAT_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* As pthread_create, but the thread takes no signal.  False: there is none. */
bool groat__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

/* A mutex and a condition that goes by the monotonic clock.  False: there is
 * neither. */
bool groat__wait_init(pthread_mutex_t *lock, pthread_cond_t *changed);
void groat__wait_free(pthread_mutex_t *lock, pthread_cond_t *changed);

/* So many milliseconds from now: for waits on such a condition. */
struct timespec groat__after_ms(double ms);

#endif
