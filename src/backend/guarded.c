/* SPDX-License-Identifier: Apache-2.0
 *
 * guarded.c maps memory between ranges of addresses that nothing may use.
 */
#include "backend/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 256, GUARD = 64 << 20 };

/* What the memory takes, in whole pages. */
static size_t taken(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + ALIGN + page - 1) / page * page;
}

static size_t start_of(size_t bytes)
{
    return GUARD + (taken(bytes) - bytes) / ALIGN * ALIGN;
}

uint8_t *groat__guarded_map(size_t bytes)
{
    size_t all = taken(bytes) + 2 * (size_t)GUARD;
    uint8_t *map =
        mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map + GUARD, taken(bytes), PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(map, all);
        return NULL;
    }
    return map + start_of(bytes);
}

void groat__guarded_unmap(uint8_t *memory, size_t bytes)
{
    (void)munmap(memory - start_of(bytes), taken(bytes) + 2 * (size_t)GUARD);
}
