/* SPDX-License-Identifier: Apache-2.0
 *
 * load.c builds a family from its files: tables, flattened sources, closure,
 * and the first lines of its keys.
 */
#include "spec/load.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/str.h"
#include "spec/flatten.h"
#include "spec/key.h"
#include "spec/params_def.h"
#include "spec/proofs.h"
#include "spec/render.h"

/* Reads tables, texts and closure from a family's params.def and files. */
static groat_status read_files(groat_family *family, const char *name,
                               groat__file_fn *read, void *user,
                               groat_error *error)
{
    groat__str path = {0};
    groat_status status;
    const char *text;

    groat__str_addf(&path, "%s/params.def", name);
    if (path.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    text = read(user, path.data);
    groat__str_free(&path);
    if (text == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "family '%.64s' has no params.def", name);
    status = groat__params_def_read(family, name, text, error);
    if (status == GROAT_OK)
        status = groat__family_try_rules(family, error);
    if (status == GROAT_OK)
        status = groat__flatten(family, read, user, error);
    if (status == GROAT_OK)
        status = groat__render_closure(family, text, error);
    return status;
}

groat_status groat__family_load(const char *name, groat__file_fn *read,
                                void *user, groat_family **out,
                                groat_error *error)
{
    groat_family *family = calloc(1, sizeof(*family));
    groat_status status;

    if (family == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    status = read_files(family, name, read, user, error);
    if (status == GROAT_OK)
        status = groat__key_prepare(family, error);
    if (status == GROAT_OK)
        *out = family;
    else
        groat__family_free(family);
    return status;
}
