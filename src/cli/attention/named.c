/* SPDX-License-Identifier: Apache-2.0
 *
 * named.c reads the values of a score's names: --arg NAME=VALUE is a float,
 * --buffer NAME=ELEMENTS an array of random numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"

/* Adds the name of "NAME=VALUE", and points *value at VALUE. */
static groat_status add_name(groat__decode_names *out, const char *word,
                             const char **value, groat_error *error)
{
    const char *equals = strchr(word, '=');
    char *name;

    if (equals == NULL || equals == word)
        return groat__fail(error, GROAT_INVALID,
                           "'%s' is not of the form NAME=VALUE", word);
    for (unsigned i = 0; i < out->count; i++)
        if (groat__is_text(word, (size_t)(equals - word), out->named[i].name))
            return groat__fail(error, GROAT_INVALID,
                               "%s is given twice, the second time as "
                               "'%s'",
                               out->named[i].name, word);
    name = strndup(word, (size_t)(equals - word));
    if (name == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    out->named[out->count++] = (groat_decode_named){.name = name};
    *value = equals + 1;
    return GROAT_OK;
}

static groat_status read_float(groat_decode_named *one, const char *value,
                               groat_error *error)
{
    double real = 0;

    if (!groat__opt_real(value, &real))
        return groat__fail(error, GROAT_INVALID,
                           "--arg %s is '%s'; allowed: a number", one->name,
                           value);
    one->value = (float)real;
    return GROAT_OK;
}

static groat_status make_array(groat_decode_named *one, const char *value,
                               uint64_t *state, groat_error *error)
{
    int64_t count = 0;
    float *array;

    if (!groat__opt_whole(value, &count) || count < 1 ||
        count > GROAT__NAMED_MOST)
        return groat__fail(error, GROAT_INVALID,
                           "--buffer %s is '%s'; allowed: 1 to %d elements",
                           one->name, value, GROAT__NAMED_MOST);
    array = malloc((size_t)count * sizeof(*array));
    if (array == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    for (int64_t i = 0; i < count; i++)
        array[i] = groat__decode_draw(state, -1, 1);
    one->array = (uint64_t)(uintptr_t)array;
    one->count = (uint32_t)count;
    return GROAT_OK;
}

/* Whether the expression has the name as a word of its own. */
static bool has_name(const char *score, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = score; at != NULL && (at = strstr(at, name)) != NULL;
         at++)
        if ((at == score || !groat__is_word(at[-1])) &&
            !groat__is_word(at[len]))
            return true;
    return false;
}

groat_status groat__decode_names_read(const groat__values *values,
                                      groat__decode_names *out,
                                      groat_error *error)
{
    groat_status status = GROAT_OK;
    uint64_t state = values->seed;
    const char *value;

    out->count = 0;
    if (values->args.count + values->buffers.count > GROAT__LIST_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "more than %d --arg and --buffer", GROAT__LIST_MAX);
    for (size_t i = 0; i < values->args.count && status == GROAT_OK; i++) {
        status = add_name(out, values->args.item[i], &value, error);
        if (status == GROAT_OK)
            status = read_float(&out->named[out->count - 1], value, error);
    }
    for (size_t i = 0; i < values->buffers.count && status == GROAT_OK; i++) {
        status = add_name(out, values->buffers.item[i], &value, error);
        if (status == GROAT_OK)
            status =
                make_array(&out->named[out->count - 1], value, &state, error);
    }
    for (unsigned i = 0; i < out->count && status == GROAT_OK; i++)
        if (!has_name(values->score, out->named[i].name))
            status = groat__fail(error, GROAT_INVALID,
                                 "%s is given a value, but --score%s does "
                                 "not use that name",
                                 out->named[i].name,
                                 values->score ? "" : ", which is absent,");
    return status;
}

void groat__decode_names_free(groat__decode_names *names)
{
    for (unsigned i = 0; i < names->count; i++) {
        free((void *)(uintptr_t)names->named[i].name);
        free((void *)(uintptr_t)names->named[i].array);
    }
    names->count = 0;
}
