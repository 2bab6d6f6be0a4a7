/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.c - the progress line.
 *
 * Owns the last line of the terminal while it is shown; whoever else writes to
 * the terminal clears it first (main.c does so for all talk).
 * Invariant: where stderr is no terminal not one byte is written.
 */
#include "cli/tool/progress.h"

#include <stdarg.h>
#include <stdio.h>

void groat__progress_show(groat__progress *progress, size_t done, size_t total,
                          const char *format, ...)
{
    char line[64];
    va_list args;

    if (!progress->wanted)
        return;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    (void)fprintf(stderr, "\r\033[K[%zu/%zu] %s", done, total, line);
    (void)fflush(stderr);
    progress->shown = true;
}

void groat__progress_clear(groat__progress *progress)
{
    if (!progress->shown)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->shown = false;
}
