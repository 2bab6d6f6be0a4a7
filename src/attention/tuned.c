/* SPDX-License-Identifier: Apache-2.0
 *
 * tuned.c keeps measured choices as entries of the store, so that they are
 * checked, evicted, signed and copied as binaries are.
 *
 * The identity names all that a measurement holds for: the sources of the
 * family, the target, the device and the whole shape.  The entry's bytes are
 * the choice as text, also kept as its log for `groat cache show`.
 */
#include "attention/tuned.h"

#include <stdio.h>
#include <string.h>

#include "attention/shape.h"
#include "attention/spec.h"
#include "base/error.h"
#include "core/core.h"

/* Multiprocessors that a cpu target is given; the room of a choice's text. */
enum { CPU_MULTIPROCESSORS = 4, CHOICE_ROOM = 128 };

static const char family_name[] = "paged_attention_decode";

groat_status groat__decode_device_of(groat_context *context,
                                     const groat__target *target,
                                     groat__decode_device *out,
                                     groat_error *error)
{
    groat_device_info info = {.size = sizeof(info), .name = "cpu"};
    groat_status status = GROAT_OK;

    info.multiprocessors = CPU_MULTIPROCESSORS;
    /* AMD's are refused by a rule of the family. */
    if (target->backend == GROAT__CUDA)
        status = groat__context_device(context, target, &info, error);
    if (status != GROAT_OK)
        return status;
    out->shared_bytes = (unsigned)target->arch->shared_bytes;
    out->cluster_most = (unsigned)target->arch->max_cluster;
    out->multiprocessors = (unsigned)info.multiprocessors;
    (void)snprintf(out->name, sizeof(out->name), "%.127s, %d multiprocessors",
                   info.name, info.multiprocessors);
    return GROAT_OK;
}

/* ---- the entry ----------------------------------------------------------- */

/* A score may be spelled with other blanks; "score" is as none. */
static void add_shape(const groat_decode_shape *s, groat__str *out)
{
    const groat_decode_choice none = GROAT_DECODE_CHOICE_INIT;
    groat_decode_shape same = *s;
    groat__str score = {0};

    for (const char *at = s->score; at != NULL && *at != '\0'; at++)
        if (strchr(" \t\n\r\f\v", *at) == NULL)
            groat__str_addn(&score, at, 1);
    same.score =
        score.len > 0 && strcmp(score.data, "score") == 0 ? NULL : score.data;
    groat__decode_write_spec(&same, &none, out);
    out->failed |= score.failed;
    groat__str_free(&score);
}

/* Everything that the best choice may depend on; scale and cap are numbers that
 * a kernel is given. */
static groat_status write_identity(groat_context *context,
                                   const groat__target *target,
                                   const char *device,
                                   const groat_decode_shape *s, groat__str *out,
                                   groat_error *error)
{
    const groat_family *family;
    groat_status status =
        groat__families_get(&context->families, family_name,
                            sizeof(family_name) - 1, &family, error);

    if (status != GROAT_OK)
        return status;
    groat__str_addf(
        out,
        GROAT__TUNED_LEAD "family %s closure %s\ntarget %s\ndevice %s\nshape ",
        family_name, family->closure.of[target->backend], target->text, device);
    add_shape(s, out);
    groat__str_addf(out, "\nlaunch kv_heads=%u,sequences=%u,keys=%u,seen=%u\n",
                    s->kv_heads, s->sequences, s->keys, s->seen);
    if ((s->flags & GROAT_DECODE_BATCH_INVARIANT) != 0)
        groat__str_add(out, "batch invariant\n");
    return out->failed ? groat__fail(error, GROAT_NO_MEMORY,
                                     "no memory for a tuned choice")
                       : GROAT_OK;
}

