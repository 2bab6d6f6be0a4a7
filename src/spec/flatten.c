/* SPDX-License-Identifier: Apache-2.0
 *
 * flatten.c turns a family's file and all its includes into one text, so that
 * every compiler gets the same bytes and none reads a disk.  No state; the
 * files come from a callback.  Invariant: each file appears once, and every
 * line of the text is under a #line that names its file.
 */
#include "spec/flatten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "spec/reads.h"

/* Two pieces for a file of a backend, one more for the constants' end. */
enum { FILES_MAX = 64, DEPTH_MAX = 16, PIECES_MAX = 2 * FILES_MAX + 3 };

typedef struct flattener {
    groat_family *family;
    groat__file_fn *read;
    void *user;
    groat__str out;       /* of the piece that is being made */
    int only;             /* its backend; GROAT__BACKENDS: all */
    groat__piece *pieces; /* PIECES_MAX */
    size_t piece_count;
    bool has_constants;
    char *seen[FILES_MAX];
    size_t seen_count;
    int depth;
    bool missing; /* the file that was asked for last */
    groat_error *error;
} flattener;

static groat_status flatten_file(flattener *f, const char *path);

/* Resolves "../c/d.h" in "a/b.h" to "c/d.h"; adds nothing if it leaves the
 * root. */
static void resolve(const char *from, const char *include, groat__str *path)
{
    const char *slash = strrchr(from, '/');
    size_t dir = slash == NULL ? 0 : (size_t)(slash - from);

    while (strncmp(include, "./", 2) == 0 || strncmp(include, "../", 3) == 0) {
        if (include[1] == '/') {
            include += 2;
            continue;
        }
        if (dir == 0)
            return;
        while (dir > 0 && from[dir - 1] != '/')
            dir--;
        dir = dir > 0 ? dir - 1 : 0;
        include += 3;
    }
    /* One spelling per file, or a file could be included twice. */
    if (strstr(include, "..") != NULL || strstr(include, "/./") != NULL ||
        strstr(include, "//") != NULL || include[0] == '/')
        return;
    groat__str_addn(path, from, dir);
    if (dir > 0)
        groat__str_add(path, "/");
    groat__str_add(path, include);
}

static bool is_seen(const flattener *f, const char *path)
{
    for (size_t i = 0; i < f->seen_count; i++)
        if (strcmp(f->seen[i], path) == 0)
            return true;
    return false;
}

/* Compares the resolved path.  The file itself has defaults, for editors. */
static bool is_params_h(const flattener *f, const char *path)
{
    size_t len = strlen(f->family->name);

    return strncmp(path, f->family->name, len) == 0 &&
           strcmp(path + len, "/params.h") == 0;
}

/* Ends the piece that is being made, unless it is empty. */
static groat_status end_piece(flattener *f)
{
    char *text;

    if (f->out.len == 0 && !f->out.failed)
        return GROAT_OK;
    text = groat__str_take(&f->out);
    if (text == NULL)
        return groat__fail(f->error, GROAT_NO_MEMORY, "no memory for sources");
    f->pieces[f->piece_count++] = (groat__piece){text, f->only};
    return GROAT_OK;
}

/* The generated constants go here. */
static groat_status add_constants(flattener *f, const char *path)
{
    groat_status status;

    if (f->has_constants)
        return groat__fail(f->error, GROAT_INVALID,
                           "%s includes params.h a second time", path);
    status = end_piece(f);
    if (status == GROAT_OK)
        f->pieces[f->piece_count++] = (groat__piece){NULL, GROAT__BACKENDS};
    f->has_constants = true;
    return status;
}

/* Returns the backend of common/X_BACKEND.h, else GROAT__BACKENDS. */
static int backend_of(const char *path)
{
    size_t len = strlen(path);

    for (int i = 0; i < GROAT__BACKENDS; i++) {
        char end[16];
        int ends = snprintf(end, sizeof(end), "_%s.h",
                            groat__backend_name((groat__backend_id)i));

        if (strncmp(path, "common/", 7) == 0 && len > (size_t)ends &&
            strcmp(path + len - ends, end) == 0)
            return i;
    }
    return GROAT__BACKENDS;
}

/* Makes pieces of their own of the files for one backend. */
static groat_status flatten_part(flattener *f, const char *path)
{
    int only = backend_of(path);
    groat_status status;

    if (only == GROAT__BACKENDS || f->only != GROAT__BACKENDS)
        return flatten_file(f, path);
    status = end_piece(f);
    f->only = only;
    if (status == GROAT_OK)
        status = flatten_file(f, path);
    if (status == GROAT_OK)
        status = end_piece(f);
    f->only = GROAT__BACKENDS;
    return status;
}

