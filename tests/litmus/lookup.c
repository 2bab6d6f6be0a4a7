/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.c: the wait-free look-up of core/table.c, in every execution that
 * C11's memory model allows: a writer adds two names while a reader looks for
 * them.  A view has one slot here, so the second name needs another view.  The
 * reader finds nothing, or the complete entry of its name.
 */
#include "tests/litmus/small.h"

#define GROAT__TABLE_FIRST_SLOTS 2
#include "src/core/table.c"

static groat__kernel_table table;
static int first, second;
static const unsigned char a = 1, b = 3;

static groat__kernel_name name_of(const unsigned char *byte)
{
    return (groat__kernel_name){byte, 1, byte, 0};
}

static void *write_two(void *unused)
{
    groat__kernel_name one = name_of(&a), two = name_of(&b);

    groat__kernel_table_add(&table, &one, (groat_kernel *)&first, 100);
    groat__kernel_table_add(&table, &two, (groat_kernel *)&second, 100);
    return unused;
}

static void *read_two(void *unused)
{
    groat__kernel_name one = name_of(&a), two = name_of(&b);
    groat_kernel *later = groat__kernel_table_find(&table, &two);
    groat_kernel *found = groat__kernel_table_find(&table, &one);

    assert(found == NULL || found == (groat_kernel *)&first);
    assert(later == NULL || later == (groat_kernel *)&second);
    /* A reader that sees the second name also sees the first. */
    assert(later == NULL || found != NULL);
    return unused;
}

int main(void)
{
    pthread_t writer, reader;

    if (pthread_create(&writer, NULL, write_two, NULL) != 0 ||
        pthread_create(&reader, NULL, read_two, NULL) != 0)
        return 1;
    return 0;
}
