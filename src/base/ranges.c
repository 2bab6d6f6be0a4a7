/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges.c opens what takes ranges: a tool of NVTX 3, whose client is here, or
 * a library of NVTX 2 or roctx.  No header of a vendor is needed.
 *
 * Invariant: a tool is attached once per process and stays; it keeps pointers
 * into the client, and may change what they point to at any time.
 * Locking: the client's, while a tool is attached.
 */
#include "base/ranges.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nvtx_abi.h"

/* ---- the client of NVTX 3 -------------------------------------------------
 */

enum { FUNCTIONS_MAX = 16, NVTX_VERSION = 3 };

static const unsigned char table_sizes[GROAT__NVTX_MODULES] = {
    [GROAT__NVTX_CORE] = GROAT__NVTX_CORE_SIZE,
    [GROAT__NVTX_CUDA] = GROAT__NVTX_CUDA_SIZE,
    [GROAT__NVTX_OPENCL] = GROAT__NVTX_OPENCL_SIZE,
    [GROAT__NVTX_CUDART] = GROAT__NVTX_CUDART_SIZE,
    [GROAT__NVTX_CORE2] = GROAT__NVTX_CORE2_SIZE,
    [GROAT__NVTX_SYNC] = GROAT__NVTX_SYNC_SIZE,
};

/* The one of this process: a tool that asks for a table cannot say of which
 * context. */
static struct {
    pthread_mutex_t lock;
    bool attached;
    groat__nvtx_function function[GROAT__NVTX_MODULES][FUNCTIONS_MAX];
    groat__nvtx_function *table[GROAT__NVTX_MODULES][FUNCTIONS_MAX + 1];
} nvtx_client = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int get_table(int module, groat__nvtx_function ***table, unsigned *size)
{
    if (module <= 0 || module >= GROAT__NVTX_MODULES)
        return 0;
    if (table != NULL)
        *table = nvtx_client.table[module];
    if (size != NULL)
        *size = table_sizes[module];
    return 1;
}

static void set_tool_version(uint32_t version)
{
    (void)version;
}

static const void *get_export(uint32_t id)
{
    static const groat__nvtx_callbacks callbacks = {sizeof(callbacks),
                                                    get_table};
    static const groat__nvtx_version_info version = {
        sizeof(version), NVTX_VERSION, 0, set_tool_version};

    return id == GROAT__NVTX_CALLBACKS      ? (const void *)&callbacks
           : id == GROAT__NVTX_VERSION_INFO ? &version
                                            : NULL;
}

/* What a tool has left out does nothing. */
static int push_injected(const char *name)
{
    groat__nvtx_function function =
        nvtx_client.function[GROAT__NVTX_CORE][GROAT__NVTX_RANGE_PUSH];

    return function == NULL ? 0 : ((int (*)(const char *))function)(name);
}

static int pop_injected(void)
{
    groat__nvtx_function function =
        nvtx_client.function[GROAT__NVTX_CORE][GROAT__NVTX_RANGE_POP];

    return function == NULL ? 0 : ((int (*)(void))function)();
}

/* Locked: hands the tables to a tool. */
static bool attach(groat__nvtx_attach *tool)
{
    for (int m = 0; m < GROAT__NVTX_MODULES; m++)
        for (unsigned i = 0; i < table_sizes[m]; i++)
            nvtx_client.table[m][i] =
                i == 0 ? NULL : &nvtx_client.function[m][i];
    if (tool(get_export) != 0)
        return true;
    memset(nvtx_client.function, 0, sizeof(nvtx_client.function));
    return false;
}

static groat_status open_injection(const groat__ranges_search *search,
                                   groat__ranges *out, groat_error *error)
{
    const groat__dl_search at = {.override = search->injection,
                                 .override_name = "NVTX_INJECTION64_PATH"};
    groat__nvtx_attach *tool = NULL;
    groat_status status = groat__dl_open(&at, &out->dl, error);
    bool attached;

    if (status != GROAT_OK)
        return status;
    *(void **)&tool = groat__dl_symbol(&out->dl, "InitializeInjectionNvtx2");
    if (tool == NULL)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s is no tool of NVTX 3: it has no "
                           "InitializeInjectionNvtx2",
                           search->injection);
    (void)pthread_mutex_lock(&nvtx_client.lock);
    nvtx_client.attached = nvtx_client.attached || attach(tool);
    attached = nvtx_client.attached;
    (void)pthread_mutex_unlock(&nvtx_client.lock);
    if (!attached)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s would not be attached by NVTX 3",
                           search->injection);
    out->push = push_injected;
    out->pop = pop_injected;
    return GROAT_OK;
}

/* ---- libraries ------------------------------------------------------------
 */

