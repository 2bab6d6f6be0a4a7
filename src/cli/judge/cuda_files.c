/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_files.c - puts the headers of a file of CUDA C++ into its text, in the
 * places of their #includes.
 *
 * Owns what line of the whole is from which file.  A header with a guard is
 * read once, whatever #if its #include is in.
 */
#include "cli/judge/cuda_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "cli/judge/cuda_tokens.h"

enum { FILE_BYTES_MAX = 4 << 20 };

typedef groat__cuda_token token;

/* What is the same for all files of a reading. */
typedef struct reading {
    groat__cuda_files *files;
    const groat__cuda_search *search;
    int line; /* of the end of the whole text */
    groat_error *error;
} reading;

static void add(reading *r, const char *from, const char *to)
{
    groat__str_addn(&r->files->text, from, (size_t)(to - from));
    for (; from < to; from++)
        r->line += *from == '\n';
}

static groat_status begin_part(reading *r, size_t file, int own)
{
    groat__cuda_files *files = r->files;

    if (files->part_count == GROAT__CUDA_PARTS)
        return groat__fail(r->error, GROAT_INVALID,
                           "%s includes more than %d files",
                           files->files[0].shown.data, GROAT__CUDA_FILES);
    files->parts[files->part_count++] = (groat__cuda_part){r->line, file, own};
    return GROAT_OK;
}

/* Ends lines as C does: by line feeds alone. */
static void unify_lines(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0'; at++)
        if (at[0] != '\r' || at[1] != '\n')
            *to++ = *at;
    *to = '\0';
}

static groat_status read_text(const char *path, char **text, groat_error *error)
{
    size_t bytes = 0;
    groat_status status =
        groat__fs_read(path, FILE_BYTES_MAX, text, &bytes, error);

    if (status != GROAT_OK)
        return status;
    if (strlen(*text) == bytes) {
        unify_lines(*text);
        return GROAT_OK;
    }
    free(*text);
    *text = NULL;
    return groat__fail(error, GROAT_INVALID,
                       "%s has a byte of 0: it is no source", path);
}

/* Appends a header's name in the folder of a file. */
static void add_beside(groat__str *out, const char *path, const token *name)
{
    const char *slash = *name->at == '/' ? NULL : strrchr(path, '/');

    groat__str_addn(out, path, slash ? (size_t)(slash + 1 - path) : 0);
    groat__str_addn(out, name->at, name->len);
}

/* Adds a file unless it is there; *file becomes its index unless it was there
 * and is to be read once. */
static groat_status add_file(reading *r, const char *path, const char *shown,
                             size_t *file)
{
    groat__cuda_files *files = r->files;
    size_t last = files->file_count;
    struct stat st;

    if (stat(path, &st) != 0)
        return groat__fail(r->error, GROAT_IO, "cannot read %s: %s", path,
                           strerror(errno));
    for (size_t i = 0; i < last; i++)
        if (files->files[i].device == st.st_dev &&
            files->files[i].inode == st.st_ino) {
            *file = files->files[i].once ? *file : i;
            return GROAT_OK;
        }
    if (last == GROAT__CUDA_FILES)
        return groat__fail(r->error, GROAT_INVALID,
                           "%s includes more than %d files",
                           files->files[0].shown.data, GROAT__CUDA_FILES);
    files->files[last].device = st.st_dev;
    files->files[last].inode = st.st_ino;
    groat__str_add(&files->files[last].path, path);
    groat__str_add(&files->files[last].shown, shown);
    *file = files->file_count++;
    return files->files[last].path.failed || files->files[last].shown.failed
               ? groat__fail(r->error, GROAT_NO_MEMORY, "out of memory")
               : GROAT_OK;
}

/* The name of a header in its quotes or angle brackets, that a #line can show;
 * or no token. */
