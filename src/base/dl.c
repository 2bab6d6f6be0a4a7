/* SPDX-License-Identifier: Apache-2.0
 *
 * dl.c finds and opens libraries at run time and records the tries.  Its
 * callers choose the names and places to try.  Invariant: a groat__dl with a
 * handle has path and build_id filled; one without has a story.  No locking:
 * a groat__dl is opened once and read-only afterwards.
 */
#include "base/dl.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/loader.h"

/* libnvrtc is 110 MB; no library that we open is larger than this. */
#define LIBRARY_BYTES_MAX ((size_t)1 << 30)

/* Adds one line for one try, whatever characters the path has. */
static void tell(groat__dl *dl, const char *what, const char *why)
{
    size_t start = dl->story.len;

    groat__str_addf(&dl->story, "%s%s", what, why);
    if (dl->story.data != NULL)
        groat__one_line(dl->story.data + start);
    groat__str_add(&dl->story, "\n");
}

/* A library without a build id is named by its bytes: slow, but never wrong. */
static bool name_by_content(groat__dl *dl)
{
    groat_error error = GROAT_ERROR_INIT;
    char *data = NULL;
    size_t bytes = 0;
    groat_status status =
        groat__fs_read(dl->path, LIBRARY_BYTES_MAX, &data, &bytes, &error);

    if (status == GROAT_OK)
        groat__hex(dl->build_id, groat__hash128(data, bytes).bytes, 16);
    else
        tell(dl, error.text, "");
    groat_error_clear(&error);
    free(data);
    return status == GROAT_OK;
}

static bool describe(groat__dl *dl, const char *asked)
{
    struct link_map *map = NULL;
    const char *name = asked;

    if (dlinfo(dl->handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL &&
        map->l_name != NULL && map->l_name[0] != '\0')
        name = map->l_name;
    dl->path = realpath(name, NULL);
    if (dl->path == NULL)
        dl->path = strdup(name);
    if (dl->path == NULL)
        return false;
    return (map != NULL && groat__loader_mapped_id(map->l_addr, dl->build_id,
                                                   sizeof(dl->build_id))) ||
           name_by_content(dl);
}

/* Closes the library; keeps the story. */
static void let_go(groat__dl *dl)
{
    if (dl->handle != NULL)
        (void)dlclose(dl->handle);
    dl->handle = NULL;
    free(dl->path);
    dl->path = NULL;
    dl->build_id[0] = '\0';
}

static bool try_name(groat__dl *dl, const char *name)
{
    const char *reason;

    /* NODELETE: vendor libraries keep threads and pools that do not survive
     * being unmapped. */
    dl->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (dl->handle == NULL) {
        reason = dlerror();
        tell(dl, reason != NULL ? reason : name, "");
        return false;
    }
    if (describe(dl, name))
        return true;
    let_go(dl);
    return false;
}

/* By version: rocm-7.10 is newer than rocm-7.2. */
static int newer_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* Returns glob(3)'s status, and files with the newest version first. */
static int find_files(const char *pattern, glob_t *found)
{
    int status = glob(pattern, 0, NULL, found);

    if (status == 0)
        qsort(found->gl_pathv, found->gl_pathc, sizeof(found->gl_pathv[0]),
              newer_first);
    return status;
}

static bool try_pattern(groat__dl *dl, const char *pattern)
{
    glob_t found = {0};
    bool opened = false;

    if (find_files(pattern, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !opened; i++)
            opened = try_name(dl, found.gl_pathv[i]);
    } else {
        tell(dl, pattern, ": no such file");
    }
    globfree(&found);
    return opened;
}

static bool try_all(const groat__dl_search *search, groat__dl *dl)
{
    if (search->override != NULL)
        return try_name(dl, search->override);
    for (size_t i = 0; search->sonames && search->sonames[i] != NULL; i++)
        if (try_name(dl, search->sonames[i]))
            return true;
    for (size_t i = 0; search->patterns && search->patterns[i] != NULL; i++)
        if (try_pattern(dl, search->patterns[i]))
            return true;
    return false;
}

/* Returns the line of a library that is there but was not opened: it is
 * damaged, lacks another one, or memory for it is limited.  "" if there is
 * none. */
static const char *find_refusal(const groat__dl *dl)
{
    const char *line = dl->story.data != NULL ? dl->story.data : "";

    while (*line != '\0') {
        const char *absent = strstr(line, "o such file");
        size_t len = strcspn(line, "\n");

        if (absent == NULL || absent > line + len)
            break;
        line += len + (line[len] == '\n');
    }
    return line;
}

groat_status groat__dl_open(const groat__dl_search *search, groat__dl *dl,
                            groat_error *error)
{
    const char *refusal;
    const char *first;

    memset(dl, 0, sizeof(*dl));
    if (try_all(search, dl))
        return GROAT_OK;
    if (search->override != NULL)
        return groat__fail(error, GROAT_NO_DEVICE, "cannot open %s=%s: %s",
                           search->override_name, search->override,
                           dl->story.data ? dl->story.data : "no memory");
    first = search->sonames != NULL && search->sonames[0] != NULL
                ? search->sonames[0]
                : "the library";
    refusal = find_refusal(dl);
    if (*refusal != '\0')
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s cannot be opened: %.*s; `groat doctor` lists "
                           "what was tried",
                           first, (int)strcspn(refusal, "\n"), refusal);
    return groat__fail(error, GROAT_NO_DEVICE,
                       "%s was not found in any of the usual places; `groat "
                       "doctor` lists them",
                       first);
}

