/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation.h - one change of a kernel's source.
 */
#ifndef GROAT_TESTS_MUTATION_H
#define GROAT_TESTS_MUTATION_H

#include <check.h>
#include <string.h>

#include "tests/pipe/rig.h"

/* Replaces the n-th `from` behind the first `behind` by `to`.  A call is taken
 * out when `to` is empty, or ";". */
typedef struct mutation {
    const char *behind;
    const char *from;
    int nth;
    const char *to;
} mutation;

/* Returns the place that the mutation changes. */
static inline const char *mutation_find(const char *text, const mutation *m)
{
    const char *at = strstr(text, m->behind);

    ck_assert_msg(at != NULL, "the source has no '%s'", m->behind);
    at = strstr(at, m->from);
    for (int i = 0; i < m->nth && at != NULL; i++)
        at = strstr(at + 1, m->from);
    ck_assert_msg(at != NULL, "the source has no '%s' number %d behind '%s'",
                  m->from, m->nth, m->behind);
    return at;
}

/* Returns the text after one change; the caller frees it. */
static inline char *mutation_text(const char *text, const mutation *m)
{
    const char *at = mutation_find(text, m);
    groat__str out = {0};

    groat__str_addn(&out, text, (size_t)(at - text));
    groat__str_add(&out, m->to);
    groat__str_add(&out, at + strlen(m->from));
    return groat__str_take(&out);
}

/* Writes a file of family `name` with a text after one change. */
static inline void mutation_write(rig *r, const char *name, const char *file,
                                  const char *text, const mutation *m)
{
    char *changed = mutation_text(text, m);

    rig_write_source(r, name, file, changed);
    free(changed);
}

#endif
