/* SPDX-License-Identifier: Apache-2.0
 *
 * libranges_shim.c stands in for the receivers of ranges: a program's
 * callbacks, and a tool of NVTX 3 where its header is available.  It records
 * what it is told.  Locking: its own, over the text.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#endif

#include "tests/shim/shim_ranges.h"

#define EXPORT __attribute__((visibility("default")))

shim_ranges_control *shim_ranges(void) EXPORT;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;
/* In the static TLS block: clang 14's leak checker mistakes a separate block
 * for something else where it lies 16 bytes behind a page's begin. */
#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD int thread_number = -1;
OF_THREAD int depth;
static shim_ranges_control control;

static void note(const char *what, const char *name)
{
    size_t len = strlen(control.text);
    char thread[32] = "";

    if (thread_number < 0)
        thread_number = threads++;
    if (thread_number > 0)
        (void)snprintf(thread, sizeof(thread), "thread %d ", thread_number);
    (void)snprintf(control.text + len, sizeof(control.text) - len,
                   "%s%*s%s%s%s\n", thread, 2 * depth, "", what,
                   *name == '\0' ? "" : " ", name);
}

static void push(void *user, const char *name)
{
    (void)pthread_mutex_lock(&lock);
    control.below += user != &control;
    note("push", name);
    (void)pthread_mutex_unlock(&lock);
    depth++;
}

static void pop(void *user)
{
    (void)pthread_mutex_lock(&lock);
    control.below += depth == 0 || user != &control;
    depth -= depth > 0;
    note("pop", "");
    (void)pthread_mutex_unlock(&lock);
}

static shim_ranges_control control = {.push = push, .pop = pop};

shim_ranges_control *shim_ranges(void)
{
    return &control;
}

#ifdef HAVE_NVTX_H
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export) EXPORT;

static int NVTX_API push_injected(const char *name)
{
    push(&control, name);
    return 0;
}

static int NVTX_API pop_injected(void)
{
    pop(&control);
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export)
{
    const NvtxExportTableCallbacks *callbacks =
        (const NvtxExportTableCallbacks *)get_export(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (callbacks == NULL ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ==
            0 ||
        size <= NVTX_CBID_CORE_RangePop)
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push_injected;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop_injected;
    control.attach++;
    return 1;
}
#endif
