/* SPDX-License-Identifier: Apache-2.0
 *
 * process.c tells a process from its fork() children by a page that the kernel
 * zeroes in children (Linux 4.14).
 * Locking: none; the process's own page and number are atomic.
 */
#include "base/process.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/error.h"

/* The page of groat__process_number(): 0 until the process has its number. */
static _Atomic(atomic_int *) process_page;
/* The number given last to this process or a parent. */
static atomic_int process_numbers;

/* Returns a page of zeros that the kernel zeroes in children, or NULL. */
static void *make_page(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
        return page;
    (void)munmap(page, bytes);
    return NULL;
}

static atomic_int *find_page(void)
{
    atomic_int *page = atomic_load(&process_page);
    atomic_int *made;

    if (page != NULL || (made = make_page()) == NULL)
        return page;
    if (atomic_compare_exchange_strong(&process_page, &page, made))
        return made;
    (void)munmap(made, (size_t)sysconf(_SC_PAGESIZE));
    return page;
}

/* page may be NULL. */
static int number_of(atomic_int *page)
{
    int number = page == NULL ? (int)getpid() : atomic_load(page);

    if (number == 0) {
        int next = atomic_fetch_add(&process_numbers, 1) + 1;

        if (atomic_compare_exchange_strong(page, &number, next))
            number = next;
    }
    return number;
}

int groat__process_number(void)
{
    return number_of(find_page());
}

void groat__process_init(groat__process *process)
{
    atomic_int *page = find_page();

    process->number = number_of(page);
    process->page = page;
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