static void write_choice(const groat_decode_choice *c, char out[CHOICE_ROOM])
{
    (void)snprintf(out, CHOICE_ROOM,
                   "warps=%u,stages=%u,cluster=%u,split=%u,blocks=%u,least=%u",
                   c->warps, c->stages, c->cluster, c->split, c->blocks,
                   c->least);
}

/* Only what write_choice() writes is read. */
static bool read_choice(const groat__store_blob *blob, groat_decode_choice *c)
{
    char text[CHOICE_ROOM] = "";
    char again[CHOICE_ROOM];

    if (blob->bytes >= sizeof(text) ||
        memchr(blob->data, '\0', blob->bytes) != NULL)
        return false;
    memcpy(text, blob->data, blob->bytes);
    /* NOLINTNEXTLINE(cert-err34-c): the text is compared afterwards */
    if (sscanf(text,
               "warps=%u,stages=%u,cluster=%u,split=%u,blocks=%u,least=%u",
               &c->warps, &c->stages, &c->cluster, &c->split, &c->blocks,
               &c->least) != 6)
        return false;
    write_choice(c, again);
    return strcmp(text, again) == 0;
}

/* Looks before it gets: a shape that nobody has tuned is no miss of the store
 * or of a bundle. */
static bool get_entry(groat_context *context, const groat__str *identity,
                      groat__store_blob *blob)
{
    groat__digest key = groat__key_of(identity);

    if (context->store != NULL &&
        groat__store_has(context->store, &key, identity->data) &&
        groat__store_get(context->store, &key, identity->data, blob))
        return true;
    return groat__layers_have(context, &key, identity->data) &&
           groat__layers_get(context, &key, identity->data, blob) != NULL;
}

/* Checks the family's rules: a choice that breaks one cannot be opened. */
static groat_status check_rules(groat_context *context,
                                const groat__target *target,
                                const groat_decode_shape *shape,
                                const groat_decode_choice *choice,
                                groat_error *error)
{
    groat_spec *spec = NULL;
    groat__str text = {0};
    groat_status status = GROAT_NO_MEMORY;

    groat__decode_write_spec(shape, choice, &text);
    if (text.failed)
        (void)groat__fail(error, status, "no memory for a decode's spec");
    else
        status =
            groat_spec_parse(context, text.data, target->text, &spec, error);
    groat_spec_free(spec);
    groat__str_free(&text);
    return status;
}

bool groat__decode_find_tuned(groat_context *context,
                              const groat__target *target, const char *device,
                              const groat_decode_shape *shape,
                              groat_decode_choice *choice)
{
    groat_decode_choice found = GROAT_DECODE_CHOICE_INIT;
    groat__store_blob blob = {0};
    groat__str identity = {0};
    bool right = false;

    if (write_identity(context, target, device, shape, &identity, NULL) ==
            GROAT_OK &&
        get_entry(context, &identity, &blob)) {
        right = read_choice(&blob, &found) &&
                groat__decode_check_choice(shape, &found, NULL) == GROAT_OK &&
                check_rules(context, target, shape, &found, NULL) == GROAT_OK;
        groat__store_blob_free(&blob);
    }
    groat__str_free(&identity);
    if (right)
        *choice = found;
    return right;
}

/* ---- records ------------------------------------------------------------- */

static groat_status check_full(const groat_decode_shape *shape,
                               const groat_decode_choice *choice,
                               groat_error *error)
{
    groat_status status = groat__decode_check_shape(shape, error);

    if (status == GROAT_OK)
        status = groat__decode_check_choice(shape, choice, error);
    if (status == GROAT_OK &&
        (choice->warps == 0 || choice->stages == 0 || choice->cluster == 0 ||
         choice->blocks == 0 || choice->least == 0))
        status = groat__fail(
            error, GROAT_INVALID,
            "choice has warps %u, stages %u, cluster %u, blocks %u, least %u; "
            "allowed in a record: none that is 0",
            choice->warps, choice->stages, choice->cluster, choice->blocks,
            choice->least);
    return status;
}

