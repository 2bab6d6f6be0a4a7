/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.c: the wait-free look-up of core/table.c itself, a writer that adds
 * two names beside a reader that looks for them, in every execution that C11's
 * memory model allows.  A view has one slot here, so the second name makes
 * another view.  The reader finds nothing, or the whole entry of its name.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROAT_BASE_HASH_H
/* Names are a byte, which is its own hash. */
static uint64_t groat__hash64(const void *bytes, size_t count)
{
    return count == 0 ? 0 : *(const unsigned char *)bytes;
}

static int compare(const unsigned char *a, const unsigned char *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return 1;
    return 0;
}

static void copy(unsigned char *to, const unsigned char *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

static void *zeroed(size_t bytes);

#define memcmp(a, b, n)          compare((const void *)(a), (const void *)(b), n)
#define memcpy(to, f, n)         copy((void *)(to), (const void *)(f), n)
#define calloc(n, bytes)         zeroed(bytes)
#define GROAT__TABLE_FIRST_SLOTS 2
#include "src/core/table.c"

static void *zeroed(size_t bytes)
{
    void *at = malloc(bytes);

    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)at)[i] = 0;
    return at;
}

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

    groat__kernel_table_add(&table, &one, (groat_kernel *)&first);
    groat__kernel_table_add(&table, &two, (groat_kernel *)&second);
    return unused;
}

static void *read_two(void *unused)
{
    groat__kernel_name one = name_of(&a), two = name_of(&b);
    groat_kernel *later = groat__kernel_table_find(&table, &two);
    groat_kernel *found = groat__kernel_table_find(&table, &one);

    assert(found == NULL || found == (groat_kernel *)&first);
    assert(later == NULL || later == (groat_kernel *)&second);
    /* Who has seen the second name sees the first. */
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
