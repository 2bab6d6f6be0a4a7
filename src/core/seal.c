/* SPDX-License-Identifier: Apache-2.0
 *
 * seal.c answers for a sealed context, where nothing is made any more: which
 * misses are known, what stands in for them, and the line that says which
 * kernel came nearest.
 *
 * Invariant: a name is known to be absent only within an epoch; a kernel that
 * comes into memory begins a new one, so that it is never refused for having
 * been absent.  Known names are hashes in a few places each: one that was
 * overwritten is found out again.  What a line was written about is known in
 * all epochs of a seal.
 * Locking: none, but in the line about a new miss and in groat_fallback_set.
 */
#include "core/seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"
#include "core/nearest.h"

typedef struct groat__fallback {
    const char *target;
    size_t family_len;
    const char *family; /* a kernel's spec, which starts with it */
    _Atomic(groat_kernel *) kernel;
    struct groat__fallback *next;
} fallback;

/* ---- known misses ------------------------------------------------------ */

uint64_t groat__seal_mark(const groat__seal *seal,
                          const groat__kernel_name *name)
{
    uint64_t epoch = atomic_load_explicit(&seal->epoch, memory_order_acquire);
    uint64_t mark = groat__kernel_name_hash(name) ^ epoch * 0xD6E8FEB86659FD93u;

    return mark | 1; /* 0: the place is free */
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
        if (found == mark) /* by another thread, just now */
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
    if (atomic_exchange(&context->seal.on, true))
        return;
    atomic_store(&context->seal.lines, 0);
    atomic_store(&context->seal.searched, false);
    groat__seal_renew(&context->seal);
}

void groat_unseal(groat_context *context)
{
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
    /* The context keeps the handle, and with it these texts. */
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

/* With a count that was taken while it was the fallback, which is loaded. */
static groat_kernel *take_fallback(fallback *f)
{
    for (;;) {
        groat_kernel *kernel = atomic_load(&f->kernel);

        /* Before the next look, for all threads: no relaxed retain. */
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
                           "%s is not in memory",
                           (int)(len < 64 ? len : 64), spec, target);
    (void)atomic_fetch_add_explicit(&seal->fallbacks, 1, memory_order_relaxed);
    if (origin != NULL)
        *origin = GROAT_FROM_FALLBACK;
    *out = take_fallback(f);
    return GROAT_OK;
}

/* ---- the line about a miss --------------------------------------------- */

static void write_line(groat_context *context, const char *spec,
                       const char *target, const groat__nearest *s)
{
    const groat__log *log = &context->env.log;

    if (s->distance == SIZE_MAX)
        groat__log_line(log, GROAT_LOG_WARNING,
                        "sealed: %.300s on %s is not in memory, nor is another "
                        "of its family; reported once",
                        spec, target);
    else if (s->distance == 0)
        groat__log_line(log, GROAT_LOG_WARNING,
                        "sealed: %.300s on %s is not in memory; it is %s of "
                        "the store and was not loaded; reported once",
                        spec, target, s->label.data);
    else
        groat__log_line(log, GROAT_LOG_WARNING,
                        "sealed: %.300s on %s is not in memory; nearest is %s: "
                        "%s; reported once",
                        spec, target, s->label.data, s->field.data);
}

/* Whether nobody was told of a name, and a line is left. */
static bool is_news(groat__seal *seal, uint64_t hash)
{
    unsigned count = atomic_load(&seal->lines);

    for (unsigned i = 0; i < count && i < GROAT__SEAL_LINES; i++)
        if (atomic_load(&seal->told[i]) == hash)
            return false;
    if (count >= GROAT__SEAL_LINES ||
        (count = atomic_fetch_add(&seal->lines, 1)) >= GROAT__SEAL_LINES)
        return false;
    atomic_store(&seal->told[count], hash);
    return true;
}

void groat__seal_explain(groat_context *context, const groat__params *params,
                         uint64_t hash)
{
    groat__seal *seal = &context->seal;
    groat__nearest nearest;
    groat__str wanted = {0};
    groat__str spec = {0};
    const char *compiler;

    if (context->env.log.fn == NULL || !is_news(seal, hash))
        return;
    groat__params_text(params, &spec);
    /* A compiler that nothing was asked of yet is not opened for this. */
    compiler = groat__machine_known(context, &params->target);
    groat__key_identity(params, compiler == NULL ? "" : compiler, &wanted);
    if (!wanted.failed && !spec.failed) {
        groat__nearest_start(&nearest, wanted.data);
        groat__nearest_memory(context, &nearest);
        /* The entry itself, if it is there; others are searched for once. */
        groat__nearest_store(context, &nearest,
                             !atomic_exchange(&seal->searched, true));
        if (!groat__nearest_failed(&nearest))
            write_line(context, spec.data, params->target.text, &nearest);
        groat__nearest_free(&nearest);
    }
    groat__str_free(&wanted);
    groat__str_free(&spec);
}
