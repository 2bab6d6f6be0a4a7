/* SPDX-License-Identifier: Apache-2.0
 *
 * held.c looks at stores through pointers once they have happened.
 */
#include "judge/held.h"

#include <string.h>

#include "judge/device.h"
#include "judge/fiber.h"

void groat__judge_hold(groat__judge *j, void *at, uint32_t bytes, bool device)
{
    groat__judge_held *held = &j->held;

    held->at = at;
    held->bytes = bytes;
    held->device = device;
    held->raced = j->failed;
    held->waited = false;
    memcpy(held->before, at, bytes);
    if (!j->failed)
        return;
    held->finding = j->finding;
    j->finding = (groat__judge_finding){0};
    j->failed = false;
}

void groat__judge_settle_store(groat__judge *j)
{
    groat__judge_held *held = &j->held;
    uint32_t bytes = held->bytes;
    bool changed = memcmp(held->before, held->at, bytes) != 0;

    held->bytes = 0;
    if (held->device)
        groat__judge_device_stored(j, (uint64_t)(uintptr_t)held->at, bytes,
                                   held->at, changed);
    if (!changed || !held->raced)
        return;
    j->finding = held->finding;
    j->failed = true;
    groat__judge_leave(j);
}
