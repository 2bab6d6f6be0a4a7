/* SPDX-License-Identifier: Apache-2.0
 *
 * test_table.c: names of kernels are found by all their bytes, through every
 * growth, up to the bound, and by readers without synchronisation.  Kernels are
 * never dereferenced here: they are numbers cast to pointers.
 */
#include "../suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "core/table.h"

enum { NAMES_MAX = 1 << 16, READERS = 4, RACED = 20000 };

static unsigned raced(void)
{
    return RACED / test_step();
}

static groat__kernel_table table;

static void setup(void)
{
    memset(&table, 0, sizeof(table));
}

static void teardown(void)
{
    groat__kernel_table_free(&table);
}

static groat_kernel *kernel(uintptr_t n)
{
    return (groat_kernel *)(n + 1);
}

static groat__kernel_name name_of(const char *first, const char *second)
{
    const groat__kernel_name name = {first, strlen(first), second,
                                     strlen(second)};

    return name;
}

static void add(const char *first, const char *second, uintptr_t n)
{
    groat__kernel_name name = name_of(first, second);

    groat__kernel_table_add(&table, &name, kernel(n), NAMES_MAX);
}

static groat_kernel *find(const char *first, const char *second)
{
    groat__kernel_name name = name_of(first, second);

    return groat__kernel_table_find(&table, &name);
}

/* Returns the name that a number stands for; its texts are in the arguments. */
static groat__kernel_name numbered(unsigned n, char first[24], char second[24])
{
    (void)snprintf(first, 24, "spec %u", n / 3);
    (void)snprintf(second, 24, "target %u", n % 3);
    return name_of(first, second);
}

static void add_number(unsigned n)
{
    char first[24];
    char second[24];
    groat__kernel_name name = numbered(n, first, second);

    groat__kernel_table_add(&table, &name, kernel(n), NAMES_MAX);
}

static groat_kernel *find_number(unsigned n)
{
    char first[24];
    char second[24];
    groat__kernel_name name = numbered(n, first, second);

    return groat__kernel_table_find(&table, &name);
}

/* ---- one thread -------------------------------------------------------- */

START_TEST(test_empty)
{
    ck_assert_ptr_null(find("a", "b"));
    ck_assert_ptr_null(find("", ""));
    groat__kernel_table_free(&table);
    ck_assert_ptr_null(find("a", "b"));
    add("a", "b", 1);
    ck_assert_ptr_eq(find("a", "b"), kernel(1));
}
END_TEST

START_TEST(test_both_parts_count)
{
    static const char *const names[][2] = {
        {"ab", "c"}, {"a", "bc"}, {"c", "ab"}, {"", "abc"}, {"abc", ""},
        {"", ""},    {"ab", ""},  {"", "ab"},  {"b", "b"},  {"a", "a"},
        {"ab", "d"}, {"bb", "c"}, {"abc", "c"}};

    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert_ptr_null(find(names[i][0], names[i][1]));
        add(names[i][0], names[i][1], i);
    }
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_ptr_eq(find(names[i][0], names[i][1]), kernel(i));
    ck_assert_uint_eq(table.count, COUNT(names));
}
END_TEST

START_TEST(test_any_bytes)
{
    char first[] = {'x', '\0', 'y'};
    const groat__kernel_name name = {first, 3, "\0\0", 2};
    const groat__kernel_name shorter = {first, 2, "\0\0", 2};
    groat__kernel_name copy;
    char bytes[] = {'x', '\0', 'y'};

    groat__kernel_table_add(&table, &name, kernel(1), NAMES_MAX);
    ck_assert_ptr_null(groat__kernel_table_find(&table, &shorter));
    /* The table copies the bytes and does not keep the caller's pointers. */
    copy = (groat__kernel_name){bytes, 3, "\0\0", 2};
    memset(first, '-', sizeof(first));
    ck_assert_ptr_eq(groat__kernel_table_find(&table, &copy), kernel(1));
    ck_assert_ptr_null(groat__kernel_table_find(&table, &name));
}
END_TEST

START_TEST(test_first_kernel_of_a_name_stays)
{
    add("a", "b", 1);
    add("a", "b", 2);
    ck_assert_ptr_eq(find("a", "b"), kernel(1));
    ck_assert_uint_eq(table.count, 1);
}
END_TEST

/* XXH3 of short inputs can be inverted: 16 bytes with the hash of 16 others,
 * and 16 bytes with the hash of their own first 8. */
#define TWIN_1                                                                 \
    "\xb9\x39\x42\xea\x7b\x73\x82\x67\xca\xfe\xfe\x2d\xcb\x10\x3e\x8a"
#define TWIN_2                                                                 \
    "\xb8\x39\x42\xea\x7b\x73\x82\x67\x42\x04\xa2\x1b\x43\xea\x62\xbd"
#define PREFIX                                                                 \
    "\xb9\x39\x42\xea\x7b\x73\x82\x67\x04\xbb\x84\x00\xad\x31\x53\xb0"
/* Hashes with "target 2" to the same value as "kernel A" with "target 1". */
#define KERNEL_B "\x6d\xcc\x1b\x1c\x37\x77\x7c\x14"

static uint64_t hash_of(const groat__kernel_name *name)
{
    return groat__hash64(name->first, name->first_bytes) ^
           groat__hash64(name->second, name->second_bytes) *
               0x9E3779B97F4A7C15u;
}

