/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.c - the progress line.
 *
 * Owns the last line of the terminal while it is shown; other code clears it
 * before it writes to the terminal (cli.c does so for all messages).
 * Invariant: nothing is written where stderr is not a terminal.
 */
#include "cli/tool/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

static void show(groat__progress *progress, uint64_t done, uint64_t total,
                 const char *format, va_list args)
{
    struct winsize size = {.ws_col = 0};
    char line[96];
    int len;

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    len =
        snprintf(line, sizeof(line), "[%" PRIu64 "/%" PRIu64 "] ", done, total);
    (void)vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
    if (size.ws_col > 0 && size.ws_col <= strlen(line))
        line[size.ws_col - 1] = '\0'; /* a second row would stay */
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    progress->shown = true;
    progress->shown_ms = groat__now_ms();
}

void groat__progress_show(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
{
    va_list args;

    if (!progress->wanted)
        return;
    va_start(args, format);
    show(progress, done, total, format, args);
    va_end(args);
}

void groat__progress_step(groat__progress *progress, uint64_t done,
                          uint64_t total, const char *format, ...)
{
    enum { BETWEEN_MS = 200 };
    va_list args;

    if (!progress->wanted || groat__now_ms() < progress->shown_ms + BETWEEN_MS)
        return;
    va_start(args, format);
    show(progress, done, total, format, args);
    va_end(args);
}

void groat__progress_clear(groat__progress *progress)
{
    if (!progress->shown)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->shown = false;
}