static token header_name(const char *at)
{
    token name = {"", 0, 0};

    at += strspn(at, " \t");
    if (*at == '"' || *at == '<')
        name = (token){at + 1, strcspn(at + 1, "\">\n"), 0};
    if (memchr(name.at, '\\', name.len) != NULL)
        name.len = 0;
    return name;
}

/* The name in an #include, behind the sign. */
static token included_name(const char *at)
{
    static const char include[] = "include";
    const size_t len = sizeof(include) - 1;

    at += strspn(at, " \t");
    return strncmp(at, include, len) == 0 ? header_name(at + len)
                                          : (token){"", 0, 0};
}

static bool is_there(const groat__str *path)
{
    struct stat st;

    return !path->failed && stat(path->data, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path->data, R_OK) == 0;
}

/* Finds a header beside the file that includes it by a quoted name, else in the
 * folders; `path` and `shown` become its name and that in findings. */
static bool find_header(const reading *r, size_t from, const token *name,
                        groat__str *path, groat__str *shown)
{
    const groat__cuda_search *search = r->search;

    groat__str_clear(path);
    groat__str_clear(shown);
    if (name->len == 0 || search->is_ours(name->at, name->len))
        return false;
    add_beside(path, r->files->files[from].path.data, name);
    add_beside(shown, r->files->files[from].shown.data, name);
    if (name->at[-1] == '"' && is_there(path))
        return true;
    for (size_t i = 0; i < search->folder_count; i++) {
        groat__str_clear(path);
        groat__str_addf(path, "%s/%.*s", search->folders[i], (int)name->len,
                        name->at);
        groat__str_clear(shown);
        groat__str_addn(shown, name->at, name->len);
        if (is_there(path))
            return true;
    }
    return false;
}

static groat_status read_file(reading *r, size_t file);

/* Puts the header at a path in the place of its #include. */
static groat_status expand(reading *r, size_t from, const char *path,
                           const char *shown, int line)
{
    static const char end[] = "\n";
    size_t file = GROAT__CUDA_FILES;
    groat_status status = add_file(r, path, shown, &file);

    if (status != GROAT_OK || file == GROAT__CUDA_FILES)
        return status;
    status = begin_part(r, file, 1);
    if (status == GROAT_OK)
        status = read_file(r, file);
    add(r, end, end + 1);
    return status == GROAT_OK ? begin_part(r, from, line) : status;
}

/* Whether a header has a guard: "#pragma once" anywhere, or #ifndef in front of
 * all else. */
static bool is_guarded(const char *text)
{
    groat__cuda_cursor c = {text, 1, true};
    token t = groat__cuda_take(&c);

    for (bool first = true; groat__cuda_is(&t, "#"); first = false) {
        t = groat__cuda_take(&c);
        if (first && groat__cuda_is(&t, "ifndef"))
            return true;
        if (groat__cuda_is(&t, "pragma")) {
            t = groat__cuda_take(&c);
            if (groat__cuda_is(&t, "once"))
                return true;
        }
        groat__cuda_skip_directive(&c);
        t = groat__cuda_take(&c);
    }
    return false;
}

/* Puts 1 or 0 in the place of each "__has_include(NAME)" of a line: whether the
 * header is to be had.  `done` is the end of what has been added. */
static const char *answer(reading *r, size_t from, const char *line,
                          const char *done)
{
    static const char asked[] = "__has_include";
    const char *end = line + strcspn(line, "\n");
    groat__str path = {0};
    groat__str shown = {0};
    const char *at = line;

    while ((at = strstr(at, asked)) != NULL && at < end) {
        const char *open = at + sizeof(asked) - 1;
        token name;
        bool there;

        open += strspn(open, " \t");
        name = header_name(open + (*open == '('));
        there = r->search->is_ours(name.at, name.len) ||
                find_header(r, from, &name, &path, &shown);
        add(r, done, at);
        groat__str_add(&r->files->text, there ? "1" : "0");
        at = open + strcspn(open, ")\n");
        at += *at == ')';
        done = at;
    }
    r->files->text.failed =
        r->files->text.failed || path.failed || shown.failed;
    groat__str_free(&path);
    groat__str_free(&shown);
    return done;
}

