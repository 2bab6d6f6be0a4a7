/* SPDX-License-Identifier: Apache-2.0
 *
 * rocm.c finds the libraries of ROCm and their versions.  It leaves opening to
 * base/dl.c and calls to hiprtc.c and hip.c.
 * Invariant: all libraries are looked for in the same order of places,
 * newest file name first, so that a compiler and the runtime that loads its
 * output come from one release.  No state, no locking.
 */
#include "backend/rocm.h"
#include "backend/shared.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FILES_MAX = 6, PLACES_MAX = 24, NAMES_MAX = FILES_MAX * PLACES_MAX + 1 };

/* A NULL-terminated list of paths, names or patterns. */
typedef struct name_list {
    char *list[NAMES_MAX];
    size_t count;
    bool failed;
} name_list;

static void names_free(name_list *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
}

/* Adds DIR/FILE for each file, after root if that is not NULL; in a list of
 * patterns root is quoted. */
static void add_place(name_list *names, const char *root, bool quote,
                      const char *dir, const char *const *files)
{
    for (size_t i = 0; files[i] != NULL; i++) {
        groat__str path = {0};
        char *taken;

        if (root != NULL && quote)
            groat__add_quoted(&path, root);
        else if (root != NULL)
            groat__str_add(&path, root);
        groat__str_addf(&path, "%s/%s", dir, files[i]);
        taken = groat__str_take(&path);
        if (taken == NULL || names->count + 1 >= NAMES_MAX) {
            free(taken);
            names->failed = true;
            return;
        }
        names->list[names->count++] = taken;
    }
}

static void add_wheels(name_list *names, const char *root, const char *dir,
                       const char *const *files)
{
    static const char *const wheels[] = {"_rocm_sdk_core/lib", "torch/lib"};

    for (size_t i = 0; i < sizeof(wheels) / sizeof(wheels[0]); i++) {
        char place[128];

        (void)snprintf(place, sizeof(place), "%s/%s", dir, wheels[i]);
        add_place(names, root, true, place, files);
    }
}

/* Adds names for the loader; $ROCM_PATH comes first, as the user set it. */
static void add_loader_names(name_list *names, const groat__env *env,
                             const char *const *files)
{
    if (env->rocm_path != NULL)
        add_place(names, env->rocm_path, false, "/lib", files);
    for (size_t i = 0; files[i] != NULL && !names->failed; i++) {
        names->list[names->count] = strdup(files[i]);
        if (names->list[names->count] == NULL)
            names->failed = true;
        else
            names->count++;
    }
}

static void add_patterns(name_list *names, const groat__env *env,
                         const char *const *files)
{
    add_place(names, NULL, false, "/opt/rocm/lib", files);
    add_place(names, NULL, false, "/opt/rocm-*/lib", files);
    add_place(names, NULL, false, "/usr/lib/x86_64-linux-gnu", files);
    add_place(names, NULL, false, "/usr/lib64", files);
    if (env->conda_prefix != NULL) {
        add_place(names, env->conda_prefix, true, "/lib", files);
        add_wheels(names, env->conda_prefix, "/lib/python3*/site-packages",
                   files);
    }
    if (env->virtual_env != NULL)
        add_wheels(names, env->virtual_env, "/lib/python3*/site-packages",
                   files);
    if (env->home != NULL)
        add_wheels(names, env->home, "/.local/lib/python3*/site-packages",
                   files);
    add_wheels(names, NULL, "/usr/local/lib/python3*/dist-packages", files);
    add_wheels(names, NULL, "/usr/local/lib/python3*/site-packages", files);
    add_wheels(names, NULL, "/usr/lib/python3*/site-packages", files);
    add_wheels(names, NULL, "/usr/lib/python3/dist-packages", files);
}

const char *const groat__rocm_hip_files[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
    "libamdhip64.so", NULL};

groat_status groat__rocm_open(const groat__env *env,
                              const groat__rocm_library *library, groat__dl *dl,
                              groat_error *error)
{
    groat__dl_search search = {library->override, library->override_name, NULL,
                               NULL};
    name_list loader = {{NULL}, 0, false};
    name_list patterns = {{NULL}, 0, false};
    groat_status status;

    memset(dl, 0, sizeof(*dl));
    add_loader_names(&loader, env, library->files);
    add_patterns(&patterns, env, library->files);
    if (loader.failed || patterns.failed) {
        status =
            groat__fail(error, GROAT_NO_MEMORY,
                        "no memory for the places of %s", library->files[0]);
        goto free_names;
    }
    search.sonames = (const char *const *)loader.list;
    search.patterns = (const char *const *)patterns.list;
    status = groat__dl_open(&search, dl, error);
free_names:
    names_free(&loader);
    names_free(&patterns);
    return status;
}

bool groat__rocm_loaded(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD);

    if (handle == NULL)
        return false;
    (void)dlclose(handle);
    return true;
}

const char *groat__rocm_needed(const groat__dl *dl, const char *prefix)
{
    struct link_map *map = NULL;
    const char *texts = NULL;

    if (dl->handle == NULL || dlinfo(dl->handle, RTLD_DI_LINKMAP, &map) != 0 ||
        map == NULL)
        return NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        ElfW(Addr) at = d->d_un.d_ptr;

        /* Some C libraries do not relocate the address in memory. */
        if (d->d_tag == DT_STRTAB)
            texts = (const char *)(at < map->l_addr ? map->l_addr + at : at);
    }
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (texts != NULL && d->d_tag == DT_NEEDED &&
            strncmp(texts + d->d_un.d_val, prefix, strlen(prefix)) == 0)
            return texts + d->d_un.d_val;
    return NULL;
}

void groat__rocm_version(const groat__dl *dl, int packed, char *out,
                         size_t out_bytes)
{
    const char *file = strrchr(dl->path, '/');
    const char *digits = strstr(file != NULL ? file : dl->path, ".so.");

    if (packed >= 10000000)
        (void)snprintf(out, out_bytes, "%d.%d.%d", packed / 10000000,
                       packed / 100000 % 100, packed % 100000);
    else if (digits != NULL && isdigit((unsigned char)digits[4]))
        (void)snprintf(out, out_bytes, "%s", digits + 4);
    else
        (void)snprintf(out, out_bytes, "unknown");
}
