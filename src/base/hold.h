/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_HOLD_H
#define GROAT_BASE_HOLD_H

#include <signal.h>
#include <stdbool.h>

/* Holds back a signal that a call of the thread itself may raise and that would
 * end the program: SIGXFSZ, SIGPIPE.  The failed call still sets errno. */
typedef struct groat__hold {
    int signal;
    sigset_t before;
    bool pending; /* was pending before; stays so */
} groat__hold;

void groat__hold_begin(groat__hold *hold, int signal);
/* Call it in the same thread; errno is kept. */
void groat__hold_end(groat__hold *hold);

#endif
