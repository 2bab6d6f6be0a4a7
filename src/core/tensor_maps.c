/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor_maps.c makes tensor maps for a context's devices: of a tensor that the
 * caller describes, and of the plane of a KV cache that a spec copies, with a
 * box from the spec's own constants.  src/tensor defines valid tensors and
 * caches.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"
#include "tensor/tensor.h"

groat_status groat_tensor_map_make(groat_context *context, const char *target,
                                   const groat_tensor *tensor,
                                   groat_tensor_map *out, groat_error *error)
{
    groat__target where;
    void *state = NULL;
    groat_status status = groat__map_check(out, error);

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status == GROAT_OK)
        status = groat__tensor_check(tensor, error);
    if (status == GROAT_OK)
        status = groat__context_target(context, target, &where, error);
    if (status == GROAT_OK)
        status = groat__tensor_target(&where, error);
    if (status == GROAT_OK)
        status = groat__machine_device(context, where.backend, &state, error);
    return status == GROAT_OK
               ? groat__backend_get(where.backend)
                     ->device->tensor_map(state, tensor, out, error)
               : status;
}

/* ---- of a spec ---- */

/* Reads a constant of the spec as a number of a box; if it is absent, takes
 * *deflt unless that is NULL.  Errors: INVALID (no such constant; out of
 * range). */
static groat_status ask(const groat_spec *spec, const char *name,
                        const unsigned *deflt, unsigned *value,
                        groat_error *error)
{
    int64_t seen = 0;
    groat_status status =
        groat_spec_get(spec, name, &seen, deflt != NULL ? NULL : error);

    if (status != GROAT_OK && deflt != NULL) {
        *value = *deflt;
        return GROAT_OK;
    }
    if (status != GROAT_OK)
        return status;
    if (seen < 0 || seen > INT32_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "%s of %s is %lld; allowed for tensor maps: 0 to "
                           "2147483647",
                           name, spec->params.family->name, (long long)seen);
    *value = (unsigned)seen;
    return GROAT_OK;
}

/* Checks that a constant of the spec equals the cache's field. */
static groat_status agree(const groat_spec *spec, const char *name,
                          const char *field, unsigned has, groat_error *error)
{
    unsigned wants = 0;
    groat_status status = ask(spec, name, NULL, &wants, error);

    if (status == GROAT_OK && wants != has)
        status =
            groat__fail(error, GROAT_INVALID,
                        "kv cache: %s is %u; allowed: %u, the %s of %s", field,
                        has, wants, name, spec->params.family->name);
    return status;
}

static groat_status ask_swizzle(const groat_spec *spec, groat_swizzle *swizzle,
                                groat_error *error)
{
    static const unsigned spans[] = {16, 32, 64, 128};
    unsigned span = 0;
    groat_status status = ask(spec, "swizzle", NULL, &span, error);

    if (status != GROAT_OK)
        return status;
    for (unsigned i = 0; i < 4; i++)
        if (span == spans[i] || (span == 0 && i == 0)) {
            *swizzle = (groat_swizzle)i;
            return GROAT_OK;
        }
    return groat__fail(error, GROAT_INVALID,
                       "swizzle of %s is %u; allowed for tensor maps: spans of "
                       "16 or 0 (none), 32, 64, 128 bytes",
                       spec->params.family->name, span);
}

/* Reads a constant of keys or values (k_NAME, v_NAME), which may be absent. */
static groat_status ask_side(const groat_spec *spec, bool values,
                             const char *name, unsigned deflt, unsigned *value,
                             groat_error *error)
{
    char whole[32];

    (void)snprintf(whole, sizeof(whole), "%c_%s", values ? 'v' : 'k', name);
    return ask(spec, whole, &deflt, value, error);
}

static groat_status ask_form(const groat_spec *spec, bool values,
                             groat_kv_box *box, groat_error *error)
{
    static const unsigned none = 0;
    unsigned form = 0;
    unsigned inner = 0;
    groat_status status = ask(spec, "fold", &none, &form, error);

    if (status == GROAT_OK)
        status = ask_side(spec, values, "form", form, &form, error);
    if (status == GROAT_OK && form > 2)
        status = groat__fail(error, GROAT_INVALID,
                             "form of the tensor map of %s is %u; allowed: 0, "
                             "1 or 2",
                             spec->params.family->name, form);
    if (status == GROAT_OK)
        status = ask_side(spec, values, "layout", 0, &inner, error);
    box->form = form != 0 ? GROAT_KV_FOLDED : GROAT_KV_BASE;
    box->order = form == 2 || (form == 0 && inner == 1) ? GROAT_KV_CHUNK_INNER
                                                        : GROAT_KV_CHUNK_OUTER;
    return status;
}

