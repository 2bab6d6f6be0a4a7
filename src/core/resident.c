/* SPDX-License-Identifier: Apache-2.0
 *
 * resident.c bounds the bytes of a context's loaded modules: when a load
 * exceeds the bound, it evicts the least recently used kernels that have no
 * user's reference and no pending launch.
 *
 * Invariant: a kernel's reference count and its gone flag are one atomic word.
 * The flag is set, in one step, only while the context's own reference is the
 * last, so a thread that added a reference and saw no flag has a module that
 * stays.  Handles are never freed before groat_close; an unloaded kernel is
 * loaded again by the next get or launch.
 * Recency is the number of loads at the last use: a hit writes it only if a
 * kernel was loaded since, so that hits do not contend for it.
 * Locking: the context's lock for the choice, for a kernel's bytes and for
 * `leaving`; it is not held while the driver is asked or unloads.
 */
#include "core/resident.h"

#include "core/core.h"

/* A flag in the reference count: the module is unloaded or about to be. */
static const unsigned gone_flag = 1u << 30;

bool groat__resident_counts(const groat_kernel *kernel)
{
    return kernel->context->resident.max_bytes != 0;
}

bool groat__resident_is_loaded(const groat_kernel *kernel)
{
    return (atomic_load(&kernel->refs) & gone_flag) == 0;
}

/* Only the context has a reference, and no graph uses the kernel. */
static bool is_free(const groat_kernel *kernel)
{
    return atomic_load(&kernel->refs) == 1 && !atomic_load(&kernel->kept);
}

static bool is_over(const groat_context *context)
{
    const groat__resident *r = &context->resident;

    return r->max_bytes != 0 && atomic_load(&r->bytes) > r->max_bytes &&
           !groat__seal_is_on(&context->seal);
}

/* With the lock held: the next kernel to evict, of those not yet tried in this
 * sweep.  The list has the newest first. */
static groat_kernel *choose(const groat_context *context)
{
    groat_kernel *oldest = NULL;

    for (groat_kernel *k = context->kernels; k != NULL; k = k->next)
        if (is_free(k) && k->passed != context->resident.sweeps &&
            (oldest == NULL ||
             atomic_load(&k->used) <= atomic_load(&oldest->used)))
            oldest = k;
    return oldest;
}

/* With the lock held; releases it while the driver is asked. */
static void send_away(groat_context *context, groat_kernel *kernel)
{
    groat__resident *r = &context->resident;
    unsigned alone = 1;
    bool idle;

    kernel->passed = r->sweeps;
    if (!atomic_compare_exchange_strong(&kernel->refs, &alone, 1 | gone_flag))
        return;
    kernel->leaving = true;
    (void)pthread_mutex_unlock(&context->lock);
    /* A launch may have begun and ended since the kernel was chosen. */
    idle = !atomic_load(&kernel->kept) &&
           kernel->device->idle(kernel->device_state, kernel->module);
    if (idle)
        kernel->device->unload(kernel->device_state, kernel->module);
    (void)pthread_mutex_lock(&context->lock);
    kernel->leaving = false;
    if (idle) {
        kernel->module = NULL;
        (void)atomic_fetch_sub(&r->bytes, kernel->bytes);
        (void)atomic_fetch_add(&r->unloads, 1);
    } else {
        (void)atomic_fetch_and(&kernel->refs, ~gone_flag);
        (void)atomic_fetch_add(&r->deferred, 1);
    }
    (void)pthread_cond_broadcast(&context->landed);
}

void groat__resident_sweep(groat_context *context)
{
    groat__resident *r = &context->resident;
    groat_kernel *kernel;

    if (!is_over(context))
        return;
    (void)pthread_mutex_lock(&context->lock);
    if (!r->sweeping) {
        r->sweeping = true;
        r->sweeps++;
        while (is_over(context) && (kernel = choose(context)) != NULL)
            send_away(context, kernel);
        r->sweeping = false;
    }
    (void)pthread_mutex_unlock(&context->lock);
}

void groat__resident_reserve(groat_context *context, uint64_t bytes)
{
    (void)atomic_fetch_add(&context->resident.bytes, bytes);
    groat__resident_sweep(context);
}

void groat__resident_give_back(groat_context *context, uint64_t bytes)
{
    (void)atomic_fetch_sub(&context->resident.bytes, bytes);
}

static void use(groat_kernel *kernel)
{
    uint_fast64_t now = atomic_load_explicit(&kernel->context->resident.loads,
                                             memory_order_relaxed);

    if (atomic_load_explicit(&kernel->used, memory_order_relaxed) != now)
        atomic_store_explicit(&kernel->used, now, memory_order_relaxed);
}

void groat__resident_add(groat_kernel *kernel, groat__module *module,
                         uint64_t bytes)
{
    groat_context *context = kernel->context;

    (void)pthread_mutex_lock(&context->lock);
    (void)atomic_fetch_add(&context->resident.loads, 1);
    use(kernel);
    kernel->bytes = bytes;
    kernel->module = module;
    (void)atomic_fetch_and(&kernel->refs, ~gone_flag);
    (void)pthread_mutex_unlock(&context->lock);
}

/* Waits for an unload in progress, which may be given up.  Drops the caller's
 * reference if the kernel is unloaded. */
static bool settle(groat_kernel *kernel)
{
    groat_context *context = kernel->context;
    bool loaded;

    (void)pthread_mutex_lock(&context->lock);
    while (kernel->leaving)
        (void)pthread_cond_wait(&context->landed, &context->lock);
    loaded = groat__resident_is_loaded(kernel);
    (void)pthread_mutex_unlock(&context->lock);
    if (!loaded)
        groat__resident_drop(kernel);
    return loaded;
}

groat_kernel *groat__resident_look(groat_kernel *kernel)
{
    if (kernel == NULL)
        return NULL;
    use(kernel);
    return groat__resident_is_loaded(kernel) ? kernel : NULL;
}

bool groat__resident_hold(groat_kernel *kernel)
{
    if (!groat__resident_counts(kernel))
        return true;
    use(kernel);
    return (atomic_fetch_add(&kernel->refs, 1) & gone_flag) == 0 ||
           settle(kernel);
}

void groat__resident_drop(groat_kernel *kernel)
{
    if (groat__resident_counts(kernel))
        (void)atomic_fetch_sub_explicit(&kernel->refs, 1, memory_order_release);
}

groat_kernel *groat_kernel_retain(groat_kernel *kernel)
{
    if (kernel != NULL && groat__resident_counts(kernel))
        (void)atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed);
    return kernel;
}

void groat_kernel_release(groat_kernel *kernel)
{
    /* The context's own reference keeps the handle until groat_close. */
    if (kernel != NULL && groat__resident_counts(kernel) &&
        groat__is_usable(kernel->context) &&
        atomic_fetch_sub_explicit(&kernel->refs, 1, memory_order_release) == 2)
        groat__resident_sweep(kernel->context);
}
