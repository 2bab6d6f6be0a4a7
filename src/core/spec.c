/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.c implements the public calls on a parsed spec.  src/spec does the work;
 * here a spec meets its context and, for its key, the target's compiler.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

groat_status groat__spec_params(groat_context *context, const char *text,
                                const groat__target *target, groat__params *out,
                                groat_error *error)
{
    const groat_family *family = NULL;
    groat_status status = groat__families_get(
        &context->families, text, strcspn(text, ":"), &family, error);

    return status != GROAT_OK
               ? status
               : groat__params_parse(family, text, target, out, error);
}

groat_status groat_spec_parse(groat_context *context, const char *text,
                              const char *target, groat_spec **out,
                              groat_error *error)
{
    groat__target where;
    groat_spec *spec;
    groat_status status;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (text == NULL)
        return groat__fail(error, GROAT_INVALID, "the spec's text is NULL");
    status = groat__context_target(context, target, &where, error);
    if (status != GROAT_OK)
        return status;
    spec = calloc(1, sizeof(*spec));
    if (spec == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a spec");
    spec->context = context;
    status = groat__spec_params(context, text, &where, &spec->params, error);
    if (status != GROAT_OK) {
        groat_spec_free(spec);
        return status;
    }
    *out = spec;
    return GROAT_OK;
}

void groat_spec_free(groat_spec *spec)
{
    if (spec == NULL)
        return;
    groat__str_free(&spec->text);
    groat__str_free(&spec->entry);
    free(spec->log);
    free(spec->maker);
    free(spec);
}

/* The text is written at the first call only: a server that changes a spec per
 * request looks it up by its values. */
const char *groat_spec_text(groat_spec *spec)
{
    if (spec == NULL)
        return NULL;
    if (!spec->text_fresh) {
        groat__str_free(&spec->text);
        groat__params_text(&spec->params, &spec->text);
        spec->text_fresh = !spec->text.failed;
    }
    return spec->text_fresh ? spec->text.data : "";
}

const char *groat_spec_target(const groat_spec *spec)
{
    return spec != NULL ? spec->params.target.text : NULL;
}

const char *groat_spec_family(const groat_spec *spec)
{
    return spec != NULL ? spec->params.family->name : NULL;
}

static groat_status find_slot(const groat_spec *spec, const char *name,
                              size_t *slot, groat_error *error)
{
    const groat_family *family;

    if (spec == NULL)
        return groat__fail_unusable("spec", spec, error);
    family = spec->params.family;
    *slot = groat__family_slot(family, name, strlen(name));
    if (*slot == GROAT__SLOTS)
        return groat__fail(error, GROAT_INVALID,
                           "%s has no parameter or constant '%.48s'; `groat "
                           "families %s` lists them",
                           family->name, name, family->name);
    return GROAT_OK;
}

groat_status groat_spec_get(const groat_spec *spec, const char *name,
                            int64_t *value, groat_error *error)
{
    size_t slot;
    groat_status status = find_slot(spec, name, &slot, error);

    if (status == GROAT_OK)
        *value = spec->params.values[slot];
    return status;
}

groat_status groat_spec_code(const groat_spec *spec, const char **text,
                             groat_error *error)
{
    if (spec == NULL)
        return groat__fail_unusable("spec", spec, error);
    *text = groat__params_code_text(&spec->params);
    return *text != NULL ? GROAT_OK
                         : groat__fail(error, GROAT_INVALID,
                                       "%s has no parameter of type code",
                                       spec->params.family->name);
}

groat_status groat_spec_set(groat_spec *spec, const char *name, int64_t value,
                            groat_error *error)
{
    size_t slot;
    groat_status status = find_slot(spec, name, &slot, error);

    if (status != GROAT_OK)
        return status;
    if (!spec->params.family->slots[slot].is_param)
        return groat__fail(error, GROAT_INVALID,
                           "%s follows from the parameters of %s; it cannot be "
                           "set",
                           name, spec->params.family->name);
    status = groat__params_set(&spec->params, slot, value, error);
    if (status == GROAT_OK)
        spec->text_fresh = false;
    return status;
}

groat_status groat_spec_source(groat_spec *spec, char **out, groat_error *error)
{
    groat__str source = {0};
    char *text;

    if (spec == NULL)
        return groat__fail_unusable("spec", spec, error);
    groat__render_source(&spec->params, &source);
    text = groat__str_take(&source);
    if (text == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the source");
    *out = text;
    return GROAT_OK;
}

groat_status groat_spec_key(groat_spec *spec, char key[33], char **identity,
                            groat_error *error)
{
    groat__str text = {0};
    groat__digest digest;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    status = groat__spec_identity(spec->context, &spec->params, &text, &digest,
                                  NULL, error);
    if (status != GROAT_OK) {
        groat__str_free(&text);
        return status;
    }
    groat__hex(key, digest.bytes, sizeof(digest.bytes));
    if (identity != NULL)
        *identity = text.data;
    else
        groat__str_free(&text);
    return GROAT_OK;
}

/* Finds the newest entry for the same spec, whichever compiler made it: in the
 * store, the bundles, then the remote, whose entry is stored if `keep`.
 * Sanitized kernels are never taken from them. */
static bool find_made(groat_context *context, const groat__params *params,
                      bool keep, groat__str *text, groat__maker *maker)
{
    groat__str wanted = {0};
    bool found = false;

    groat__key_identity(params, "compiler ", &wanted);
    if (!wanted.failed && !context->env.sanitize)
        found = (context->store != NULL &&
                 groat__store_newest(context->store, wanted.data, text)) ||
                groat__layers_newest(context, wanted.data, text);
    *maker = GROAT__MAKER_ABSENT;
    if (!found && !wanted.failed && !context->env.sanitize) {
        groat__str_clear(&wanted);
        groat__key_identity(params, "", &wanted);
        found =
            !wanted.failed &&
            (keep ? groat__context_take_made(context, wanted.data, text)
                  : groat__context_made_elsewhere(context, wanted.data, text));
        *maker = GROAT__MAKER_REMOTE;
    }
    groat__str_free(&wanted);
    return found;
}

/* The identity by the lines of a compiler that is not opened; false if neither
 * the store nor a bundle has the entry. */
static bool predict(groat_context *context, const groat__params *params,
                    groat__str *text)
{
    const char *compiler =
        groat__machine_predict(context, &params->target, NULL);
    groat__digest key;
    bool made;

    if (compiler == NULL)
        return false;
    groat__key_identity(params, compiler, text);
    key = groat__key_of(text);
    made = !text->failed &&
           ((context->store != NULL &&
             groat__store_has(context->store, &key, text->data)) ||
            groat__layers_have(context, &key, text->data));
    if (!made)
        groat__str_clear(text);
    return made;
}

/* Opens the compiler for its identity, or finds an entry if there is none, see
 * find_made(). */
static groat_status ask(groat_context *context, const groat__params *params,
                        bool keep, groat__str *text, groat__maker *maker,
                        groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    const char *compiler = NULL;
    groat_status status =
        groat__machine_identity(context, &params->target, &compiler, &own);

    *maker = GROAT__MAKER_OPEN;
    if (status == GROAT_OK) {
        groat__key_identity(params, compiler, text);
    } else if (status == GROAT_NO_DEVICE &&
               find_made(context, params, keep, text, maker)) {
        status = GROAT_OK;
    } else if (status == GROAT_NO_DEVICE && context->remote != NULL) {
        groat_remote_info info = {0};

        groat__remote_describe(context->remote, &info);
        status = groat__fail(error, status,
                             "%s; remote %s was not asked, gave no answer or "
                             "does not have the kernel",
                             own.text, info.url);
    } else {
        groat__error_copy(error, &own);
    }
    groat_error_clear(&own);
    return status;
}

/* The key of an identity that is written. */
static groat_status take_key(const groat__str *text, groat__digest *key,
                             groat_error *error)
{
    if (text->failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a key");
    *key = groat__key_of(text);
    return GROAT_OK;
}

groat_status groat__spec_identity(groat_context *context,
                                  const groat__params *params, groat__str *text,
                                  groat__digest *key, groat__maker *maker,
                                  groat_error *error)
{
    groat__maker found = GROAT__MAKER_PREDICTED;
    groat_status status =
        predict(context, params, text)
            ? GROAT_OK
            : ask(context, params, maker != NULL, text, &found, error);

    if (maker != NULL)
        *maker = found;
    return status == GROAT_OK ? take_key(text, key, error) : status;
}

groat_status groat__spec_named(groat_context *context,
                               const groat__params *params, groat__str *text,
                               groat__digest *key, groat_error *error)
{
    groat__str wanted = {0};
    const char *compiler = NULL;
    groat_status status = GROAT_OK;
    groat__maker maker;

    groat__key_identity(params, "", &wanted);
    if (!wanted.failed)
        compiler = groat__machine_predict(
            context, &params->target,
            context->layers.trust.count > 0 ? wanted.data : NULL);
    groat__str_free(&wanted);
    if (compiler != NULL)
        groat__key_identity(params, compiler, text);
    else
        status = ask(context, params, false, text, &maker, error);
    return status == GROAT_OK ? take_key(text, key, error) : status;
}
