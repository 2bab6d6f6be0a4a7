/* SPDX-License-Identifier: Apache-2.0
 *
 * error.c owns the filling and copying of groat_error.  Invariant: text is
 * always NUL-terminated, UTF-8 and one line, whatever went into it: a hostile
 * spec or path must not reach a terminal or a log file as it is.  log is NULL
 * or malloc'd and owned by the structure.  No locking: an error belongs to the
 * thread that passed it.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

const char *groat_status_name(groat_status status)
{
    switch (status) {
    case GROAT_OK:
        return "ok";
    case GROAT_INVALID:
        return "invalid";
    case GROAT_NO_MEMORY:
        return "out of memory";
    case GROAT_NO_DEVICE:
        return "no device";
    case GROAT_COMPILE_FAILED:
        return "compile failed";
    case GROAT_LOAD_FAILED:
        return "load failed";
    case GROAT_LAUNCH_FAILED:
        return "launch failed";
    case GROAT_JUDGED:
        return "judged wrong";
    case GROAT_IO:
        return "input/output error";
    case GROAT_SEALED:
        return "sealed";
    case GROAT_TIMED_OUT:
        return "timed out";
    case GROAT_CAPTURING:
        return "capturing";
    }
    return "unknown status";
}

bool groat__error_is_whole(const groat_error *error)
{
    return error != NULL && error->size >= sizeof(*error);
}

void groat_error_clear(groat_error *error)
{
    if (!groat__error_is_whole(error))
        return;
    free(error->log);
    error->log = NULL;
    error->status = GROAT_OK;
    error->vendor_code = 0;
    error->vendor_call[0] = '\0';
    error->text[0] = '\0';
}

static void fill(groat_error *error, groat_status status, const char *call,
                 int code, const char *format, va_list args)
{
    char text[GROAT_ERROR_TEXT] = "";

    if (!groat__error_is_whole(error))
        return;
    /* Format first: the arguments may point into the error. */
    (void)vsnprintf(text, sizeof(text), format, args);
    groat__one_line(text);
    groat_error_clear(error);
    error->status = status;
    error->vendor_code = code;
    (void)snprintf(error->vendor_call, sizeof(error->vendor_call), "%s", call);
    memcpy(error->text, text, sizeof(text));
}

groat_status groat__fail(groat_error *error, groat_status status,
                         const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(error, status, "", 0, format, args);
    va_end(args);
    return status;
}

groat_status groat__fail_vendor(groat_error *error, groat_status status,
                                const char *call, int code, const char *format,
                                ...)
{
    va_list args;

    va_start(args, format);
    fill(error, status, call, code, format, args);
    va_end(args);
    return status;
}

void groat__error_lead(groat_error *error, const char *format, ...)
{
    char text[2 * GROAT_ERROR_TEXT] = "";
    va_list args;
    size_t len;

    va_start(args, format);
    (void)vsnprintf(text, GROAT_ERROR_TEXT, format, args);
    va_end(args);
    len = strlen(text);
    (void)snprintf(text + len, sizeof(text) - len, "%s", error->text);
    text[sizeof(error->text) - 1] = '\0';
    groat__one_line(text);
    memcpy(error->text, text, sizeof(error->text));
}

void groat__error_take_log(groat_error *error, char *log)
{
    if (!groat__error_is_whole(error)) {
        free(log);
        return;
    }
    free(error->log);
    error->log = log;
}

void groat__error_copy(groat_error *to, const groat_error *from)
{
    if (!groat__error_is_whole(to))
        return;
    groat_error_clear(to);
    to->status = from->status;
    to->vendor_code = from->vendor_code;
    memcpy(to->vendor_call, from->vendor_call, sizeof(to->vendor_call));
    memcpy(to->text, from->text, sizeof(to->text));
    if (from->log != NULL)
        to->log = strdup(from->log);
}

groat_status groat__check_size(groat_error *error, const char *what,
                               const char *type, const void *at, size_t least)
{
    size_t seen = 0;

    if (at == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "%s is NULL; it is a %s, with its size set", what,
                           type);
    memcpy(&seen, at, sizeof(seen));
    return seen >= least ? GROAT_OK
                         : groat__fail(error, GROAT_INVALID,
                                       "%s.size is %zu; it is sizeof(%s), %zu",
                                       what, seen, type, least);
}
