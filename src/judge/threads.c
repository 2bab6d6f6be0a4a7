/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.c names threads that are alike together.
 */
#include "judge/threads.h"

enum { RANGES_MAX = 8 /* of numbers, in one list */ };

static void add_range(const groat__judge *j, size_t first, size_t last,
                      size_t ranges, groat__str *out)
{
    if (ranges == RANGES_MAX)
        groat__str_add(out, ", ...");
    if (ranges >= RANGES_MAX)
        return;
    groat__str_addf(out, "%s%zu", ranges == 0 ? "" : ", ",
                    groat__judge_thread_of(j, first));
    if (last > first)
        groat__str_addf(out, "-%zu", groat__judge_thread_of(j, last));
}

size_t groat__judge_add_threads(const groat__judge *j, size_t like,
                                groat__judge_alike_fn *alike, groat__str *out)
{
    size_t rank = groat__judge_rank_of(j, like);
    size_t end = (rank + 1) * j->threads;
    size_t count = 0;
    size_t ranges = 0;

    if (j->block_count > 1)
        groat__str_addf(out, "in block %zu of the cluster ", rank);
    groat__str_add(out, "thread ");
    for (size_t t = rank * j->threads; t < end; t++) {
        size_t last = t;

        if (!alike(j, like, t))
            continue;
        while (last + 1 < end && alike(j, like, last + 1))
            last++;
        add_range(j, t, last, ranges++, out);
        count += last + 1 - t;
        t = last;
    }
    return count;
}

bool groat__judge_told_before(const groat__judge *j, size_t fiber,
                              groat__judge_alike_fn *alike)
{
    for (size_t t = 0; t < fiber; t++)
        if (alike(j, t, fiber))
            return true;
    return false;
}
