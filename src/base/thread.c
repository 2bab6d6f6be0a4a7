/* SPDX-License-Identifier: Apache-2.0
 *
 * thread.c starts background threads, with all signals blocked, and gives
 * deadlines for waits.
 * Locking: none.
 */
#include "base/thread.h"

#include <signal.h>

bool groat__thread_start(pthread_t *thread, void *(*run)(void *), void *user)
{
    sigset_t before;
    sigset_t all;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, NULL, run, user);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}

bool groat__wait_init(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    bool good = false;

    if (pthread_mutex_init(lock, NULL) != 0)
        return false;
    if (pthread_condattr_init(&attributes) == 0) {
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        good = pthread_cond_init(changed, &attributes) == 0;
        (void)pthread_condattr_destroy(&attributes);
    }
    if (!good)
        (void)pthread_mutex_destroy(lock);
    return good;
}

void groat__wait_free(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    (void)pthread_cond_destroy(changed);
    (void)pthread_mutex_destroy(lock);
}

struct timespec groat__after_ms(double ms)
{
    struct timespec t = {0, 0};
    time_t seconds = (time_t)(ms / 1000);

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += seconds;
    t.tv_nsec += (long)((ms - 1000.0 * (double)seconds) * 1e6);
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}
