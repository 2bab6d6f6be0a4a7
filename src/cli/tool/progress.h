/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.h - the progress line on a terminal.
 */
#ifndef GROAT_CLI_PROGRESS_H
#define GROAT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "groat.h"

/* Start from {.wanted = true} if a line on stderr can be erased. */
typedef struct groat__progress {
    bool wanted;        /* stderr is a terminal                               */
    _Atomic bool shown; /* the line is on screen, also by a launch's watch    */
    double shown_ms;    /* time of the last write                             */
} groat__progress;

/* Replaces the line by "[done/total] ...", cut to the terminal's width and to
 * 95 bytes; does nothing where it is not wanted. */
void groat__progress_show(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
    GROAT_PRINTF(4, 5);
/* The same, unless a line was shown less than 200 ms ago. */
void groat__progress_step(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
    GROAT_PRINTF(4, 5);
/* Erases the line; to be called before other output to the terminal. */
void groat__progress_clear(groat__progress *progress);

#endif
