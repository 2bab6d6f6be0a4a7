/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_LOG_H
#define GROAT_BASE_LOG_H

#include "groat.h"

/* Where a context's messages go; copied by value. */
typedef struct groat__log {
    groat_log_fn *fn; /* NULL: messages are dropped */
    void *user;
} groat__log;

void groat__log_line(const groat__log *log, int level, const char *format, ...)
    GROAT_PRINTF(3, 4);

#endif
