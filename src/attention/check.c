/* SPDX-License-Identifier: Apache-2.0
 *
 * check.c checks the arguments of a call, and names the first bad one.
 */
#include "attention/check.h"

#include "base/error.h"

groat_status groat__check_ranges(const groat__number_range *ranges,
                                 size_t count, groat_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].seen < ranges[i].least || ranges[i].seen > ranges[i].most)
            return ranges[i].least == ranges[i].most
                       ? groat__fail(
                             error, GROAT_INVALID, "%s is %u; allowed here: %u",
                             ranges[i].name, ranges[i].seen, ranges[i].most)
                       : groat__fail(error, GROAT_INVALID,
                                     "%s is %u; allowed: %u to %u",
                                     ranges[i].name, ranges[i].seen,
                                     ranges[i].least, ranges[i].most);
    return GROAT_OK;
}

groat_status groat__check_addresses(const groat__needed_address *addresses,
                                    size_t count, groat_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (addresses[i].needed &&
            (addresses[i].address == 0 ||
             addresses[i].address % addresses[i].unit != 0))
            return groat__fail(
                error, GROAT_INVALID,
                "arguments.%s is 0x%llx; allowed: multiples of "
                "%u%s",
                addresses[i].name, (unsigned long long)addresses[i].address,
                addresses[i].unit, addresses[i].address == 0 ? ", not 0" : "");
    return GROAT_OK;
}

static groat_status check_fields(const groat__cache_shape *s, const char *name,
                                 const groat_kv_cache *c, unsigned dim,
                                 unsigned sequences, groat_error *error)
{
    const struct {
        const char *name;
        unsigned seen, wanted;
    } fields[] = {
        {"elem_bytes", c->elem_bytes, s->elem_bytes},
        {"heads", c->heads, s->heads},
        {"dim", c->dim, dim},
        {"layout", (unsigned)c->layout, (unsigned)s->layout},
        {"page", c->page, s->page > 0 ? s->page : c->page},
    };

    for (size_t i = 0; i < GROAT__COUNT(fields); i++)
        if (fields[i].seen != fields[i].wanted)
            return groat__fail(error, GROAT_INVALID,
                               "arguments.%s: %s is %u; the shape that was "
                               "opened has %u",
                               name, fields[i].name, fields[i].seen,
                               fields[i].wanted);
    if (s->page == 0 && c->blocks < sequences)
        return groat__fail(error, GROAT_INVALID,
                           "arguments.%s: blocks is %llu; allowed without "
                           "pages: one for each of the %u sequences, or more",
                           name, (unsigned long long)c->blocks, sequences);
    return GROAT_OK;
}

/* Keys and values are found by one page table, or by one place in a block. */
static groat_status check_blocks(const groat__cache_shape *s,
                                 const groat_kv_cache *keys,
                                 const groat_kv_cache *values,
                                 groat_error *error)
{
    if (keys->page != values->page)
        return groat__fail(error, GROAT_INVALID,
                           "arguments.values: page is %u; allowed: that of "
                           "arguments.keys, %u",
                           values->page, keys->page);
    if (s->page > 0 && keys->blocks > values->blocks)
        return groat__fail(error, GROAT_INVALID,
                           "arguments.values: blocks is %llu; allowed: the "
                           "%llu of arguments.keys, or more",
                           (unsigned long long)values->blocks,
                           (unsigned long long)keys->blocks);
    return GROAT_OK;
}

static groat_status check_strides(const groat__kv_plane *k,
                                  const groat__kv_plane *v, groat_error *error)
{
    if (k->block == v->block && k->token == v->token && k->head == v->head)
        return GROAT_OK;
    return groat__fail(
        error, GROAT_INVALID,
        "arguments.values: blocks, keys and heads lie %llu, %llu, %llu bytes "
        "apart; those of arguments.keys %llu, %llu, %llu",
        (unsigned long long)v->block, (unsigned long long)v->token,
        (unsigned long long)v->head, (unsigned long long)k->block,
        (unsigned long long)k->token, (unsigned long long)k->head);
}

/* The plane of a cache whose argument has this name. */
static groat_status get_plane(const char *name, const groat_kv_cache *cache,
                              unsigned plane, unsigned layer,
                              groat__kv_plane *out, groat_error *error)
{
    groat_error why = GROAT_ERROR_INIT;
    groat_status status;

    if (cache == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "arguments.%s is NULL; it is a groat_kv_cache",
                           name);
    status = groat__kv_plane_get(cache, plane, layer, out, &why);
    if (status != GROAT_OK)
        (void)groat__fail(error, status, "arguments.%s: %s", name, why.text);
    groat_error_clear(&why);
    return status;
}

groat_status groat__check_cache(const groat__cache_shape *shape,
                                const groat_kv_cache *keys,
                                const groat_kv_cache *values, unsigned layer,
                                unsigned sequences, groat__kv_plane *key_plane,
                                groat__kv_plane *value_plane,
                                groat_error *error)
{
    groat_status status =
        get_plane("keys", keys, GROAT_KV_KEYS, layer, key_plane, error);

    if (status == GROAT_OK)
        status =
            check_fields(shape, "keys", keys, shape->dim, sequences, error);
    if (status != GROAT_OK)
        return status;
    if (values == NULL && keys->planes > 1 && shape->value_dim != shape->dim)
        return groat__fail(error, GROAT_INVALID,
                           "arguments.values is NULL, and keys have two planes "
                           "of %u elements; values of %u need a cache of their "
                           "own",
                           shape->dim, shape->value_dim);
    if (values == NULL) {
        *value_plane = *key_plane;
        value_plane->address += key_plane->plane;
        return GROAT_OK;
    }
    status =
        get_plane("values", values, GROAT_KV_VALUES, layer, value_plane, error);
    if (status == GROAT_OK)
        status = check_fields(shape, "values", values, shape->value_dim,
                              sequences, error);
    if (status == GROAT_OK)
        status = check_blocks(shape, keys, values, error);
    return status == GROAT_OK && shape->value_dim == shape->dim
               ? check_strides(key_plane, value_plane, error)
               : status;
}

groat__scale_strides groat__scale_strides_of(groat_kv_layout layout,
                                             unsigned page, unsigned kv_heads)
{
    bool head_page = layout == GROAT_KV_HEAD_PAGE;

    return (groat__scale_strides){page * kv_heads, head_page ? 1 : kv_heads,
                                  head_page ? page : 1};
}

groat_status groat__own_kernel(groat_spec *spec, groat_kernel **out,
                               groat_error *error)
{
    groat_origin origin = GROAT_FROM_MEMORY;
    groat_kernel *kernel = NULL;
    groat_status status =
        groat_kernel_get_spec(spec, NULL, &kernel, &origin, error);

    if (status == GROAT_OK && origin == GROAT_FROM_FALLBACK) {
        groat_kernel_release(kernel);
        return groat__fail(
            error, GROAT_SEALED,
            "the context is sealed, and the kernel %s of %s is not in memory; "
            "the family's fallback was compiled for another shape; open this "
            "one before groat_seal()",
            groat_spec_text(spec), groat_spec_target(spec));
    }
    if (status == GROAT_OK)
        *out = kernel;
    return status;
}