/* Resolves the target, and the context's device if it is NULL. */
static groat_status find_place(groat_context *context, const char *target,
                               const char *device, groat__target *where,
                               groat__decode_device *own, groat_error *error)
{
    groat_status status = groat__context_target(context, target, where, error);

    if (status != GROAT_OK)
        return status;
    if (device == NULL)
        return groat__decode_device_of(context, where, own, error);
    if (*device == '\0' || strlen(device) >= sizeof(own->name) ||
        strpbrk(device, "\n\r") != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "device is no line of 1 to %zu characters",
                           sizeof(own->name) - 1);
    (void)snprintf(own->name, sizeof(own->name), "%s", device);
    return GROAT_OK;
}

/* Puts the text and reads it back: a put that fails is not told, and an older
 * record may be there. */
static groat_status put_text(groat_context *context, const groat__str *identity,
                             const char *text, groat_error *error)
{
    const groat_facts none = {-1, -1, -1, -1, -1, -1};
    groat__digest key = groat__key_of(identity);
    groat__store_blob blob = {0};
    bool taken;

    groat__store_put(context->store, &key, identity->data, text, strlen(text),
                     text, &none);
    taken = groat__store_get(context->store, &key, identity->data, &blob) &&
            blob.bytes == strlen(text) &&
            memcmp(blob.data, text, blob.bytes) == 0;
    groat__store_blob_free(&blob);
    return taken ? GROAT_OK
                 : groat__fail(error, GROAT_IO,
                               "the store %s did not take a tuned choice",
                               groat__store_path(context->store));
}

groat_status groat_decode_put_tuned(groat_context *context, const char *target,
                                    const char *device,
                                    const groat_decode_shape *shape,
                                    const groat_decode_choice *choice,
                                    groat_error *error)
{
    groat_status status = groat__need_store(context, error);
    groat__decode_device own;
    groat__target where;
    groat__str identity = {0};
    char text[CHOICE_ROOM];

    if (status == GROAT_OK)
        status = check_full(shape, choice, error);
    if (status == GROAT_OK)
        status = find_place(context, target, device, &where, &own, error);
    if (status == GROAT_OK)
        status = check_rules(context, &where, shape, choice, error);
    if (status == GROAT_OK)
        status =
            write_identity(context, &where, own.name, shape, &identity, error);
    if (status == GROAT_OK) {
        write_choice(choice, text);
        status = put_text(context, &identity, text, error);
    }
    groat__str_free(&identity);
    return status;
}

groat_status groat_decode_get_tuned(groat_context *context, const char *target,
                                    const char *device,
                                    const groat_decode_shape *shape,
                                    groat_decode_choice *choice,
                                    groat_error *error)
{
    groat_decode_choice found = GROAT_DECODE_CHOICE_INIT;
    groat__decode_device own;
    groat__target where;
    groat_status status = groat__check_size(
        error, "choice", "groat_decode_choice", choice, sizeof(*choice));

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status == GROAT_OK)
        status = groat__decode_check_shape(shape, error);
    if (status == GROAT_OK)
        status = find_place(context, target, device, &where, &own, error);
    if (status != GROAT_OK)
        return status;
    (void)groat__decode_find_tuned(context, &where, own.name, shape, &found);
    found.size = choice->size;
    memcpy(choice, &found, sizeof(found));
    return GROAT_OK;
}

groat_status groat_decode_choice_spec(const groat_decode_shape *shape,
                                      const groat_decode_choice *choice,
                                      char **spec, groat_error *error)
{
    groat_status status = check_full(shape, choice, error);
    groat__str text = {0};

    if (status != GROAT_OK)
        return status;
    groat__decode_write_spec(shape, choice, &text);
    *spec = groat__str_take(&text);
    return *spec != NULL ? GROAT_OK
                         : groat__fail(error, GROAT_NO_MEMORY,
                                       "no memory for a decode's spec");
}
