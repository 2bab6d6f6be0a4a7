/* SPDX-License-Identifier: Apache-2.0
 *
 * like.c compares a family with one of the library, whose driver it uses.
 */
#include "cli/family/like.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

/* Finds a parameter, or a derived constant. */
static bool find_param(const groat_family *family, const char *name,
                       groat_param_info *info)
{
    for (size_t i = 0; i < groat_family_param_count(family); i++)
        if (groat_family_param(family, i, info, NULL) == GROAT_OK &&
            strcmp(info->name, name) == 0)
            return true;
    return false;
}

static bool find_constant(const groat_family *family, const char *name)
{
    groat_param_info info = {.size = sizeof(info)};

    for (size_t i = 0; i < groat_family_derived_count(family); i++)
        if (groat_family_derived(family, i, &info, NULL) == GROAT_OK &&
            strcmp(info.name, name) == 0)
            return true;
    return find_param(family, name, &info);
}

static groat_status check_names(const groat_family *family,
                                const groat_family *model, groat_error *error)
{
    const char *name = groat_family_name(model);
    groat_param_info want = {.size = sizeof(want)};
    groat_param_info have = {.size = sizeof(have)};

    for (size_t i = 0; i < groat_family_param_count(model); i++) {
        if (groat_family_param(model, i, &want, NULL) != GROAT_OK)
            continue;
        if (!find_param(family, want.name, &have))
            return groat__fail(error, GROAT_INVALID,
                               "the driver of %s reads parameter '%s', which "
                               "params.def does not have",
                               name, want.name);
        if (have.type != want.type || (want.type == GROAT_PARAM_ENUM &&
                                       strcmp(have.allowed, want.allowed) != 0))
            return groat__fail(error, GROAT_INVALID,
                               "parameter '%s' has other values than that of "
                               "%s, %.200s, for which its driver is made",
                               want.name, name, want.allowed);
    }
    for (size_t i = 0; i < groat_family_derived_count(model); i++)
        if (groat_family_derived(model, i, &want, NULL) == GROAT_OK &&
            !find_constant(family, want.name))
            return groat__fail(error, GROAT_INVALID,
                               "the driver of %s reads constant '%s', which "
                               "params.def does not derive",
                               name, want.name);
    return GROAT_OK;
}

groat_status groat__driver_like(const groat_context *context,
                                const groat_family *family, const char *model,
                                const groat_driver **driver, groat_error *error)
{
    const groat_family *like = groat_family_find(context, model);

    *driver = groat_driver_find(model);
    return *driver != NULL && like != NULL
               ? check_names(family, like, error)
               : groat__fail(error, GROAT_INVALID,
                             "'%.60s' is no family of the library; groat "
                             "families lists them",
                             model);
}
