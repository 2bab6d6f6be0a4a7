/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c writes JSON values as text in memory of our own: json_dumps() takes
 * its text from the allocator that a program may have given Jansson.
 */
#include "core/json.h"

static int append(const char *text, size_t len, void *out)
{
    groat__str_addn(out, text, len);
    return 0;
}

void groat__json_write(groat__str *out, const json_t *value, size_t flags)
{
    if (json_dump_callback(value, append, out, flags) != 0)
        out->failed = true;
}
