/* SPDX-License-Identifier: Apache-2.0
 *
 * families.c lists a context's families, those of the library and those of the
 * user's folders, and reads each of these at its first use.  A user's family
 * may include the library's common files as "../common/NAME.h" and files of its
 * own folder, nothing else of the disk.
 * Invariant: a family that was returned is complete and read-only; a broken one
 * holds the reason and nothing else.
 * Locking: `lock` for reading a family; a family that was read needs none.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/near.h"
#include "core/core.h"
#include "core/families.h"
#include "spec/load.h"

/* A family has at most 64 source files and params.def. */
enum { SOURCE_BYTES_MAX = 4 << 20, FOLDER_FILES = 66 };

/* Out of file descriptors, a condition that may pass. */
static bool is_want(int code)
{
    return code == EMFILE || code == ENFILE;
}

/* A user's folder while its family is read. */
typedef struct folder {
    const char *dir; /* ".../my_family" */
    const char *name;
    char *texts[FOLDER_FILES];
    size_t count;
    groat_error failure; /* reading a file */
} folder;

/* Returns NULL if a file cannot be read; read_user() reports the reason, which
 * is kept in f->failure. */
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
                    "%s exceeds the limit of %d files", full.data,
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

static groat__family_place *find(groat__families *families, const char *name,
                                 size_t len)
{
    for (size_t i = 0; i < families->count; i++)
        if (groat__is_text(name, len, families->at[i].name))
            return &families->at[i];
    return NULL;
}

/* Resolved now: the working directory may change before the folder is read. */
static char *whole_path(const char *dir)
{
    char *real = *dir == '/' ? NULL : realpath(dir, NULL);

    return real != NULL ? real : strdup(dir);
}

/* A name that occurs twice is an error of that family alone.  dir is the second
 * folder; the same one twice is none. */
static groat_status add_twin(groat__family_place *place, const char *dir,
                             groat_error *error)
{
    char *whole = whole_path(dir);
    groat_family *broken = NULL;
    groat__str text = {0};

    if (whole != NULL && place->dir != NULL && strcmp(whole, place->dir) == 0) {
        free(whole);
        return GROAT_OK;
    }
    groat__str_addf(&text,
                    "family '%s' exists twice, in %s and in %s: rename "
                    "one of the folders and its files",
                    place->name,
                    place->dir == NULL ? "the library" : place->dir,
                    whole == NULL ? dir : whole);
    if (!text.failed)
        broken = groat__family_broken(place->name, text.data);
    if (broken != NULL) {
        broken->folder = place->dir;
        groat__family_free(atomic_exchange(&place->family, broken));
    }
    groat__str_free(&text);
    free(whole);
    return broken != NULL
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
}

/* dir is NULL for the library's own families. */
static groat_status add(groat__families *families, const char *name, size_t len,
                        const char *dir, groat_error *error)
{
    groat__family_place *place = find(families, name, len);

    if (place != NULL)
        return add_twin(place, dir, error);
    if (families->count == GROAT__FAMILIES)
        return groat__fail(error, GROAT_INVALID,
                           "family path: %.300s exceeds the limit of %d "
                           "families; name fewer folders",
                           dir == NULL ? name : dir, GROAT__FAMILIES);
    place = &families->at[families->count];
    place->name = strndup(name, len);
    place->dir = dir == NULL ? NULL : whole_path(dir);
    families->count++; /* now close sees it */
    return place->name == NULL || (dir != NULL && place->dir == NULL)
               ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a family")
               : GROAT_OK;
}

static groat_status add_embedded(groat__families *families, groat_error *error)
{
    const groat__made_family *made;
    groat_status status = GROAT_OK;

    for (size_t i = 0;
         status == GROAT_OK && (made = groat__made_family_at(i)) != NULL; i++) {
        groat__family_place *place = &families->at[families->count];

        status = add(families, made->name, strlen(made->name), NULL, error);
        if (status == GROAT_OK)
            atomic_store_explicit(&place->family,
                                  (groat_family *)(uintptr_t)made->family,
                                  memory_order_relaxed);
    }
    return status;
}

/* Errors: NO_MEMORY. */
static groat_status look_for_params(const char *dir, bool *has,
                                    groat_error *error)
{
    groat__str path = {0};
    struct stat st;
    bool failed;

    groat__str_addf(&path, "%s/params.def", dir);
    failed = path.failed;
    *has = !failed && stat(path.data, &st) == 0 && S_ISREG(st.st_mode);
    groat__str_free(&path);
    return failed ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a path")
                  : GROAT_OK;
}

