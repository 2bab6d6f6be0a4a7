/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.h - one line on a terminal that says what is being waited for.
 */
#ifndef GROAT_CLI_PROGRESS_H
#define GROAT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "groat.h"

/* Start from {.wanted = isatty(2)}. */
typedef struct groat__progress {
    bool wanted;     /* stderr is a terminal           */
    bool shown;      /* a line stands there and is ours */
    double shown_ms; /* when it was written last */
} groat__progress;

/* Replaces the line by "[done/total] ...", cut to 78 columns; does nothing
 * where it is not wanted. */
void groat__progress_show(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
    GROAT_PRINTF(4, 5);
/* The same, unless a line was shown less than 200 ms ago. */
void groat__progress_step(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
    GROAT_PRINTF(4, 5);
/* Takes the line away, before anything else goes to the terminal. */
void groat__progress_clear(groat__progress *progress);

#endif
