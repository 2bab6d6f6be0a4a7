/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_HOLD_H
#define GROAT_BASE_HOLD_H

#include <signal.h>
#include <stdbool.h>

/* A thread that does what raises a signal of its own, which would end the
 * program: SIGXFSZ, SIGPIPE.  The call that fails says why all the same. */
typedef struct groat__hold {
    int signal;
    sigset_t before;
    bool pending; /* before, too: not ours to take */
} groat__hold;

void groat__hold_begin(groat__hold *hold, int signal);
/* In the same thread; errno stays. */
void groat__hold_end(groat__hold *hold);

#endif