static groat_status follow(flattener *f, const char *path,
                           const groat__reads *include)
{
    char *name = strndup(include->name, include->name_len);
    groat__str file = {0};
    groat_status status;

    if (name != NULL)
        resolve(path, name, &file);
    if (name == NULL || file.failed)
        status =
            groat__fail(f->error, GROAT_NO_MEMORY, "no memory for sources");
    else if (file.data == NULL)
        status = groat__fail(f->error, GROAT_INVALID,
                             "%s:%d: cannot resolve include '%.64s'", path,
                             include->line, name);
    else if (is_params_h(f, file.data))
        status = add_constants(f, path);
    else
        status = flatten_part(f, file.data);
    if (status != GROAT_OK && f->missing)
        groat__fail(f->error, status, "%s:%d: file '%.200s' was not found",
                    path, include->line, file.data);
    f->missing = false;
    free(name);
    groat__str_free(&file);
    if (status == GROAT_OK)
        groat__str_addf(&f->out, "#line %d \"%s\"\n", include->line + 1, path);
    return status;
}

/* Copies the text before a comment, and puts a blank or the comment's line ends
 * in its place: compilers read less, and its words are in no key. */
static void copy_to_comment(groat__str *out, const char *text,
                            const groat__reads *comment)
{
    const char *end = comment->begin;
    size_t lines = 0;
    bool last; /* on its line */

    for (const char *at = comment->begin; at < comment->end; at++)
        lines += *at == '\n';
    last = lines > 0 || *comment->end == '\n' || *comment->end == '\0';
    while (last && end > text && end[-1] == ' ')
        end--;
    groat__str_addn(out, text, (size_t)(end - text));
    for (; lines > 0; lines--)
        groat__str_add(out, "\n");
    if (!last)
        groat__str_add(out, " ");
}

/* Copies the text between the includes and comments unchanged. */
static groat_status flatten_text(flattener *f, const char *path,
                                 const char *text)
{
    groat_status status = GROAT_OK;
    groat__reads reads;
    groat__read what;

    groat__str_addf(&f->out, "#line 1 \"%s\"\n", path);
    text = groat__skip_mark(text);
    groat__reads_begin(&reads, text);
    while (status == GROAT_OK &&
           (what = groat__reads_next(&reads)) != GROAT__READ_END) {
        if (what == GROAT__READ_REFUSED) {
            status = groat__fail(
                f->error, reads.joined.failed ? GROAT_NO_MEMORY : GROAT_INVALID,
                "%s:%d: %s", path, reads.line, reads.why);
            continue;
        }
        if (what == GROAT__READ_COMMENT)
            copy_to_comment(&f->out, text, &reads);
        else
            groat__str_addn(&f->out, text, (size_t)(reads.begin - text));
        text = reads.end;
        if (what == GROAT__READ_INCLUDE) {
            status = follow(f, path, &reads);
            text += *text == '\n'; /* the #line accounts for it */
        }
    }
    groat__reads_end(&reads);
    groat__str_add(&f->out, text);
    if (f->out.len > 0 && f->out.data[f->out.len - 1] != '\n')
        groat__str_add(&f->out, "\n");
    return status;
}

static groat_status flatten_file(flattener *f, const char *path)
{
    const char *text;
    groat_status status;

    if (is_seen(f, path))
        return GROAT_OK;
    text = f->read(f->user, path);
    f->missing = text == NULL;
    if (text == NULL)
        return groat__fail(f->error, GROAT_INVALID,
                           "family %s: file '%.200s' was not found",
                           f->family->name, path);
    if (f->seen_count == FILES_MAX || f->depth == DEPTH_MAX)
        return groat__fail(f->error, GROAT_INVALID,
                           "family %s: more than %d files or %d levels of "
                           "includes",
                           f->family->name, FILES_MAX, DEPTH_MAX);
    f->seen[f->seen_count] = strdup(path);
    if (f->seen[f->seen_count] == NULL)
        return groat__fail(f->error, GROAT_NO_MEMORY, "no memory for sources");
    f->seen_count++;
    f->depth++;
    status = flatten_text(f, path, text);
    f->depth--;
    return status;
}

groat_status groat__flatten(groat_family *family, groat__file_fn *read,
                            void *user, groat_error *error)
{
    flattener f = {.family = family,
                   .read = read,
                   .user = user,
                   .only = GROAT__BACKENDS,
                   .pieces = calloc(PIECES_MAX, sizeof(*f.pieces)),
                   .error = error};
    groat__str path = {0};
    groat_status status;

    groat__str_addf(&path, "%s/%s.h", family->name, family->name);
    status = path.failed || f.pieces == NULL
                 ? groat__fail(error, GROAT_NO_MEMORY, "no memory for sources")
                 : flatten_file(&f, path.data);
    if (status == GROAT_OK && !f.has_constants)
        status = groat__fail(error, GROAT_INVALID,
                             "%s does not include \"params.h\"", path.data);
    if (status == GROAT_OK)
        status = end_piece(&f);
    family->pieces = f.pieces;
    family->piece_count = f.piece_count;
    for (size_t i = 0; i < f.seen_count; i++)
        free(f.seen[i]);
    groat__str_free(&f.out);
    groat__str_free(&path);
    return status;
}
