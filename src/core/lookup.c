/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.c looks kernels up by their names in memory, without a lock: by the
 * values of a spec, or by its text and target.
 */
#include "core/lookup.h"

#include <string.h>

groat__kernel_name groat__lookup_name(const groat__params *params,
                                      groat__name_owner *own)
{
    const groat_family *family = params->family;
    size_t first = GROAT__ARCH_SLOTS;
    size_t end = family->slot_count + groat__params_code_words(params);

    own->family = family;
    own->arch = params->target.arch;
    own->backend = (uint64_t)params->target.backend;
    return (groat__kernel_name){params->values + first,
                                (end - first) * sizeof(params->values[0]), own,
                                sizeof(*own)};
}

groat__kernel_name groat__lookup_name_of_text(const char *spec,
                                              const char *target)
{
    return (groat__kernel_name){spec, strlen(spec), target, strlen(target)};
}

static void add(groat_context *context, const groat__kernel_name *name,
                groat_kernel *kernel, size_t most)
{
    (void)pthread_mutex_lock(&context->lock);
    groat__kernel_table_add(&context->table, name, kernel, most);
    (void)pthread_mutex_unlock(&context->lock);
}

void groat__lookup_add(groat_context *context, const groat__params *params,
                       groat_kernel *kernel)
{
    groat__name_owner whose;
    groat__kernel_name name = groat__lookup_name(params, &whose);

    add(context, &name, kernel, SIZE_MAX);
}

void groat__lookup_add_text(groat_context *context,
                            const groat__kernel_name *name,
                            groat_kernel *kernel)
{
    add(context, name, kernel, GROAT__LOOKUP_NAMES);
}

groat_kernel *groat__lookup_values(const groat_context *context,
                                   const groat__params *params)
{
    groat__name_owner whose;
    groat__kernel_name name = groat__lookup_name(params, &whose);

    return groat__kernel_table_find(&context->table, &name);
}

groat_kernel *groat__lookup_text(const groat_context *context, const char *spec,
                                 const char *target)
{
    groat__kernel_name name = groat__lookup_name_of_text(spec, target);

    return groat__kernel_table_find(&context->table, &name);
}

groat__hit groat__hit_begin(groat_context *context)
{
    groat__hit h = {groat__tally_mine(&context->memory_hits), 0};

    if (atomic_load_explicit(h.count, memory_order_relaxed) % GROAT__SAMPLED ==
        0)
        h.start = groat__now_ns();
    return h;
}

bool groat__hit_give(groat_context *context, groat__hit h, groat_kernel *kernel,
                     groat_kernel **out, groat_origin *origin)
{
    if (kernel == NULL || !groat__resident_hold(kernel))
        return false;
    groat__tally_add(h.count);
    if (origin != NULL)
        *origin = GROAT_FROM_MEMORY;
    *out = kernel;
    if (h.start != 0)
        groat__metrics_add(&context->metrics, GROAT__STAGE_LOOKUP, h.start);
    return true;
}

/* Without a bound, every kernel in the table is loaded. */
static groat_kernel *if_loaded(const groat_context *context,
                               groat_kernel *kernel)
{
    return __builtin_expect(context->resident.max_bytes == 0, 1)
               ? kernel
               : groat__resident_look(kernel);
}

groat_kernel *groat_kernel_lookup(const groat_context *context,
                                  const char *spec, const char *target)
{
    if (!groat__is_usable(context))
        return NULL;
    if (target == NULL)
        target =
            atomic_load_explicit(&context->default_ready, memory_order_acquire);
    return spec == NULL || target == NULL
               ? NULL
               : if_loaded(context, groat__lookup_text(context, spec, target));
}

groat_kernel *groat_kernel_lookup_spec(const groat_spec *spec)
{
    if (!groat__is_usable(groat__spec_context(spec)))
        return NULL;
    return if_loaded(spec->context,
                     groat__lookup_values(spec->context, &spec->params));
}
