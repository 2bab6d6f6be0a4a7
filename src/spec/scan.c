/* SPDX-License-Identifier: Apache-2.0
 *
 * scan.c moves through the text of an expression.  No state.
 */
#include "spec/scan.h"

#include <string.h>

void groat__scan_fail(groat__scan *scan, const char *why)
{
    if (scan->failure == NULL)
        scan->failure = why;
}

char groat__scan_next(const groat__scan *scan)
{
    return scan->at < scan->len ? scan->text[scan->at] : '\0';
}

void groat__scan_blanks(groat__scan *scan)
{
    while (groat__scan_next(scan) != '\0' &&
           strchr(scan->blanks, groat__scan_next(scan)) != NULL)
        scan->at++;
}

bool groat__scan_take(groat__scan *scan, const char *token)
{
    size_t len = strlen(token);

    groat__scan_blanks(scan);
    if (scan->len - scan->at < len ||
        memcmp(scan->text + scan->at, token, len) != 0)
        return false;
    scan->at += len;
    return true;
}

bool groat__scan_descend(groat__scan *scan)
{
    if (scan->failure == NULL && ++scan->nesting > GROAT__SCAN_NESTING)
        groat__scan_fail(scan, "the expression is nested too deeply");
    return scan->failure == NULL;
}
