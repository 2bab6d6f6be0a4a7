/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate.h - families of the library under other names, with one thing changed
 * in their source: a wait, a barrier, a count.  The files of common/ that a
 * family includes are put in place, so a mutant may change those too; the
 * vendor's primitives are what they are.
 */
#ifndef GROAT_TESTS_MUTATE_H
#define GROAT_TESTS_MUTATE_H

#include "spec/family.h"
#include "tests/pipe/rig.h"

/* One change: the n-th `from` behind the first `behind` becomes `to`. */
typedef struct mutation {
    const char *behind;
    const char *from;
    int nth;
    const char *to;
} mutation;

static inline bool mutate_is_vendor(const char *name, size_t len)
{
    return (len >= 6 && memcmp(name, "vendor", 6) == 0) ||
           (len >= 9 && memcmp(name, "cpu_hooks", 9) == 0);
}

/* Puts the files of common/ in place, each once. */
static inline void mutate_inline(const char *text, groat__str *seen,
                                 groat__str *out)
{
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n") + (line[strcspn(line, "\n")] != '\0');
        const char *name = NULL;
        char path[80];
        char mark[64];
        size_t chars;

        if (strncmp(line, "#include \"../common/", 20) == 0)
            name = line + 20;
        else if (strncmp(line, "#include \"", 10) == 0 && seen->len > 0)
            name = line + 10;
        chars = name == NULL ? 0 : strcspn(name, "\"");
        if (name == NULL || strncmp(name, "params.h", 8) == 0 ||
            strncmp(name, "args.h", 6) == 0) {
            if (strncmp(line, "#pragma once", 12) != 0)
                groat__str_addn(out, line, len);
        } else if (mutate_is_vendor(name, chars)) {
            groat__str_addf(out, "#include \"../common/%.*s\"\n", (int)chars,
                            name);
        } else {
            (void)snprintf(path, sizeof(path), "common/%.*s", (int)chars, name);
            (void)snprintf(mark, sizeof(mark), "<%.*s>", (int)chars, name);
            if (seen->len == 0 || strstr(seen->data, mark) == NULL) {
                groat__str_add(seen, mark);
                ck_assert_msg(groat__embedded_find(path) != NULL, "no %s",
                              path);
                mutate_inline(groat__embedded_find(path), seen, out);
            }
        }
        line += len;
    }
}

/* The source of a family as mutations see it; free it. */
static inline char *mutate_source(const char *family)
{
    groat__str seen = {0};
    groat__str out = {0};
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/%s.h", family, family);
    ck_assert_msg(groat__embedded_find(path) != NULL, "no %s", path);
    mutate_inline(groat__embedded_find(path), &seen, &out);
    groat__str_free(&seen);
    return groat__str_take(&out);
}

/* text after one change; free it. */
static inline char *mutate_text(const char *text, const mutation *m)
{
    const char *at = strstr(text, m->behind);
    groat__str out = {0};

    ck_assert_msg(at != NULL, "the source has no '%s'", m->behind);
    at = strstr(at, m->from);
    for (int i = 0; i < m->nth && at != NULL; i++)
        at = strstr(at + 1, m->from);
    ck_assert_msg(at != NULL, "the source has no '%s' number %d behind '%s'",
                  m->from, m->nth, m->behind);
    groat__str_addn(&out, text, (size_t)(at - text));
    groat__str_add(&out, m->to);
    groat__str_add(&out, at + strlen(m->from));
    return groat__str_take(&out);
}

/* Writes the family `name`: `family` with its source changed. */
static inline void mutate_family(rig *r, const char *family, const char *name,
                                 const mutation *m)
{
    const mutation rename = {"family ", family, 0, name};
    char path[160];
    char file[80];
    char *source = mutate_source(family);
    char *text;

    (void)snprintf(path, sizeof(path), "%s/args.h", family);
    rig_write_source(r, name, "args.h", groat__embedded_find(path));
    (void)snprintf(path, sizeof(path), "%s/params.def", family);
    text = mutate_text(groat__embedded_find(path), &rename);
    rig_write_source(r, name, "params.def", text);
    free(text);
    (void)snprintf(file, sizeof(file), "%s.h", name);
    text = mutate_text(source, m);
    rig_write_source(r, name, file, text);
    free(text);
    free(source);
}

/* How often `call` stands in the family's source. */
static inline int mutate_count(const char *family, const char *call)
{
    char *source = mutate_source(family);
    int count = 0;

    for (const char *at = strstr(source, call); at != NULL;
         at = strstr(at + 1, call))
        count++;
    free(source);
    return count;
}

#endif
