/* SPDX-License-Identifier: Apache-2.0
 *
 * libranges_shim.c stands in for whoever takes ranges: a tool of NVTX 3, the
 * library of NVTX 2, and that of roctx.  It writes down what it is told.
 * Locking: its own, over the text.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/nvtx_abi.h"
#include "tests/shim/shim_ranges.h"

#define EXPORT __attribute__((visibility("default")))

int nvtxRangePushA(const char *name) EXPORT;
int nvtxRangePop(void) EXPORT;
int roctxRangePushA(const char *name) EXPORT;
int roctxRangePop(void) EXPORT;
int InitializeInjectionNvtx2(groat__nvtx_get_export *get_export) EXPORT;
shim_ranges_control *shim_ranges(void) EXPORT;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static shim_ranges_control control;
static int threads;
static __thread int thread_number = -1;
static __thread int depth;

shim_ranges_control *shim_ranges(void)
{
    return &control;
}

static void note(const char *who, const char *what, const char *name)
{
    size_t len = strlen(control.text);
    char thread[32] = "";

    if (thread_number < 0)
        thread_number = threads++;
    if (thread_number > 0)
        (void)snprintf(thread, sizeof(thread), "thread %d ", thread_number);
    (void)snprintf(control.text + len, sizeof(control.text) - len,
                   "%s%*s%s %s%s%s\n", thread, 2 * depth, "", who, what,
                   *name == '\0' ? "" : " ", name);
}

static int push(const char *who, const char *name)
{
    (void)pthread_mutex_lock(&lock);
    note(who, "push", name);
    (void)pthread_mutex_unlock(&lock);
    return depth++;
}

static int pop(const char *who)
{
    (void)pthread_mutex_lock(&lock);
    control.below += depth == 0;
    depth -= depth > 0;
    note(who, "pop", "");
    (void)pthread_mutex_unlock(&lock);
    return depth;
}

int nvtxRangePushA(const char *name)
{
    return push("nvtx", name);
}

int nvtxRangePop(void)
{
    return pop("nvtx");
}

int roctxRangePushA(const char *name)
{
    return push("roctx", name);
}

int roctxRangePop(void)
{
    return pop("roctx");
}

static int push_injected(const char *name)
{
    return push("injected", name);
}

static int pop_injected(void)
{
    return pop("injected");
}

/* As tools do: nothing is filled that is not there. */
int InitializeInjectionNvtx2(groat__nvtx_get_export *get_export)
{
    const groat__nvtx_callbacks *callbacks = get_export(GROAT__NVTX_CALLBACKS);
    const groat__nvtx_version_info *version =
        get_export(GROAT__NVTX_VERSION_INFO);
    groat__nvtx_function **table = NULL;
    unsigned size = 0;

    if (control.refuse || callbacks == NULL || version == NULL ||
        get_export(0) != NULL || callbacks->size < sizeof(*callbacks) ||
        version->size < sizeof(*version) || version->version < 3)
        return 0;
    version->set_tool_version(3);
    for (int m = 0; m < GROAT__NVTX_MODULES; m++)
        if (callbacks->get_table(m, &table, &size) != (m > 0) ||
            (m > 0 && (table[0] != NULL || table[1] == NULL ||
                       table[size - 1] == NULL || table[size] != NULL)))
            return 0;
    if (callbacks->get_table(GROAT__NVTX_CORE, &table, &size) == 0 ||
        size <= GROAT__NVTX_RANGE_POP)
        return 0;
    *table[GROAT__NVTX_RANGE_PUSH] = (groat__nvtx_function)push_injected;
    if (!control.partial)
        *table[GROAT__NVTX_RANGE_POP] = (groat__nvtx_function)pop_injected;
    control.attach++;
    return 1;
}
