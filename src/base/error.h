/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_ERROR_H
#define GROAT_BASE_ERROR_H

#include <stdbool.h>

#include "groat.h"

/* Whether there is an error object to fill: NULL and one that is shorter than
 * here, the caller's mistake, are left alone by all functions. */
bool groat__error_is_whole(const groat_error *error);

/* Fills *error (if not NULL) with status and a line of text; returns status, so
 * that a caller can `return groat__fail(error, GROAT_INVALID, ...)`.  Replaces
 * an earlier error; arguments may point into it. */
groat_status groat__fail(groat_error *error, groat_status status,
                         const char *format, ...) GROAT_PRINTF(3, 4);

/* Checks a caller's structure, whose first member is its size, before anything
 * else in it is read.  Errors: INVALID: at is NULL; "what.size is SEEN; it is
 * sizeof(type), LEAST". */
groat_status groat__check_size(groat_error *error, const char *what,
                               const char *type, const void *at, size_t least);

/* As groat__fail(), with the vendor's call and result in their own fields. */
groat_status groat__fail_vendor(groat_error *error, groat_status status,
                                const char *call, int code, const char *format,
                                ...) GROAT_PRINTF(5, 6);

/* Prepends words to the text of a failure. */
void groat__error_lead(groat_error *error, const char *format, ...)
    GROAT_PRINTF(2, 3);

/* Hands log (malloc'd, may be NULL) over to error; frees it if error is NULL.
 */
void groat__error_take_log(groat_error *error, char *log);

/* Copies a failure with its log, for the waiters of an in-flight build. */
void groat__error_copy(groat_error *to, const groat_error *from);

#endif
