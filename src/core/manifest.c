/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c reads files that list the kernels that a server will want, line by
 * line, and collects them in a list for warm.c.
 *
 * Invariant: an error names file and line; at most one line is in memory, and
 * its length is bounded.
 * Locking: none.
 */
#include "core/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "cache/cache.h"
#include "spec/manifest.h"

enum { LINE_MAX_BYTES = 1 << 20 };

/* A manifest that is being read. */
typedef struct manifest {
    FILE *file;
    const char *name;
    size_t number; /* of the line */
    groat__str text;
    groat__manifest_line line;
} manifest;

static groat_status refuse(const manifest *m, const char *what,
                           groat_error *error)
{
    return groat__fail(error, GROAT_INVALID, "%s:%zu: %s", m->name, m->number,
                       what);
}

static groat_status fail_read(const char *name, groat_error *error)
{
    return groat__fail(error, GROAT_IO, "cannot read %s: %s", name,
                       strerror(errno));
}

/* Retries if a signal interrupts the read of a pipe. */
static int next_byte(FILE *file)
{
    int c = getc(file);

    while (c == EOF && ferror(file) && errno == EINTR) {
        clearerr(file);
        c = getc(file);
    }
    return c;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "re");

    while (file == NULL && errno == EINTR)
        file = fopen(path, "re");
    return file;
}

/* Reads the next line into m->text; *more is false after the last one. */
static groat_status next_line(manifest *m, bool *more, groat_error *error)
{
    int c = next_byte(m->file);

    groat__str_clear(&m->text);
    groat__str_add(&m->text, "");
    *more = c != EOF;
    m->number++;
    for (; c != EOF && c != '\n'; c = next_byte(m->file)) {
        char byte = (char)c;

        if (c == 0)
            return refuse(m, "the line has a zero byte", error);
        if (m->text.len == LINE_MAX_BYTES)
            return groat__fail(error, GROAT_INVALID,
                               "%s:%zu: the line is longer than %d bytes",
                               m->name, m->number, LINE_MAX_BYTES);
        groat__str_addn(&m->text, &byte, 1);
    }
    if (ferror(m->file))
        return fail_read(m->name, error);
    if (m->text.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a manifest");
    if (m->number == 1) {
        const char *text = groat__skip_mark(m->text.data);

        memmove(m->text.data, text, strlen(text) + 1);
    }
    return GROAT_OK;
}

/* NULL: the line does not have it. */
static const char *text_of(const groat__str *text)
{
    return text->len > 0 ? text->data : NULL;
}

/* Calls fn for each target of the line. */
static groat_status tell_line(manifest *m, groat_manifest_fn *fn, void *user,
                              bool *stop, groat_error *error)
{
    groat_manifest_entry entry = {.size = sizeof(entry), .line = m->number};
    groat_error why = GROAT_ERROR_INIT;
    groat_status status = groat__manifest_parse(m->text.data, &m->line, &why);
    const char *target = m->line.targets.data;

    if (status == GROAT_NO_MEMORY)
        groat__error_copy(error, &why);
    else if (status != GROAT_OK)
        (void)refuse(m, why.text, error);
    groat_error_clear(&why);
    if (status != GROAT_OK)
        return status;
    entry.spec = m->line.spec.data;
    entry.tuned_device = text_of(&m->line.device);
    entry.tuned_decode = text_of(&m->line.decode);
    entry.tuned_score = text_of(&m->line.score);
    if (m->line.target_count == 0)
        *stop = fn(user, &entry) != 0;
    for (size_t i = 0; i < m->line.target_count && !*stop; i++) {
        entry.target = target;
        *stop = fn(user, &entry) != 0;
        target += strlen(target) + 1;
    }
    return GROAT_OK;
}

static bool is_stdin(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* The file's name in messages. */
static const char *name_of(const char *path)
{
    return is_stdin(path) ? "stdin" : path;
}

groat_status groat_manifest_read(const char *path, groat_manifest_fn *fn,
                                 void *user, groat_error *error)
{
    manifest m = {.name = name_of(path)};
    groat_status status = GROAT_OK;
    bool more = true;
    bool stop = false;

    if (path == NULL || fn == NULL)
        return groat__fail(error, GROAT_INVALID, "the %s is NULL",
                           path == NULL ? "path" : "callback");
    if (!is_stdin(path))
        status = groat__store_is_not(path, error);
    if (status != GROAT_OK)
        return status;
    m.file = is_stdin(path) ? stdin : open_file(path);
    if (m.file == NULL)
        return fail_read(path, error);
    while (status == GROAT_OK && more && !stop) {
        status = next_line(&m, &more, error);
        if (status == GROAT_OK &&
            m.text.data[strspn(m.text.data, " \t\r")] != '\0')
            status = tell_line(&m, fn, user, &stop, error);
    }
    if (!is_stdin(path))
        (void)fclose(m.file);
    groat__str_free(&m.text);
    groat__manifest_line_free(&m.line);
    return status;
}

/* ---- as a list ------------------------------------------------------------
 */

/* A list that grows; lines without a target are for `target`. */
typedef struct growing {
    groat__warm_list *list;
    size_t item_cap;
    size_t line_cap;
    const char *target; /* NULL: the default one */
    bool failed;
} growing;

static bool grow(growing *g)
{
    groat__warm_list *list = g->list;
    size_t needed = list->count + 1;
    bool grown =
        groat__grow(&list->own, needed, &g->item_cap, sizeof(*list->own)) &&
        groat__grow(&list->lines, needed, &g->line_cap, sizeof(*list->lines));

    list->items = list->own;
    return grown;
}

static int add_entry(void *user, const groat_manifest_entry *entry)
{
    growing *g = user;
    const char *target = entry->target != NULL ? entry->target : g->target;
    groat_warm_item item = {.size = sizeof(item)};

    g->failed = !grow(g);
    if (g->failed)
        return 1;
    item.spec = strdup(entry->spec);
    item.target = target == NULL ? NULL : strdup(target);
    g->list->own[g->list->count] = item;
    g->list->lines[g->list->count++] = entry->line;
    g->failed = item.spec == NULL || (target != NULL && item.target == NULL);
    return g->failed;
}

groat_status groat__warm_list_read(const char *path, const char *target,
                                   groat__warm_list *out, groat_error *error)
{
    growing g = {.list = out, .target = target};
    groat_status status;

    *out = (groat__warm_list){.name = name_of(path)};
    status = groat_manifest_read(path, add_entry, &g, error);
    if (status == GROAT_OK && g.failed)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", path);
    if (status != GROAT_OK)
        groat__warm_list_free(out);
    return status;
}

void groat__warm_list_free(groat__warm_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((void *)(uintptr_t)list->own[i].spec);
        free((void *)(uintptr_t)list->own[i].target);
    }
    free(list->own);
    free(list->lines);
    *list = (groat__warm_list){0};
}
