/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.c counts faults and evictions, and passes them to the USDT probes.
 */
#include "cache/internal.h"

void groat__store_evicted(groat__store *store, const char *why, uint64_t count)
{
    if (count > 0)
        GROAT__PROBE3(evict, store->path, why, count);
    store->evictions += count;
}

void groat__store_faulted(groat__store *store, const char *what)
{
    GROAT__PROBE2(fault, store->path, what);
    store->faults++;
}
