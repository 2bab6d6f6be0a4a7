/* SPDX-License-Identifier: Apache-2.0
 *
 * held.c looks at stores through pointers once they have happened, and at loads
 * that race once it is known what their thread does next.
 */
#include "judge/held.h"

#include <stdlib.h>
#include <string.h>

#include "judge/device.h"
#include "judge/fiber.h"

void groat__judge_hold(groat__judge *j, void *at, size_t bytes, bool device)
{
    groat__judge_held *held = &j->held;
    uint8_t *before = held->before;

    if (bytes > held->cap) {
        before = realloc(before, bytes);
        if (before == NULL)
            groat__judge_starve(j);
        held->before = before;
        held->cap = bytes;
    }
    memcpy(before, at, bytes);
    held->at = at;
    held->bytes = bytes;
    held->site = groat__judge_fiber(j)->site;
    held->device = device;
    held->load = false;
    held->waited = false;
    if (device)
        return;
    held->finding = j->finding;
    j->finding = (groat__judge_finding){0};
    j->failed = false;
}

void groat__judge_hold_load(groat__judge *j, void *at, size_t bytes)
{
    groat__judge_hold(j, at, bytes, false);
    j->held.load = true;
}

void groat__judge_settle_store(groat__judge *j)
{
    groat__judge_held *held = &j->held;
    groat__fiber *fiber = groat__judge_fiber(j);
    size_t bytes = held->bytes;
    int32_t site = fiber->site;

    held->bytes = 0;
    if (held->device) {
        /* A later access of the thread may have been told of. */
        fiber->site = held->site;
        groat__judge_device_store(j, (uint64_t)(uintptr_t)held->at, bytes,
                                  held->before, held->at);
        fiber->site = site;
        return;
    }
    if (!held->load && memcmp(held->before, held->at, bytes) == 0)
        return;
    j->finding = held->finding;
    j->failed = true;
    groat__judge_leave(j);
}
