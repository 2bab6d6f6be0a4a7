/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool groat__grow(void *items, size_t needed, size_t *cap, size_t bytes)
{
    enum { FIRST = 64 };
    size_t more = *cap == 0 ? FIRST : *cap;
    void *grown;

    if (needed <= *cap)
        return true;
    while (more < needed)
        more *= 2;
    /* The pointer's own type is the caller's: its bytes are copied. */
    memcpy(&grown, items, sizeof(grown));
    grown = more > SIZE_MAX / bytes ? NULL : realloc(grown, more * bytes);
    if (grown == NULL)
        return false;
    memcpy(items, &grown, sizeof(grown));
    *cap = more;
    return true;
}
