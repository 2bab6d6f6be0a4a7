/* SPDX-License-Identifier: Apache-2.0
 *
 * counts.c: the reference counts of core/resident.c, in every execution that
 * C11's memory model allows: two threads launch a kernel while one unloads
 * unreferenced kernels; with LOADED_AGAIN one thread launches it while another
 * loads it again.  A thread with a reference finds the module loaded, and the
 * thread that unloads it has seen every launch of those that dropped theirs.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

void __VERIFIER_assume(int);
typedef int pthread_cond_t;

/* Conditions are not modelled: an execution that would wait for one is not
 * explored further. */
#define pthread_cond_wait(cond, mutex) ((void)(cond), __VERIFIER_assume(0), 0)
#define pthread_cond_broadcast(cond)   ((void)(cond), 0)
#include "src/core/resident.c"

static groat_context context;
static groat_kernel kernel;
static int there, launches; /* not atomic: a race is an error */

static bool is_idle(void *state, groat__module *module)
{
    (void)state;
    (void)module;
    return launches >= 0;
}

static void unload(void *state, groat__module *module)
{
    (void)state;
    (void)module;
    there = 0;
}

static groat__device device;
static groat__module *const module = (groat__module *)&there;

static void *launch(void *unused)
{
    if (groat__resident_hold(&kernel)) {
        assert(there == 1 && kernel.module == module);
        groat__resident_drop(&kernel);
    }
    return unused;
}

static void *launch_and_note(void *unused)
{
    if (groat__resident_hold(&kernel)) {
        assert(there == 1);
        launches++;
        groat__resident_drop(&kernel);
    }
    return unused;
}

static void *sweep(void *unused)
{
    groat__resident_sweep(&context);
    return unused;
}

static void *load(void *unused)
{
    there = 1;
    groat__resident_add(&kernel, module, 2);
    return unused;
}

static void run(void *(*const *work)(void *), int count)
{
    pthread_t threads[3];

    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work[i], NULL) != 0)
            return;
}

int main(void)
{
    if (pthread_mutex_init(&context.lock, NULL) != 0)
        return 1;
    device.idle = is_idle;
    device.unload = unload;
    kernel.context = &context;
    kernel.device = &device;
    kernel.bytes = 2;
    atomic_init(&context.resident.bytes, 2);
    context.resident.max_bytes = 1;
    context.kernels = &kernel;
#ifdef LOADED_AGAIN
    atomic_init(&kernel.refs, 1 | gone_flag);
    run((void *(*const[])(void *)){launch, load}, 2);
#else
    atomic_init(&kernel.refs, 1);
    kernel.module = module;
    there = 1;
    run((void *(*const[])(void *)){launch, launch_and_note, sweep}, 3);
#endif
    return 0;
}