/* Reads the sizes of a box of keys or of values. */
static groat_status ask_tile(const groat_spec *spec, bool values,
                             groat_kv_box *box, groat_error *error)
{
    static const unsigned none = 0;
    const struct {
        const char *name;
        unsigned *value;
    } wanted[] = {
        {"tile_rows", &box->tile_rows},
        {"tile_cols", &box->tile_cols},
        {"slot_rows", &box->slot_rows},
        {"box_rows", &box->rows},
    };
    groat_status status = ask(spec, "BN", NULL, &box->tile_rows, error);

    if (status == GROAT_OK)
        status = ask(spec, "box_rows", &none, &box->rows, error);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (status == GROAT_OK)
            status = ask_side(spec, values, wanted[i].name, *wanted[i].value,
                              wanted[i].value, error);
    return status;
}

static groat_status box_of(const groat_spec *spec, const groat_kv_cache *cache,
                           bool values, groat_kv_box *box, groat_error *error)
{
    groat_status status = agree(spec, "head_dim", "dim", cache->dim, error);

    if (status == GROAT_OK)
        status =
            agree(spec, "elem_bytes", "elem_bytes", cache->elem_bytes, error);
    if (status == GROAT_OK)
        status = ask_swizzle(spec, &box->swizzle, error);
    if (status == GROAT_OK)
        status = ask_form(spec, values, box, error);
    if (status == GROAT_OK)
        status = ask(spec, "page_size", NULL, &box->page, error);
    return status == GROAT_OK ? ask_tile(spec, values, box, error) : status;
}

/* For a checked tensor on a checked target; goes through the cache of maps. */
static groat_status keep_map(groat_context *context,
                             const groat__target *target,
                             const groat_tensor *tensor, groat_tensor_map *out,
                             groat_error *error)
{
    void *state = NULL;
    groat_status status =
        groat__machine_device(context, target->backend, &state, error);

    return status == GROAT_OK ? groat__maps_get(&context->maps, target->backend,
                                                state, tensor, out, error)
                              : status;
}

groat_status groat_kv_tensor_map(const groat_spec *spec,
                                 const groat_kv_cache *cache, unsigned plane,
                                 unsigned layer, const groat_kv_box *box,
                                 groat_tensor_map *out, groat_error *error)
{
    const groat__target *target;
    groat_kv_box own = GROAT_KV_BOX_INIT;
    groat_tensor tensor = GROAT_TENSOR_INIT;
    groat_status status = groat__map_check(out, error);

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    target = &spec->params.target;
    if (status == GROAT_OK)
        status = groat__tensor_target(target, error);
    if (status == GROAT_OK)
        status = groat__kv_check(cache, plane, layer, error);
    if (status == GROAT_OK && box == NULL) {
        status = box_of(spec, cache, plane == GROAT_KV_VALUES, &own, error);
        box = &own;
    }
    if (status == GROAT_OK)
        status = groat_kv_tensor(cache, plane, layer, box, &tensor, error);
    return status == GROAT_OK
               ? keep_map(spec->context, target, &tensor, out, error)
               : status;
}

groat_status groat_query_tensor_map(const groat_spec *spec, uint64_t address,
                                    uint64_t rows, unsigned heads,
                                    groat_tensor_map *out, groat_error *error)
{
    groat_tensor t = GROAT_TENSOR_INIT;
    unsigned dim = 0;
    unsigned box_rows = 0;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    status = ask(spec, "head_dim", NULL, &dim, error);
    if (status == GROAT_OK)
        status = ask(spec, "elem_bytes", NULL, &t.elem_bytes, error);
    if (status == GROAT_OK)
        status = ask(spec, "q_rows", NULL, &box_rows, error);
    if (status == GROAT_OK && box_rows == 0)
        status =
            groat__fail(error, GROAT_INVALID, "%s has no queries: q_rows is 0",
                        spec->params.family->name);
    if (status == GROAT_OK)
        status = ask_swizzle(spec, &t.swizzle, error);
    if (status != GROAT_OK)
        return status;
    t.address = address;
    t.rank = 3;
    t.dims[0] = dim;
    t.dims[1] = heads;
    t.dims[2] = rows;
    t.strides[0] = (uint64_t)dim * t.elem_bytes;
    t.strides[1] = t.strides[0] * heads;
    t.box[0] = t.elem_bytes == 0 ? 0 : (16u << t.swizzle) / t.elem_bytes;
    t.box[1] = 1;
    t.box[2] = box_rows;
    return groat_tensor_map_make(spec->context, groat_spec_target(spec), &t,
                                 out, error);
}
