/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_ERROR_H
#define GROAT_BASE_ERROR_H

#include "groat.h"

/* Fills *error (if not NULL) with status and a line of text; returns status,
 * so that a caller can `return groat__fail(error, GROAT_INVALID, ...)`.  What
 * was in *error is gone; arguments may point into it. */
groat_status groat__fail(groat_error *error, groat_status status,
                         const char *format, ...) GROAT_PRINTF(3, 4);

/* Checks a structure of the caller's, whose first member is its size, before
 * anything else of it is read.  Errors: INVALID: at is NULL; "what.size is
 * SEEN; it is sizeof(type), LEAST". */
groat_status groat__check_size(groat_error *error, const char *what,
                               const char *type, const void *at, size_t least);

/* The same, with the vendor's call and its result in fields of their own. */
groat_status groat__fail_vendor(groat_error *error, groat_status status,
                                const char *call, int code, const char *format,
                                ...) GROAT_PRINTF(5, 6);

/* Puts words before the text of a failure. */
void groat__error_lead(groat_error *error, const char *format, ...)
    GROAT_PRINTF(2, 3);

/* Hands log (malloc'd, may be NULL) over to error; frees it if error is NULL.
 */
void groat__error_take_log(groat_error *error, char *log);

/* Copies status, text and log, as waiters of one compile share its failure. */
void groat__error_copy(groat_error *to, const groat_error *from);

#endif