/* Names that differ in a part, or in its length, but share all 64 hash bits. */
START_TEST(test_two_names_of_one_hash)
{
    static const groat__kernel_name pairs[][2] = {
        {{"kernel A", 8, "target 1", 8}, {KERNEL_B, 8, "target 2", 8}},
        {{TWIN_1, 16, "t", 1}, {TWIN_2, 16, "t", 1}},
        {{"s", 1, TWIN_1, 16}, {"s", 1, TWIN_2, 16}},
        {{PREFIX, 16, "t", 1}, {PREFIX, 8, "t", 1}},
        {{"s", 1, PREFIX, 16}, {"s", 1, PREFIX, 8}}};
    const groat__kernel_name *one = &pairs[_i][0];
    const groat__kernel_name *two = &pairs[_i][1];

    ck_assert_msg(hash_of(one) == hash_of(two),
                  "the hash of names is another now: this needs other names");
    groat__kernel_table_add(&table, one, kernel(1), NAMES_MAX);
    ck_assert_ptr_null(groat__kernel_table_find(&table, two));
    groat__kernel_table_add(&table, two, kernel(2), NAMES_MAX);
    ck_assert_uint_eq(table.count, 2);
    ck_assert_ptr_eq(groat__kernel_table_find(&table, one), kernel(1));
    ck_assert_ptr_eq(groat__kernel_table_find(&table, two), kernel(2));
}
END_TEST

/* After every addition all added names are found, and no others. */
START_TEST(test_growth)
{
    for (unsigned n = 0; n < 300; n++) {
        add_number(n);
        ck_assert_uint_eq(table.count, n + 1);
        for (unsigned k = 0; k < 310; k++) {
            groat_kernel *found = find_number(k);

            if (found != (k <= n ? kernel(k) : NULL))
                ck_abort_msg("name %u of %u", k, n);
        }
    }
}
END_TEST

/* Up to the bound every name is found; beyond it no name is added and none is
 * lost.  With so many names, slots collide again and again. */
START_TEST(test_bound)
{
    for (unsigned n = 0; n < NAMES_MAX + 1000; n++)
        add_number(n);
    ck_assert_uint_eq(table.count, NAMES_MAX);
    for (unsigned n = 0; n < NAMES_MAX + 1000; n++)
        if (find_number(n) != (n < NAMES_MAX ? kernel(n) : NULL))
            ck_abort_msg("name %u", n);
    add_number(5);
    ck_assert_uint_eq(table.count, NAMES_MAX);
}
END_TEST

/* ---- many threads ------------------------------------------------------ */

typedef struct race {
    atomic_uint added; /* names below it can be found */
    atomic_uint wrong;
    atomic_uint looks;
    atomic_uint ready;
} race;

/* Reads concurrently: names that were added must be found, others may be, and a
 * kernel that is found is always the right one. */
static void *read_names(void *user)
{
    race *r = user;
    uint64_t random = atomic_fetch_add(&r->ready, 1);
    unsigned added = 0;

    while (added < raced()) {
        unsigned n = (unsigned)(next_random(&random) % raced());
        groat_kernel *found;

        added = atomic_load_explicit(&r->added, memory_order_acquire);
        if (next_random(&random) % 4 == 0) /* near the writer */
            n = added + n % 3;
        found = find_number(n);
        if (found == NULL ? n < added : found != kernel(n))
            (void)atomic_fetch_add(&r->wrong, 1);
        (void)atomic_fetch_add(&r->looks, 1);
    }
    return NULL;
}

START_TEST(test_readers_and_a_writer)
{
    pthread_t threads[READERS];
    race r = {0};

    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_names, &r), 0);
    while (atomic_load(&r.ready) < READERS)
        (void)sched_yield();
    for (unsigned n = 0; n < raced(); n++) {
        add_number(n);
        atomic_store_explicit(&r.added, n + 1, memory_order_release);
        if (n % 64 == 0)
            (void)sched_yield();
    }
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(atomic_load(&r.wrong), 0);
    ck_assert_uint_ge(atomic_load(&r.looks), READERS);
    for (unsigned n = 0; n < raced(); n++)
        if (find_number(n) != kernel(n))
            ck_abort_msg("name %u", n);
}
END_TEST

/* Writers take turns, as those of a context do. */
typedef struct turns {
    pthread_mutex_t lock;
    unsigned next;
} turns;

static void *write_names(void *user)
{
    turns *t = user;
    unsigned n = 0;

    while (n < raced()) {
        (void)pthread_mutex_lock(&t->lock);
        n = t->next++;
        add_number(n % raced());
        (void)pthread_mutex_unlock(&t->lock);
        if (find_number(n % raced()) != kernel(n % raced()))
            return t;
    }
    return NULL;
}

START_TEST(test_writers_in_turn)
{
    turns t = {PTHREAD_MUTEX_INITIALIZER, 0};
    pthread_t threads[READERS];

    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_names, &t), 0);
    for (int i = 0; i < READERS; i++) {
        void *failed = NULL;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(table.count, raced());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_empty);
    tcase_add_test(tcase, test_both_parts_count);
    tcase_add_test(tcase, test_any_bytes);
    tcase_add_test(tcase, test_first_kernel_of_a_name_stays);
    tcase_add_loop_test(tcase, test_two_names_of_one_hash, 0, 5);
    tcase_add_test(tcase, test_growth);
    tcase_add_test(tcase, test_bound);
    tcase_add_test(tcase, test_readers_and_a_writer);
    tcase_add_test(tcase, test_writers_in_turn);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
