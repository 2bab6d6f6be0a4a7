/* SPDX-License-Identifier: Apache-2.0
 *
 * named.c reads what a score's names stand for: --arg NAME=VALUE is a float,
 * --buffer NAME=ELEMENTS an array of random numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"

/* "NAME=" of a word; *value behind it. */
static groat_status take_name(const char *word, char **name, const char **value,
                              groat_error *error)
{
    const char *equals = strchr(word, '=');

    if (equals == NULL || equals == word)
        return groat__cli_error(error, GROAT_INVALID,
                                "'%s' is not of the form NAME=VALUE", word);
    *name = strndup(word, (size_t)(equals - word));
    *value = equals + 1;
    return *name != NULL
               ? GROAT_OK
               : groat__cli_error(error, GROAT_NO_MEMORY, "out of memory");
}

static groat_status add(groat__decode_names *out, const char *word,
                        groat_error *error)
{
    groat_decode_named *one = &out->named[out->count];
    const char *value;
    double real = 0;
    char *name;
    groat_status status = take_name(word, &name, &value, error);

    if (status != GROAT_OK)
        return status;
    one->name = name;
    out->count++;
    if (!groat__opt_real(value, &real))
        return groat__cli_error(error, GROAT_INVALID,
                                "--arg %s is '%s'; allowed: a number", name,
                                value);
    one->value = (float)real;
    return GROAT_OK;
}

static groat_status add_array(groat__decode_names *out, const char *word,
                              uint64_t *state, groat_error *error)
{
    groat_decode_named *one = &out->named[out->count];
    const char *value;
    int64_t count = 0;
    char *name;
    float *array;
    groat_status status = take_name(word, &name, &value, error);

    if (status != GROAT_OK)
        return status;
    one->name = name;
    out->count++;
    if (!groat__opt_whole(value, &count) || count < 1 ||
        count > GROAT__NAMED_MOST)
        return groat__cli_error(
            error, GROAT_INVALID,
            "--buffer %s is '%s'; allowed: 1 to %d elements", name, value,
            GROAT__NAMED_MOST);
    array = malloc((size_t)count * sizeof(*array));
    if (array == NULL)
        return groat__cli_error(error, GROAT_NO_MEMORY, "out of memory");
    for (int64_t i = 0; i < count; i++)
        array[i] = groat__decode_draw(state, -1, 1);
    one->array = (uint64_t)(uintptr_t)array;
    one->count = (uint32_t)count;
    return GROAT_OK;
}

groat_status groat__decode_names_read(const groat__values *values,
                                      groat__decode_names *out,
                                      groat_error *error)
{
    groat_status status = GROAT_OK;
    uint64_t state = values->seed;

    out->count = 0;
    if (values->args.count + values->buffers.count > GROAT__LIST_MAX)
        return groat__cli_error(error, GROAT_INVALID,
                                "more than %d --arg and --buffer",
                                GROAT__LIST_MAX);
    for (size_t i = 0; i < values->args.count && status == GROAT_OK; i++)
        status = add(out, values->args.item[i], error);
    for (size_t i = 0; i < values->buffers.count && status == GROAT_OK; i++)
        status = add_array(out, values->buffers.item[i], &state, error);
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