/* dir is a family's folder; its last component is the family's name. */
static groat_status add_folder(groat__families *families, const char *dir,
                               groat_error *error)
{
    const char *slash = strrchr(dir, '/');
    const char *name = slash == NULL ? dir : slash + 1;

    return add(families, name, strlen(name), dir, error);
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

static groat_status add_children(groat__families *families, const char *dir,
                                 groat_error *error)
{
    groat_status status = GROAT_OK;
    struct dirent **children = NULL;
    size_t found = 0;
    int count = scandir(dir, &children, is_listed, by_name);

    if (count < 0)
        return groat__fail(error,
                           errno == ENOMEM || is_want(errno) ? GROAT_NO_MEMORY
                                                             : GROAT_INVALID,
                           "family path: folder %.300s cannot be read: %s", dir,
                           strerror(errno));
    for (int i = 0; i < count; i++) {
        groat__str path = {0};
        bool has = false;

        groat__str_addf(&path, "%s/%s", dir, children[i]->d_name);
        if (status == GROAT_OK && path.failed)
            status =
                groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
        if (status == GROAT_OK)
            status = look_for_params(path.data, &has, error);
        if (status == GROAT_OK && has) {
            status = add_folder(families, path.data, error);
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

/* One item of the path without trailing slashes, malloc'd, or NULL.  "." and
 * ".." are no family names, so they are resolved to real paths. */
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

/* Adds a family's folder, or a folder that holds families. */
static groat_status add_item(groat__families *families, const char *dir,
                             groat_error *error)
{
    bool has = false;
    groat_status status = look_for_params(dir, &has, error);

    if (status != GROAT_OK)
        return status;
    return has ? add_folder(families, dir, error)
               : add_children(families, dir, error);
}

/* Adds what one item of the path has.  One that cannot be read leaves the other
 * families as they are: it is logged, and told of with an unknown family. */
static groat_status take_item(groat__families *families, const char *item,
                              size_t len, const groat__log *log,
                              groat_error *error)
{
    groat_error why = GROAT_ERROR_INIT;
    char *dir = take_folder(item, len);
    groat_status status = GROAT_OK;

    if (dir == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory");
    if (*dir != '\0')
        status = add_item(families, dir, &why);
    free(dir);
    if (status == GROAT_INVALID) {
        groat__log_line(log, GROAT_LOG_WARNING, "%s", why.text);
        groat__str_addf(&families->left_out, "; %s", why.text);
        status = families->left_out.failed
                     ? groat__fail(error, GROAT_NO_MEMORY, "no memory")
                     : GROAT_OK;
    } else if (status != GROAT_OK) {
        groat__error_copy(error, &why);
    }
    groat_error_clear(&why);
    return status;
}

groat_status groat__families_open(groat__families *families, const char *path,
                                  const groat__log *log, groat_error *error)
{
    groat_status status = add_embedded(families, error);

    while (status == GROAT_OK && path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");

        status = take_item(families, path, len, log, error);
        path += len + (path[len] == ':');
    }
    return status;
}

void groat__families_close(groat__families *families)
{
    for (size_t i = 0; i < families->count; i++) {
        groat__family_place *place = &families->at[i];

        groat__family_free(atomic_load(&place->family));
        free(place->name);
        free(place->dir);
    }
    groat__str_free(&families->left_out);
    (void)pthread_mutex_destroy(&families->lock);
}

/* ---- reading ------------------------------------------------------------- */

static groat_status read_user(const groat__family_place *place,
                              groat_family **out, groat_error *error)
{
    folder f = {
        .dir = place->dir, .name = place->name, .failure = GROAT_ERROR_INIT};
    groat_error inner = GROAT_ERROR_INIT;
    groat_status status =
        groat__family_load(place->name, read_folder, &f, out, &inner);

    if (status != GROAT_OK && is_want(f.failure.vendor_code))
        status = groat__fail(error, GROAT_NO_MEMORY,
                             "no file descriptor is free to read family %.64s",
                             f.name);
    else if (status != GROAT_OK && f.failure.status != GROAT_OK)
        status = groat__fail(
            error,
            f.failure.status == GROAT_NO_MEMORY ? GROAT_NO_MEMORY : status,
            "family %.64s: %s (%s)", f.name, f.failure.text, inner.text);
    else if (status != GROAT_OK)
        groat__error_copy(error, &inner);
    for (size_t i = 0; i < f.count; i++)
        free(f.texts[i]);
    groat_error_clear(&f.failure);
    groat_error_clear(&inner);
    return status;
}

/* With the lock held.  An error in a family is final.  NULL, with *error set,
 * if memory or descriptors ran out. */
static groat_family *read_place(const groat__family_place *place,
                                groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat_family *family = NULL;
    groat_status status = read_user(place, &family, &own);

    if (status == GROAT_INVALID)
        family = groat__family_broken(place->name, own.text);
    if (family != NULL)
        family->folder = place->dir;
    if (family == NULL && status == GROAT_INVALID)
        groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    else if (family == NULL)
        groat__error_copy(error, &own);
    groat_error_clear(&own);
    return family;
}

static const groat_family *get(groat__families *families,
                               groat__family_place *place, groat_error *error)
{
    groat_family *family =
        atomic_load_explicit(&place->family, memory_order_acquire);

    if (family != NULL)
        return family;
    (void)pthread_mutex_lock(&families->lock);
    family = atomic_load_explicit(&place->family, memory_order_relaxed);
    if (family == NULL) {
        family = read_place(place, error);
        atomic_store_explicit(&place->family, family, memory_order_release);
    }
    (void)pthread_mutex_unlock(&families->lock);
    return family;
}

/* Appends the family's folder beside a mistyped one, if a name is near. */
static void add_near_folder(const char *path, size_t len, groat__str *out)
{
    size_t parent_len = len;
    struct dirent **children = NULL;
    groat__str parent = {0};
    groat__near near;
    int count;

    while (path[parent_len - 1] != '/')
        parent_len--;
    groat__str_addn(&parent, path, parent_len);
    groat__near_start(&near, path + parent_len, len - parent_len);
    count = parent.failed ? -1
                          : scandir(parent.data, &children, is_listed, by_name);
    for (int i = 0; i < count; i++) {
        groat__str child = {0};
        bool has = false;

        groat__str_addf(&child, "%s%s", parent.data, children[i]->d_name);
        if (!child.failed &&
            look_for_params(child.data, &has, NULL) == GROAT_OK && has)
            groat__near_try(&near, children[i]->d_name,
                            strlen(children[i]->d_name));
        groat__str_free(&child);
    }
    if (near.found != NULL)
        groat__str_addf(out, "; did you mean '%s%.*s'?", parent.data,
                        (int)near.found_len, near.found);
    for (int i = 0; i < count; i++)
        free(children[i]);
    free(children);
    groat__str_free(&parent);
}

static void say_no_folder(const char *name, size_t len, groat_error *error)
{
    groat__str near = {0};

    while (len > 1 && name[len - 1] == '/')
        len--;
    if (memchr(name, '/', len) != NULL)
        add_near_folder(name, len, &near);
    groat__fail(error, GROAT_INVALID,
                "family '%.*s' is unknown: a name has no '/', and there is no "
                "folder of that name with a params.def, as groat's commands "
                "take one%.200s",
                (int)(len < 200 ? len : 200), name,
                near.len == 0 || near.failed ? "" : near.data);
    groat__str_free(&near);
}

static void say_unknown(const groat__families *families, const char *name,
                        size_t len, groat_error *error)
{
    groat__str all = {0};
    groat__near near;

    if (memchr(name, '/', len) != NULL) {
        say_no_folder(name, len, error);
        return;
    }
    groat__near_start(&near, name, len);
    for (size_t i = 0; i < families->count; i++)
        groat__near_try(&near, families->at[i].name,
                        strlen(families->at[i].name));
    groat__near_tell(&near, "families", &all);
    for (size_t i = 0; i < families->count; i++)
        groat__str_addf(&all, "%s%s", i > 0 ? ", " : "", families->at[i].name);
    groat__str_add(&all, "; others are found by family_path, on the command "
                         "line by GROAT_FAMILY_PATH or as ./FOLDER");
    groat__fail(error, GROAT_INVALID, "family '%.*s' is unknown%.300s%.540s",
                (int)(len < 48 ? len : 48), name,
                families->left_out.len > 0 ? families->left_out.data : "",
                all.failed ? "" : all.data);
    groat__str_free(&all);
}

groat_status groat__families_get(groat__families *families, const char *name,
                                 size_t len, const groat_family **out,
                                 groat_error *error)
{
    groat__family_place *place = find(families, name, len);

    if (place == NULL) {
        say_unknown(families, name, len, error);
        return GROAT_INVALID;
    }
    *out = get(families, place, error);
    if (*out == NULL)
        return GROAT_NO_MEMORY;
    if ((*out)->problem != NULL)
        return groat__fail(error, GROAT_INVALID, "%s", (*out)->problem);
    return GROAT_OK;
}

size_t groat_family_count(const groat_context *context)
{
    return context != NULL ? context->families.count : 0;
}

/* A const context may still read its families at first use. */
static groat__families *families_of(const groat_context *context)
{
    return (groat__families *)(uintptr_t)&context->families;
}

const groat_family *groat_family_at(const groat_context *context, size_t index)
{
    groat__families *families;

    if (!groat__is_usable(context) || index >= context->families.count)
        return NULL;
    families = families_of(context);
    return get(families, &families->at[index], NULL);
}

const groat_family *groat_family_find(const groat_context *context,
                                      const char *name)
{
    groat__families *families;
    groat__family_place *place;

    if (!groat__is_usable(context) || name == NULL)
        return NULL;
    families = families_of(context);
    place = find(families, name, strlen(name));
    return place != NULL ? get(families, place, NULL) : NULL;
}
