/* SPDX-License-Identifier: Apache-2.0
 *
 * process.c tells a process from its fork() children by a page that the kernel
 * zeroes in children (Linux 4.14).  No state of its own, so it needs no
 * locking.
 */
#include "base/process.h"

#include <sys/mman.h>

#include "base/error.h"

void groat__process_init(groat__process *process)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    unsigned *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    process->pid = getpid();
    process->page = NULL;
    if (page == MAP_FAILED)
        return;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, bytes);
        return;
    }
    *page = 1;
    process->page = page;
}

void groat__process_free(groat__process *process)
{
    if (process->page != NULL)
        (void)munmap((void *)(size_t)process->page,
                     (size_t)sysconf(_SC_PAGESIZE));
    process->page = NULL;
}

groat_status groat__fail_unusable(const char *what, const void *object,
                                  groat_error *error)
{
    if (object == NULL)
        return groat__fail(error, GROAT_INVALID, "the %s is NULL", what);
    return groat__fail(error, GROAT_INVALID,
                       "the context was opened before fork(): open one in the "
                       "child");
}
