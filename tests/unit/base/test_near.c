/* SPDX-License-Identifier: Apache-2.0
 *
 * test_near.c: which name is taken for a mistyped one: the nearest, by as many
 * edits as still count as a slip.
 */
#include "../suite.h"

#include "base/near.h"

/* Tries the names in order; NULL: none is near. */
static const char *nearest(const char *typed, const char *const *names)
{
    groat__near near;

    groat__near_start(&near, typed, strlen(typed));
    for (; *names != NULL; names++)
        groat__near_try(&near, *names, strlen(*names));
    return near.found;
}

START_TEST(the_nearest)
{
    static const char *const names[] = {
        "sequences_of_the_batch", "head_dim", "heads", "run", "go", NULL};
    static const struct {
        const char *typed, *found;
    } rows[] = {
        {"head_dim", "head_dim"},
        {"head-dim", "head_dim"},
        {"head_di", "head_dim"},
        {"hed_dmi", NULL},
        {"haed_dim", "head_dim"},
        {"sequences", "sequences_of_the_batch"},
        {"equences", NULL},
        {"seq", NULL},
        {"heds", "heads"},
        {"headss", "heads"},
        {"eads", "heads"},
        {"rn", "run"},
        {"runn", "run"},
        {"rnx", "run"},
        {"xyz", NULL},
        {"gp", "go"},
        {"xp", NULL},
        {"g", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *found = nearest(rows[i].typed, names);

        ck_assert_msg(rows[i].found == NULL
                          ? found == NULL
                          : found != NULL && strcmp(found, rows[i].found) == 0,
                      "%s: %s", rows[i].typed, found ? found : "none");
    }
}
END_TEST

/* Of 63 characters at most what is typed, of 64 a name. */
START_TEST(long_names)
{
    char typed[65] = "";
    char name[66] = "";
    const char *names[] = {name, NULL};

    memset(typed, 'a', 63);
    memset(name, 'a', 64);
    ck_assert_ptr_eq(nearest(typed, names), name);
    name[64] = 'a';
    ck_assert_ptr_null(nearest(typed, names));
    name[63] = '\0';
    typed[63] = 'a';
    ck_assert_ptr_null(nearest(typed, names));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("near");
    TCase *tcase = tcase_create("near");

    tcase_add_test(tcase, the_nearest);
    tcase_add_test(tcase, long_names);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
