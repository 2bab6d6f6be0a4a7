/* SPDX-License-Identifier: Apache-2.0
 *
 * sealed_log.c logs the kernel that a sealed context refused, and the kernel
 * that is nearest to it.
 *
 * Invariant: each name is logged once, in all epochs of a seal.
 * Locking: that of the kernels and of the store that are searched.
 */
#include "core/core.h"
#include "core/nearest.h"

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

/* Whether the name was not logged yet, and the limit allows one more line. */
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

void groat__sealed_log(groat_context *context, const groat__params *params,
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
    /* A compiler whose lines were never read is not opened for a log line. */
    compiler = groat__machine_known(context, &params->target);
    groat__key_identity(params, compiler == NULL ? "" : compiler, &wanted);
    if (!wanted.failed && !spec.failed) {
        groat__nearest_start(&nearest, wanted.data);
        groat__nearest_memory(context, &nearest);
        /* Looks for the entry itself; all entries are compared only once. */
        groat__nearest_store(context, &nearest,
                             !atomic_exchange(&seal->searched, true));
        if (!groat__nearest_failed(&nearest))
            write_line(context, spec.data, params->target.text, &nearest);
        groat__nearest_free(&nearest);
    }
    groat__str_free(&wanted);
    groat__str_free(&spec);
}
