/* SPDX-License-Identifier: Apache-2.0
 *
 * log.c formats a line for the program's log callback.  The library never
 * prints; without a callback a line is dropped.  Like an error's text, a line
 * is made harmless.
 */
#include "base/log.h"

#include "base/str.h"

void groat__log_line(const groat__log *log, int level, const char *format, ...)
{
    groat__str line = {0};
    va_list args;

    if (log == NULL || log->fn == NULL)
        return;
    va_start(args, format);
    groat__str_addv(&line, format, args);
    va_end(args);
    if (!line.failed && line.data != NULL) {
        groat__one_line(line.data);
        log->fn(log->user, level, line.data);
    }
    groat__str_free(&line);
}
