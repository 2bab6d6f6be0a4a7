/* SPDX-License-Identifier: Apache-2.0
 *
 * score.c binds the names in a score's expression to a launch's arguments.
 */
#include "attention/score.h"

#include <string.h>

#include "base/error.h"

groat_status groat__decode_score_read(const groat_decode_shape *shape,
                                      groat__code *out, groat_error *error)
{
    const char *text = shape->score != NULL ? shape->score : "score";
    groat_error own = GROAT_ERROR_INIT;
    groat_status status =
        groat__code_parse(GROAT__DECODE_INPUTS, text, strlen(text), out, &own);

    if (status != GROAT_OK)
        (void)groat__fail(error, status, "shape.score: %s", own.text);
    groat_error_clear(&own);
    return status;
}

static const groat_decode_named *find(const groat_decode_arguments *a,
                                      const groat__code_name *name)
{
    for (unsigned i = 0; i < a->named_count; i++)
        if (a->named[i].name != NULL && strlen(a->named[i].name) == name->len &&
            memcmp(a->named[i].name, name->text, name->len) == 0)
            return &a->named[i];
    return NULL;
}

static groat_status refuse(const groat__code_name *name, groat_error *error)
{
    return groat__fail(error, GROAT_INVALID,
                       "arguments.named has no '%.*s', which shape.score names",
                       (int)name->len, name->text);
}

/* Refuses an array that is used as a float, and the reverse. */
static groat_status refuse_kind(const groat_decode_named *one, bool array,
                                groat_error *error)
{
    return groat__fail(
        error, GROAT_INVALID,
        array ? "arguments.named: '%s' is a float; shape.score uses it as an "
                "array, which has array and count instead of value"
              : "arguments.named: '%s' is an array; shape.score uses it as a "
                "float, which has value instead of array and count",
        one->name);
}

groat_status groat__decode_score_bind(const groat__code *code,
                                      const groat_decode_arguments *arguments,
                                      groat__decode_named *out,
                                      groat_error *error)
{
    const groat_decode_named *one;

    *out = (groat__decode_named){0};
    for (size_t i = 0; i < code->scalar_count; i++) {
        one = find(arguments, &code->scalars[i]);
        if (one == NULL)
            return refuse(&code->scalars[i], error);
        if (one->count > 0 || one->array != 0)
            return refuse_kind(one, false, error);
        out->scalars[i] = one->value;
    }
    for (size_t i = 0; i < code->array_count; i++) {
        one = find(arguments, &code->arrays[i]);
        if (one == NULL)
            return refuse(&code->arrays[i], error);
        if (one->count == 0 && one->value != 0)
            return refuse_kind(one, true, error);
        if (one->count > 0 && (one->array == 0 || one->array % 4 != 0))
            return groat__fail(error, GROAT_INVALID,
                               "arguments.named: the array '%s' is at 0x%llx; "
                               "allowed: multiples of 4, not 0",
                               one->name, (unsigned long long)one->array);
        out->arrays[i] = one->array;
        out->counts[i] = one->count;
    }
    return GROAT_OK;
}