static groat_status read_file(reading *r, size_t file)
{
    char *text = NULL;
    groat_status status =
        read_text(r->files->files[file].path.data, &text, r->error);
    const char *done = text ? groat__skip_mark(text) : NULL;
    groat__cuda_cursor c = {done, 1, true};
    groat__str path = {0};
    groat__str shown = {0};

    if (done != NULL && (file == 0 || is_guarded(done)))
        r->files->files[file].once = true;
    while (status == GROAT_OK) {
        bool fresh;
        token t;
        token name;

        groat__cuda_skip(&c);
        fresh = c.fresh;
        t = groat__cuda_take(&c);
        if (t.len == 0)
            break;
        if (!fresh || *t.at != '#')
            continue;
        done = answer(r, file, c.at, done);
        name = included_name(c.at);
        if (!find_header(r, file, &name, &path, &shown))
            continue;
        add(r, done, t.at);
        status = shown.failed
                     ? groat__fail(r->error, GROAT_NO_MEMORY, "out of memory")
                     : expand(r, file, path.data, shown.data, t.line);
        c.at += strcspn(c.at, "\n");
        done = c.at;
    }
    if (status == GROAT_OK)
        add(r, done, done + strlen(done));
    groat__str_free(&path);
    groat__str_free(&shown);
    free(text);
    return status;
}

groat_status groat__cuda_files_read(groat__cuda_files *files, const char *path,
                                    const char *shown,
                                    const groat__cuda_search *search,
                                    groat_error *error)
{
    reading r = {files, search, 1, error};
    groat_status status;
    size_t main = 0;

    status = add_file(&r, path, shown, &main);
    if (status == GROAT_OK)
        status = begin_part(&r, main, 1);
    if (status == GROAT_OK)
        status = read_file(&r, 0);
    groat__str_add(&files->text, "");
    return status == GROAT_OK && files->text.failed
               ? groat__fail(error, GROAT_NO_MEMORY, "out of memory")
               : status;
}

void groat__cuda_files_free(groat__cuda_files *files)
{
    for (size_t i = 0; i < files->file_count; i++) {
        groat__str_free(&files->files[i].path);
        groat__str_free(&files->files[i].shown);
    }
    groat__str_free(&files->text);
}

const char *groat__cuda_files_at(const groat__cuda_files *files, int line,
                                 int *own)
{
    const groat__cuda_part *part = &files->parts[0];

    for (size_t i = 1; i < files->part_count; i++)
        if (files->parts[i].line <= line)
            part = &files->parts[i];
    *own = part->own + line - part->line;
    return files->files[part->file].shown.data;
}

/* Whether a line ends a branch of an #if: lines of it may not have counted. */
static bool ends_branch(const char *line)
{
    groat__cuda_turn turn;

    line += strspn(line, " \t");
    if (*line != '#')
        return false;
    turn = groat__cuda_turn_of(line + 1);
    return turn == GROAT__CUDA_ELSE || turn == GROAT__CUDA_ENDIF;
}

void groat__cuda_files_mark(const groat__cuda_files *files, const char *text,
                            groat__str *out)
{
    bool other = true; /* the line is of another file, or behind a branch */
    size_t part = 0;

    for (int line = 1; *text != '\0'; line++) {
        size_t len = strcspn(text, "\n");
        int own;
        const char *file = groat__cuda_files_at(files, line, &own);

        for (; part < files->part_count && files->parts[part].line <= line;
             part++)
            other = true;
        if (other)
            groat__str_addf(out, "#line %d \"%s\"\n", own, file);
        other = ends_branch(text);
        len += text[len] == '\n';
        groat__str_addn(out, text, len);
        text += len;
    }
}
