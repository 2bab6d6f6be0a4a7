/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c parses a line of a manifest, the list of kernels that a server
 * will want.
 *
 * Invariant: nothing is guessed, and a member that is repeated or unknown is
 * refused, since it is probably a slip.
 */
#include "spec/manifest.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"

/* Returns the first member of an object that is not in a list, or NULL. */
static const char *find_stranger(json_t *object, const char *const *names,
                                 size_t count)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        bool known = false;

        for (size_t i = 0; i < count; i++)
            known |= strcmp(name, names[i]) == 0;
        if (!known)
            return name;
    }
    return NULL;
}

static void add_target(groat__manifest_line *out, const json_t *target)
{
    groat__str_addn(&out->targets, json_string_value(target),
                    json_string_length(target) + 1);
    out->target_count++;
}

/* Returns an error in "targets", or NULL. */
static const char *read_targets(groat__manifest_line *out,
                                const json_t *targets)
{
    if (!json_is_array(targets) || json_array_size(targets) == 0)
        return "\"targets\" is not a list of one target or more";
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const json_t *target = json_array_get(targets, i);

        if (!json_is_string(target))
            return "a target in \"targets\" is not a string";
        add_target(out, target);
    }
    return NULL;
}

/* Returns an error in "tuned", or NULL. */
static const char *read_tuned(groat__manifest_line *out, json_t *tuned)
{
    static const char *const names[] = {"device", "decode", "score"};
    groat__str *const texts[] = {&out->device, &out->decode, &out->score};

    if (!json_is_object(tuned) ||
        find_stranger(tuned, names, sizeof(names) / sizeof(names[0])) != NULL)
        return "\"tuned\" is no object of device, decode and score";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const json_t *text = json_object_get(tuned, names[i]);

        if (text == NULL && texts[i] == &out->score)
            continue;
        if (!json_is_string(text) || json_string_length(text) == 0)
            return "device, decode or score of \"tuned\" is not a string, or "
                   "is empty";
        groat__str_add(texts[i], json_string_value(text));
    }
    return NULL;
}

/* Returns an error in the members of a line, or NULL. */
static const char *read_members(groat__manifest_line *out, json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *target = json_object_get(object, "target");
    const json_t *targets = json_object_get(object, "targets");
    json_t *tuned = json_object_get(object, "tuned");
    const char *problem;

    if (spec == NULL)
        return "\"spec\" is missing";
    if (!json_is_string(spec))
        return "\"spec\" is not a string";
    groat__str_add(&out->spec, json_string_value(spec));
    if (target != NULL && targets != NULL)
        return "the line has both \"target\" and \"targets\"";
    if (target != NULL && !json_is_string(target))
        return "\"target\" is not a string";
    if (target != NULL)
        add_target(out, target);
    problem = targets == NULL ? NULL : read_targets(out, targets);
    if (problem == NULL && tuned != NULL)
        problem = read_tuned(out, tuned);
    return problem;
}

static groat_status refuse_text(const json_error_t *why, groat_error *error)
{
    switch (json_error_code(why)) {
    case json_error_duplicate_key:
        return groat__fail(error, GROAT_INVALID,
                           "the line has a member twice: %s", why->text);
    case json_error_numeric_overflow:
        return groat__fail(error, GROAT_INVALID,
                           "a number is too large, column %d", why->column);
    case json_error_unknown:
    case json_error_out_of_memory:
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a manifest");
    default:
        return groat__fail(error, GROAT_INVALID,
                           "the line is not JSON: %s, column %d", why->text,
                           why->column);
    }
}

static groat_status read_object(groat__manifest_line *out, json_t *object,
                                groat_error *error)
{
    static const char *const names[] = {"spec", "target", "targets", "tuned",
                                        "note"};
    const char *stranger;
    const char *problem;

    if (!json_is_object(object))
        return groat__fail(error, GROAT_INVALID,
                           "the line is not a JSON object");
    stranger = find_stranger(object, names, sizeof(names) / sizeof(names[0]));
    if (stranger != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "\"%.64s\" is not known; allowed: spec, target, "
                           "targets, tuned, note",
                           stranger);
    problem = read_members(out, object);
    if (out->spec.failed || out->targets.failed || out->device.failed ||
        out->decode.failed || out->score.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a manifest");
    return problem == NULL ? GROAT_OK
                           : groat__fail(error, GROAT_INVALID, "%s", problem);
}

groat_status groat__manifest_parse(const char *text, groat__manifest_line *out,
                                   groat_error *error)
{
    json_error_t why;
    json_t *line;
    groat_status status;

    groat__str_clear(&out->spec);
    groat__str_clear(&out->targets);
    groat__str_clear(&out->device);
    groat__str_clear(&out->decode);
    groat__str_clear(&out->score);
    out->target_count = 0;
    memset(&why, 0, sizeof(why));
    line = json_loads(text,
                      JSON_DECODE_ANY | JSON_REJECT_DUPLICATES |
                          JSON_DECODE_INT_AS_REAL,
                      &why);
    if (line == NULL)
        return refuse_text(&why, error);
    status = read_object(out, line, error);
    json_decref(line);
    return status;
}

void groat__manifest_line_free(groat__manifest_line *line)
{
    groat__str_free(&line->spec);
    groat__str_free(&line->targets);
    groat__str_free(&line->device);
    groat__str_free(&line->decode);
    groat__str_free(&line->score);
}
