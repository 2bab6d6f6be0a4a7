/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.c reads the clock that measures all spans of time.
 */
#include "base/clock.h"

#include <time.h>

uint64_t groat__now_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double groat__now_ms(void)
{
    return (double)groat__now_ns() * 1e-6;
}