/* A file whose build id cannot be read may still be opened: UNKNOWN. */
static groat__loader_answer predict_file(const char *path, char *build_id)
{
    return groat__loader_build_id(path, build_id, GROAT__BUILD_ID_ROOM)
               ? GROAT__LOADER_FILE
               : GROAT__LOADER_UNKNOWN;
}

static groat__loader_answer predict_pattern(const char *pattern, char *build_id)
{
    groat__loader_answer answer = GROAT__LOADER_NONE;
    glob_t found = {0};

    if (find_files(pattern, &found) == 0)
        answer = predict_file(found.gl_pathv[0], build_id);
    globfree(&found);
    return answer;
}

static groat__loader_answer predict_soname(const char *name, char *build_id)
{
    groat__str path = {0};
    groat__loader_answer answer = groat__loader_find(name, &path);

    if (answer == GROAT__LOADER_FILE)
        answer = predict_file(path.data, build_id);
    groat__str_free(&path);
    return answer;
}

/* Tries the names in turn until one gives an answer other than NONE. */
static groat__loader_answer
predict_first(const char *const *names,
              groat__loader_answer (*predict)(const char *, char *),
              char *build_id)
{
    groat__loader_answer answer = GROAT__LOADER_NONE;

    for (; names != NULL && *names != NULL && answer == GROAT__LOADER_NONE;
         names++)
        answer = predict(*names, build_id);
    return answer;
}

groat__loader_answer groat__dl_predict(const groat__dl_search *search,
                                       char build_id[GROAT__BUILD_ID_ROOM])
{
    groat__loader_answer answer = GROAT__LOADER_UNKNOWN;

    if (search->override == NULL) {
        answer = predict_first(search->sonames, predict_soname, build_id);
        if (answer == GROAT__LOADER_NONE)
            answer = predict_first(search->patterns, predict_pattern, build_id);
    } else if (strchr(search->override, '/') != NULL) {
        answer = predict_file(search->override, build_id);
    }
    return answer;
}

void groat__dl_close(groat__dl *dl)
{
    let_go(dl);
    groat__str_free(&dl->story);
}

void *groat__dl_symbol(const groat__dl *dl, const char *name)
{
    return dl->handle == NULL ? NULL : dlsym(dl->handle, name);
}

groat_status groat__dl_bind(const groat__dl *dl, const groat__symbol *symbols,
                            size_t count, void *calls, groat_error *error)
{
    for (size_t i = 0; i < count; i++) {
        void *address = groat__dl_symbol(dl, symbols[i].name);

        if (address == NULL && symbols[i].needed)
            return groat__fail(error, GROAT_NO_DEVICE,
                               "%s lacks the symbol %s that groat needs",
                               dl->path, symbols[i].name);
        /* ISO C has no cast from an object's to a function's address. */
        memcpy((char *)calls + symbols[i].offset, &address, sizeof(address));
    }
    return GROAT_OK;
}
