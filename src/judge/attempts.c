/* SPDX-License-Identifier: Apache-2.0
 *
 * attempts.c recognizes plain loads whose value an atomic operation then
 * confirms: "old = *p; do ... atomicCAS(p, old, ...)", as in CUDA's guide.
 * They race with the atomic operations of others, and nothing comes of it.
 * Owns the places of such loads in the running cluster: a thread that ends such
 * a loop at once, as its value is large enough, loads at the same place.
 */
#include "judge/attempts.h"

#include "judge/fiber.h"

void groat__judge_attempt(groat__judge *j, uint32_t address)
{
    j->attempts.address = address;
    j->attempts.calls = j->calls;
    j->attempts.site = groat__judge_fiber(j)->site;
}

bool groat__judge_is_attempt(const groat__judge *j, int32_t site)
{
    for (size_t i = 0; i < j->attempts.count; i++)
        if (j->attempts.sites[i] == site)
            return true;
    return false;
}

void groat__judge_attempt_ends(groat__judge *j, uint32_t address)
{
    groat__judge_attempts *all = &j->attempts;

    if (all->address == address && all->calls + 1 == j->calls &&
        all->count < GROAT__JUDGE_ATTEMPTS &&
        !groat__judge_is_attempt(j, all->site))
        all->sites[all->count++] = all->site;
}
