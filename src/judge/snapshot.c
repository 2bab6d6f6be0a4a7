/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.c keeps lines of device memory before they are stored to, and puts
 * them back.
 */
#include "judge/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Makes room for one more line.  False: no memory, or too many. */
static bool make_room(groat__snapshot *s)
{
    enum { MOST = 1 << 24 };

    return s->count < MOST &&
           groat__grow(&s->lines, s->count + 1, &s->cap, sizeof(*s->lines));
}

/* Copies a line's bytes from memory, or to it. */
static void copy(groat__snapshot_line *line, bool back)
{
    uint8_t *memory = (uint8_t *)(uintptr_t)line->address + line->from;
    uint8_t *kept = line->bytes + line->from;
    size_t bytes = (size_t)(line->to - line->from);

    if (back)
        memcpy(memory, kept, bytes);
    else
        memcpy(kept, memory, bytes);
}

void groat__snapshot_keep(groat__snapshot *snapshot,
                          const groat__snapshot_line *which)
{
    groat__snapshot_line *line;

    if (groat__index_find(&snapshot->index, which->address) != 0)
        return;
    if (!make_room(snapshot) ||
        !groat__index_add(&snapshot->index, which->address,
                          (uint32_t)snapshot->count + 1)) {
        snapshot->lost = true;
        return;
    }
    line = &snapshot->lines[snapshot->count++];
    *line = *which;
    copy(line, false);
}

void groat__snapshot_restore(const groat__snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        copy(&snapshot->lines[i], true);
}

void groat__snapshot_drop(groat__snapshot *snapshot)
{
    free(snapshot->lines);
    groat__index_drop(&snapshot->index);
}
