/* SPDX-License-Identifier: Apache-2.0
 *
 * hold.c keeps a signal that a thread raises itself from ending the program,
 * whatever handler the program has set for it.  No locking: a thread's mask is
 * its own.
 */
#include "base/hold.h"

#include <errno.h>
#include <time.h>

void groat__hold_begin(groat__hold *hold, int signal)
{
    sigset_t set;

    hold->signal = signal;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, signal);
    (void)pthread_sigmask(SIG_BLOCK, &set, &hold->before);
    (void)sigpending(&set);
    hold->pending = sigismember(&set, signal) == 1;
}

void groat__hold_end(groat__hold *hold)
{
    const struct timespec now = {0, 0};
    int reason = errno;
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, hold->signal);
    if (!hold->pending)
        (void)sigtimedwait(&set, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
    errno = reason;
}
