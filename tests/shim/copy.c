/* SPDX-License-Identifier: Apache-2.0
 *
 * copy.c makes private copies of stand-in libraries.  A symbol is hidden by
 * changing the first letter of its name wherever the file spells it: the hash
 * of the dynamic symbol table then leads to a name that no longer matches.
 */
#include "tests/shim/copy.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

enum { SHIM_BYTES_MAX = 64 << 20 };

char *shim_folder_make(void)
{
    const char *base = getenv("TMPDIR");
    groat__str path = {0};
    char *folder;

    /* A name that glob(3) would take for a pattern: groat must not. */
    groat__str_addf(&path, "%s/groat-[shim]*-XXXXXX",
                    base != NULL && base[0] != '\0' ? base : "/tmp");
    folder = groat__str_take(&path);
    ck_assert_ptr_nonnull(folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

void shim_folder_remove(char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            ck_assert_int_eq(unlinkat(dirfd(dir), entry->d_name, 0), 0);
    (void)closedir(dir);
    ck_assert_int_eq(rmdir(folder), 0);
    free(folder);
}

static void hide(char *data, size_t bytes, const char *name)
{
    size_t len = strlen(name) + 2;
    char *whole = calloc(1, len);
    char *at = data;
    int times = 0;

    ck_assert_ptr_nonnull(whole);
    memcpy(whole + 1, name, len - 2);
    while ((at = memmem(at, bytes - (size_t)(at - data), whole, len)) != NULL) {
        at[1] = '#';
        at++;
        times++;
    }
    free(whole);
    ck_assert_msg(times > 0, "%s is not spelled in the library", name);
}

char *shim_copy(const char *from, const char *folder, const char *name,
                const char *const *hidden)
{
    groat__str path = {0};
    char *data = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(groat__fs_read(from, SHIM_BYTES_MAX, &data, &bytes, NULL),
                     GROAT_OK);
    for (; hidden != NULL && *hidden != NULL; hidden++)
        hide(data, bytes, *hidden);
    groat__str_addf(&path, "%s/%s", folder, name);
    ck_assert(!path.failed);
    ck_assert_int_eq(groat__fs_write(path.data, data, bytes, 0600, NULL),
                     GROAT_OK);
    free(data);
    return groat__str_take(&path);
}

void *shim_control(const char *path, const char *control, void **handle)
{
    void *(*get)(void) = NULL;
    void *address;

    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(*handle != NULL, "%s", dlerror());
    address = dlsym(*handle, control);
    ck_assert_ptr_nonnull(address);
    memcpy(&get, &address, sizeof(get));
    return get();
}

void shim_fail(shim_fault *fault, const char *call, int at, int code)
{
    int len = snprintf(fault->call, sizeof(fault->call), "%s", call);

    ck_assert_int_lt(len, (int)sizeof(fault->call));
    fault->at = at;
    fault->code = code;
    fault->hit = false;
}

const char *shim_path(const char *variable)
{
    const char *path = getenv(variable);

    ck_assert_msg(path != NULL, "%s is not set: the path of the stand-in",
                  variable);
    return path;
}
