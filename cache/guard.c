/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.c counts the threads that are in SQLite or about to enter it: a child
 * that is forked meanwhile cannot use SQLite.
 */
#include "cache/internal.h"

static atomic_uint sqlite_calls;

void groat__sqlite_enter(void)
{
    (void)atomic_fetch_add(&sqlite_calls, 1);
}

void groat__sqlite_leave(void)
{
    (void)atomic_fetch_sub(&sqlite_calls, 1);
}

bool groat__sqlite_is_used(void)
{
    return atomic_load(&sqlite_calls) != 0;
}