/* A library that takes ranges, newest first. */
typedef struct provider {
    const char *kind;
    const char *push, *pop;
    const char *variable; /* that names the file */
    const char *files[3];
    const char *patterns[4];
    const char *folder; /* of a toolkit */
} provider;

static const provider nvtx = {
    "nvtx",
    "nvtxRangePushA",
    "nvtxRangePop",
    "GROAT_NVTX",
    {"libnvToolsExt.so.1", NULL},
    {"/usr/local/cuda/lib64/libnvToolsExt.so.1",
     "/usr/local/cuda-*/lib64/libnvToolsExt.so.1", NULL},
    "lib64",
};

static const provider roctx = {
    "roctx",
    "roctxRangePushA",
    "roctxRangePop",
    "GROAT_ROCTX",
    {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4", NULL},
    {"/opt/rocm*/lib/librocprofiler-sdk-roctx.so.1",
     "/opt/rocm*/lib/libroctx64.so.4", NULL},
    "lib",
};

/* Tries a toolkit's files first: it was named for a reason. */
static groat_status open_files(const provider *p, const char *path,
                               const char *toolkit, groat__dl *out,
                               groat_error *error)
{
    groat__dl_search at = {path, p->variable, p->files, p->patterns};

    for (size_t i = 0; path == NULL && toolkit && p->files[i] != NULL; i++) {
        groat__str file = {0};
        const char *names[2] = {NULL, NULL};
        const groat__dl_search own = {NULL, NULL, names, NULL};
        groat_status status = GROAT_NO_DEVICE;

        groat__str_addf(&file, "%s/%s/%s", toolkit, p->folder, p->files[i]);
        names[0] = file.data;
        if (!file.failed)
            status = groat__dl_open(&own, out, NULL);
        groat__str_free(&file);
        if (status == GROAT_OK)
            return GROAT_OK;
        groat__dl_close(out);
    }
    return groat__dl_open(&at, out, error);
}

static groat_status open_library(const provider *p, const char *path,
                                 const char *toolkit, groat__ranges *out,
                                 groat_error *error)
{
    groat_status status = open_files(p, path, toolkit, &out->dl, error);

    if (status != GROAT_OK)
        return status;
    *(void **)&out->push = groat__dl_symbol(&out->dl, p->push);
    *(void **)&out->pop = groat__dl_symbol(&out->dl, p->pop);
    if (out->push != NULL && out->pop != NULL)
        return GROAT_OK;
    return groat__fail(error, GROAT_NO_DEVICE, "%s lacks %s or %s",
                       out->dl.path, p->push, p->pop);
}

static groat_status open_nvtx(const groat__ranges_search *search,
                              groat__ranges *out, groat_error *error)
{
    return search->injection != NULL
               ? open_injection(search, out, error)
               : open_library(&nvtx, search->nvtx, search->cuda_home, out,
                              error);
}

static groat_status open_roctx(const groat__ranges_search *search,
                               groat__ranges *out, groat_error *error)
{
    return open_library(&roctx, search->roctx, search->rocm_path, out, error);
}

/* As groat__ranges_open, of one kind. */
static groat_status open_kind(const char *kind,
                              const groat__ranges_search *search,
                              groat__ranges *out, groat_error *error)
{
    bool is_nvtx = strcmp(kind, "nvtx") == 0;
    groat_status status = is_nvtx ? open_nvtx(search, out, error)
                                  : open_roctx(search, out, error);

    if (status == GROAT_OK)
        out->kind = is_nvtx ? "nvtx" : "roctx";
    else
        groat__ranges_close(out);
    return status;
}

groat_status groat__ranges_open(const groat__ranges_search *search,
                                groat__ranges *out, groat_error *error)
{
    const char *kind = search->kind == NULL ? "off" : search->kind;

    *out = (groat__ranges){.kind = "off"};
    if (strcmp(kind, "off") == 0)
        return GROAT_OK;
    if (strcmp(kind, "nvtx") == 0 || strcmp(kind, "roctx") == 0)
        return open_kind(kind, search, out, error);
    if (strcmp(kind, "auto") != 0)
        return groat__fail(error, GROAT_INVALID,
                           "ranges is '%.40s'; allowed: off, nvtx, roctx, auto",
                           kind);
    if (open_kind("nvtx", search, out, NULL) != GROAT_OK)
        (void)open_kind("roctx", search, out, NULL);
    return GROAT_OK;
}

void groat__ranges_close(groat__ranges *ranges)
{
    groat__dl_close(&ranges->dl);
    *ranges = (groat__ranges){.kind = "off"};
}

void groat__ranges_push(const groat__ranges *ranges, const char *what,
                        const char *name)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "groat: %s%s%s", what,
                   name == NULL ? "" : " ", name == NULL ? "" : name);
    (void)ranges->push(text);
}
