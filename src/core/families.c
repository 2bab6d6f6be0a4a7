/* SPDX-License-Identifier: Apache-2.0
 *
 * families.c fills a context's list of families: those embedded in the library
 * and those of the user's folders.  A user's family sees the library's common
 * files as "../common/NAME.h" and its own folder, nothing else of the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fs.h"
#include "core/core.h"

/* A family's files are those of its source, at most 64, and params.def. */
enum { SOURCE_BYTES_MAX = 4 << 20, FOLDER_FILES = 66 };

/* A user's folder while its family is read. */
typedef struct folder {
    const char *dir; /* ".../my_family" */
    const char *name;
    char *texts[FOLDER_FILES];
    size_t count;
    groat_error failure; /* of the file that could not be read */
} folder;

static const char *read_embedded(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

/* The loader is told that there is no text; why is kept for add_folder. */
static const char *read_folder(void *user, const char *path)
{
    folder *f = user;
    size_t len = strlen(f->name);
    groat__str full = {0};
    size_t bytes = 0;
    char *text = NULL;

    if (strncmp(path, f->name, len) != 0 || path[len] != '/')
        return groat__embedded_find(path);
    groat__str_addf(&full, "%s/%s", f->dir, path + len + 1);
    if (full.failed)
        groat__fail(&f->failure, GROAT_NO_MEMORY, "no memory for a path");
    else if (f->count == FOLDER_FILES)
        groat__fail(&f->failure, GROAT_INVALID,
                    "%s is one file too many; %d are read", full.data,
                    FOLDER_FILES);
    else if (groat__fs_read(full.data, SOURCE_BYTES_MAX, &text, &bytes,
                            &f->failure) == GROAT_OK)
        f->texts[f->count++] = text;
    if (text != NULL && strlen(text) != bytes) {
        groat__fail(&f->failure, GROAT_INVALID,
                    "%s has a NUL at byte %zu; a source has none", full.data,
                    strlen(text));
        text = NULL;
    }
    groat__str_free(&full);
    return text;
}

static groat_status add(groat_context *context, const char *name,
                        groat__file_fn *read, void *user, groat_error *error)
{
    groat_family *family = NULL;
    groat_status status;

    if (context->family_count == GROAT__FAMILIES)
        return groat__fail(error, GROAT_INVALID,
                           "family '%.64s' is one too many; %d are possible",
                           name, GROAT__FAMILIES);
    if (groat__context_family(context, name, strlen(name)) != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "family '%.64s' is there already", name);
    status = groat__family_load(name, read, user, &family, error);
    if (status == GROAT_OK)
        context->families[context->family_count++] = family;
    return status;
}

static groat_status add_embedded(groat_context *context, groat_error *error)
{
    static const char suffix[] = "/params.def";
    const groat__embedded_file *file;
    groat_status status = GROAT_OK;

    for (size_t i = 0;
         status == GROAT_OK && (file = groat__embedded_at(i)) != NULL; i++) {
        size_t len = strlen(file->path);
        char *name;

        if (len <= strlen(suffix) ||
            strcmp(file->path + len - strlen(suffix), suffix) != 0)
            continue;
        name = strndup(file->path, len - strlen(suffix));
        status = name == NULL ? groat__fail(error, GROAT_NO_MEMORY, "no memory")
                              : add(context, name, read_embedded, NULL, error);
        free(name);
    }
    return status;
}

static bool has_params(const char *dir)
{
    groat__str path = {0};
    struct stat st;
    bool has;

    groat__str_addf(&path, "%s/params.def", dir);
    has = !path.failed && stat(path.data, &st) == 0 && S_ISREG(st.st_mode);
    groat__str_free(&path);
    return has;
}

/* dir is a family's folder; its last component is the name. */
static groat_status add_folder(groat_context *context, const char *dir,
                               groat_error *error)
{
    const char *slash = strrchr(dir, '/');
    folder f = {.dir = dir,
                .name = slash == NULL ? dir : slash + 1,
                .failure = GROAT_ERROR_INIT};
    groat_status status = add(context, f.name, read_folder, &f, error);

    if (status != GROAT_OK && f.failure.status != GROAT_OK)
        status = groat__fail(
            error,
            f.failure.status == GROAT_NO_MEMORY ? GROAT_NO_MEMORY : status,
            "family %.64s: %s", f.name, f.failure.text);
    for (size_t i = 0; i < f.count; i++)
        free(f.texts[i]);
    groat_error_clear(&f.failure);
    return status;
}

static int is_listed(const struct dirent *child)
{
    return child->d_name[0] != '.';
}

/* Byte by byte: the same order on every file system and in every locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static groat_status add_children(groat_context *context, const char *dir,
                                 groat_error *error)
{
    groat_status status = GROAT_OK;
    struct dirent **children = NULL;
    size_t found = 0;
    int count = scandir(dir, &children, is_listed, by_name);

    if (count < 0)
        return groat__fail(error, GROAT_INVALID,
                           "family path: folder %.300s cannot be read: %s", dir,
                           strerror(errno));
    for (int i = 0; i < count; i++) {
        groat__str path = {0};

        groat__str_addf(&path, "%s/%s", dir, children[i]->d_name);
        if (status == GROAT_OK && !path.failed && has_params(path.data)) {
            status = add_folder(context, path.data, error);
            found++;
        }
        groat__str_free(&path);
        free(children[i]);
    }
    free(children);
    if (status == GROAT_OK && found == 0)
        status = groat__fail(error, GROAT_INVALID,
                             "family path: %.300s holds no params.def, nor "
                             "does a folder in it",
                             dir);
    return status;
}

/* One item of the path without its last slashes, malloc'd, or NULL.  "." and
 * ".." are no names of families: they become the folders they stand for. */
static char *take_folder(const char *item, size_t len)
{
    const char *name;
    char *dir;
    char *real;

    while (len > 1 && item[len - 1] == '/')
        len--;
    dir = strndup(item, len);
    if (dir == NULL)
        return NULL;
    name = strrchr(dir, '/') == NULL ? dir : strrchr(dir, '/') + 1;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        return dir;
    real = realpath(dir, NULL);
    if (real == NULL)
        return dir;
    free(dir);
    return real;
}

groat_status groat__families_load(groat_context *context, const char *path,
                                  groat_error *error)
{
    groat_status status = add_embedded(context, error);

    while (status == GROAT_OK && path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        char *dir = take_folder(path, len);

        if (dir == NULL)
            return groat__fail(error, GROAT_NO_MEMORY, "no memory");
        if (*dir != '\0')
            status = has_params(dir) ? add_folder(context, dir, error)
                                     : add_children(context, dir, error);
        free(dir);
        path += len + (path[len] == ':');
    }
    return status;
}
