/* SPDX-License-Identifier: Apache-2.0
 *
 * test_unload.c: a program that is not linked with groat loads libgroat.so,
 * gets and launches a kernel on a cpu target, also with one of the library's
 * threads, looks at the driver, closes the context and unloads the library,
 * again and again.  No thread, descriptor, mapping or memory is left behind;
 * the vendor's library, whose own threads may not survive an unload, stays.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groat.h"
#include "groat_serve.h"
#include "groat_tools.h"

enum { ROUNDS = 50, SETTLED = 5, SLACK = 4096 };

#define CALLS(X)                                                               \
    X(groat_open)                                                              \
    X(groat_close)                                                             \
    X(groat_device_count)                                                      \
    X(groat_kernel_get)                                                        \
    X(groat_kernel_info_get)                                                   \
    X(groat_kernel_release)                                                    \
    X(groat_kernel_start)                                                      \
    X(groat_request_wait)                                                      \
    X(groat_request_free)                                                      \
    X(groat_spec_parse)                                                        \
    X(groat_spec_free)                                                         \
    X(groat_error_clear)

typedef struct api {
    void *handle;
#define MEMBER(name) __typeof__(name) *name;
    CALLS(MEMBER)
} api;

static int complain(const char *what, const char *why)
{
    (void)printf("FAIL: %s: %s\n", what, why);
    return 1;
}

static int load(api *lib, const char *path)
{
    lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib->handle == NULL)
        return complain(path, dlerror());
#define FIND(name)                                                             \
    {                                                                          \
        void *address = dlsym(lib->handle, #name);                             \
                                                                               \
        if (address == NULL)                                                   \
            return complain(#name, "is not there");                            \
        memcpy(&lib->name, &address, sizeof(address));                         \
    }
    CALLS(FIND)
    return 0;
}

static int work(const api *lib, groat_context *context, groat_error *error)
{
    static const char spec_text[] = "tile_loader_lds:tile_rows=16,src_cols=64";
    static const char target[] = "cpu:gfx950";
    groat_request *request = NULL;
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;
    groat_status status =
        lib->groat_spec_parse(context, spec_text, target, &spec, error);

    if (status == GROAT_OK)
        status = lib->groat_kernel_start(spec, NULL, &request, error);
    if (status == GROAT_OK)
        status = lib->groat_request_wait(request, -1, NULL, NULL, error);
    if (status == GROAT_OK)
        status = lib->groat_kernel_get(context, spec_text, target, &kernel,
                                       NULL, error);
    lib->groat_kernel_release(kernel);
    lib->groat_request_free(request);
    lib->groat_spec_free(spec);
    (void)lib->groat_device_count(context);
    return status == GROAT_OK ? 0 : complain("a kernel", error->text);
}

static int go_round(const char *path, const char *cache)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;
    api lib;
    int bad = load(&lib, path);

    if (bad)
        return bad;
    options.cache_dir = cache;
    options.loaded_max_bytes = 1 << 20;
    if (lib.groat_open(&options, &context, &error) != GROAT_OK)
        return complain("groat_open", error.text);
    bad = work(&lib, context, &error);
    lib.groat_close(context);
    lib.groat_error_clear(&error);
    if (dlclose(lib.handle) != 0)
        return complain("dlclose", dlerror());
    return bad;
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *item;
    int count = 0;

    while (folder != NULL && (item = readdir(folder)) != NULL)
        count += item->d_name[0] != '.';
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

static bool is_mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    char line[4096];

    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL)
        found = strstr(line, name) != NULL;
    if (maps != NULL)
        (void)fclose(maps);
    return found;
}

/* Resources of a process. */
typedef struct holding {
    int threads;
    int descriptors;
    size_t bytes;
} holding;

static holding look(void)
{
    return (holding){count_entries("/proc/self/task"),
                     count_entries("/proc/self/fd"), mallinfo2().uordblks};
}

static int check(const holding *before, const holding *after)
{
    const char *sanitize = getenv("GROAT_SANITIZE");
    bool plain = sanitize == NULL || strcmp(sanitize, "no") == 0;

    (void)printf("threads %d, %d; descriptors %d, %d; bytes %zu, %zu\n",
                 before->threads, after->threads, before->descriptors,
                 after->descriptors, before->bytes, after->bytes);
    if (after->threads != before->threads)
        return complain("threads", "are left behind");
    if (after->descriptors != before->descriptors)
        return complain("descriptors", "are left behind");
    if (is_mapped("groat-kernel"))
        return complain("kernels", "are still mapped");
    if (getenv("GROAT_CUDA") != NULL && !is_mapped("libcuda_shim"))
        return complain("the driver", "was unloaded");
    /* Sanitizers keep libraries mapped, and count memory themselves. */
    if (plain && is_mapped("libgroat"))
        return complain("libgroat.so", "is still mapped");
    if (plain && after->bytes > before->bytes + SLACK)
        return complain("memory", "is left behind");
    return 0;
}

/* The allocator's caches per thread count as in use, and grow for a while: they
 * are turned off. */
static void start_again(char **argv)
{
    if (getenv("GLIBC_TUNABLES") == NULL &&
        setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1) == 0)
        (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    const char *build = getenv("top_builddir");
    const char *shim = getenv("GROAT_TEST_CUDA_SHIM");
    char folder[] = "/tmp/groat-unload-XXXXXX";
    char file[64];
    char path[1024];
    holding before = {0};
    holding after;
    int bad = 0;

    (void)argc;
    start_again(argv);
    (void)snprintf(path, sizeof(path), "%s/.libs/libgroat.so",
                   build == NULL ? "." : build);
    if (access(path, R_OK) != 0) {
        (void)printf("SKIP: there is no %s: only the static library was "
                     "built\n",
                     path);
        return 77;
    }
    if (shim != NULL && setenv("GROAT_CUDA", shim, 1) != 0)
        return 1;
    if (mkdtemp(folder) == NULL)
        return complain(folder, "cannot be made");
    for (int i = 0; i < ROUNDS && bad == 0; i++) {
        bad = go_round(path, folder);
        if (i == SETTLED)
            before = look();
    }
    after = look();
    (void)snprintf(file, sizeof(file), "%s/groat.sqlite", folder);
    (void)unlink(file);
    (void)rmdir(folder);
    return bad ? bad : check(&before, &after);
}
