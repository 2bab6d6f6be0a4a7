/* SPDX-License-Identifier: Apache-2.0
 *
 * seal.c answers misses of a sealed context, which makes no kernels: it
 * remembers which names are absent, and holds the fallbacks.
 *
 * Invariant: a name is known to be absent only within an epoch; a kernel that
 * comes into memory begins a new one, so that it is never refused as absent.
 * Known names are hashes in a set-associative table: a name that was
 * overwritten is looked up again.
 * Locking: none, except in groat_fallback_set.  tests/litmus/seal.c runs this
 * code in every execution of the memory model.
 */
#include "core/seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

typedef struct groat__fallback {
    const char *target;
    size_t family_len;
    const char *family; /* a kernel's spec, which starts with the name */
    _Atomic(groat_kernel *) kernel;
    struct groat__fallback *next;
} fallback;

/* ---- known misses ------------------------------------------------------ */

uint64_t groat__seal_mark(const groat__seal *seal,
                          const groat__kernel_name *name)
{
    uint64_t epoch = atomic_load_explicit(&seal->epoch, memory_order_acquire);
    uint64_t mark = groat__kernel_name_hash(name) ^ epoch * 0xD6E8FEB86659FD93u;

    return mark | 1; /* 0 marks a free slot */
}

static size_t first_place(uint64_t mark)
{
    return (mark >> 32) % (GROAT__SEAL_NAMES / GROAT__SEAL_WAYS) *
           GROAT__SEAL_WAYS;
}

bool groat__seal_has(const groat__seal *seal, uint64_t mark)
{
    size_t first = first_place(mark);

    for (size_t i = 0; i < GROAT__SEAL_WAYS; i++)
        if (atomic_load_explicit(&seal->known[first + i],
                                 memory_order_relaxed) == mark)
            return true;
    return false;
}

bool groat__seal_note(groat__seal *seal, uint64_t mark)
{
    size_t first = first_place(mark);
    unsigned way;

    if (groat__seal_has(seal, mark))
        return false;
    for (size_t i = 0; i < GROAT__SEAL_WAYS; i++) {
        uint_fast64_t found = 0;

        if (atomic_compare_exchange_strong(&seal->known[first + i], &found,
                                           mark))
            return true;
        if (found == mark) /* another thread was faster */
            return false;
    }
    way = atomic_fetch_add(&seal->next, 1) % GROAT__SEAL_WAYS;
    atomic_store(&seal->known[first + way], mark);
    return true;
}

void groat__seal_renew(groat__seal *seal)
{
    (void)atomic_fetch_add_explicit(&seal->epoch, 1, memory_order_release);
}

void groat_seal(groat_context *context)
{
    if (context == NULL || atomic_exchange(&context->seal.on, true))
        return;
    atomic_store(&context->seal.lines, 0);
    atomic_store(&context->seal.searched, false);
    groat__seal_renew(&context->seal);
}

void groat_unseal(groat_context *context)
{
    if (context != NULL)
        atomic_store(&context->seal.on, false);
}

/* ---- fallbacks --------------------------------------------------------- */

static fallback *find_fallback(const groat__seal *seal, const char *family,
                               size_t len, const char *target)
{
    fallback *f = atomic_load_explicit(&seal->list, memory_order_acquire);

    while (f != NULL &&
           (f->family_len != len || memcmp(f->family, family, len) != 0 ||
            strcmp(f->target, target) != 0))
        f = f->next;
    return f;
}

groat_status groat__seal_set_fallback(groat__seal *seal, groat_kernel *kernel,
                                      groat_kernel **before, groat_error *error)
{
    size_t len = strcspn(kernel->spec, ":");
    fallback *f = find_fallback(seal, kernel->spec, len, kernel->target);

    *before = NULL;
    if (f != NULL) {
        *before = atomic_exchange(&f->kernel, kernel);
        return GROAT_OK;
    }
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a fallback");
    /* The context keeps the handle, and so these texts stay valid. */
    f->family = kernel->spec;
    f->family_len = len;
    f->target = kernel->target;
    atomic_init(&f->kernel, kernel);
    f->next = atomic_load(&seal->list);
    atomic_store_explicit(&seal->list, f, memory_order_release);
    return GROAT_OK;
}

void groat__seal_free(groat__seal *seal)
{
    fallback *f = atomic_load(&seal->list);

    while (f != NULL) {
        fallback *next = f->next;

        free(f);
        f = next;
    }
}

/* Retains the fallback, which stays loaded while it is the fallback. */
static groat_kernel *take_fallback(fallback *f)
{
    for (;;) {
        groat_kernel *kernel = atomic_load(&f->kernel);

        /* Seq_cst, ordered before the second load of f->kernel: no relaxed
         * retain. */
        if (groat__resident_counts(kernel))
            (void)atomic_fetch_add(&kernel->refs, 1);
        if (atomic_load(&f->kernel) == kernel)
            return kernel;
        groat__resident_drop(kernel);
    }
}

groat_status groat__seal_refuse(groat_context *context, const char *spec,
                                size_t spec_len, const char *target,
                                groat_kernel **out, groat_origin *origin,
                                groat_error *error)
{
    groat__seal *seal = &context->seal;
    const char *colon = memchr(spec, ':', spec_len);
    size_t len = colon == NULL ? spec_len : (size_t)(colon - spec);
    fallback *f = find_fallback(seal, spec, len, target);

    (void)atomic_fetch_add_explicit(&seal->misses, 1, memory_order_relaxed);
    if (f == NULL)
        return groat__fail(error, GROAT_SEALED,
                           "the context is sealed, and this kernel of %.*s on "
                           "%s is not in memory; get it before groat_seal()",
                           (int)(len < 64 ? len : 64), spec, target);
    (void)atomic_fetch_add_explicit(&seal->fallbacks, 1, memory_order_relaxed);
    if (origin != NULL)
        *origin = GROAT_FROM_FALLBACK;
    *out = take_fallback(f);
    return GROAT_OK;
}
