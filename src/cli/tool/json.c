/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c - builds the one JSON object that --json answers with.
 *
 * Invariant: the text is well-formed JSON whatever was added, so that a command
 * may stop anywhere.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli/tool/out.h"

enum { DIGITS = 9 };

/* Puts the value, whose reference it takes, into the innermost level. */
static void add(groat__json *json, const char *name, json_t *value)
{
    json_t *level = json->depth > 0 ? json->open[json->depth - 1] : NULL;
    int failed;

    if (json->failed) {
        json_decref(value);
        return;
    }
    if (json_is_object(level))
        failed = json_object_set_new(level, name, value);
    else if (level != NULL)
        failed = json_array_append_new(level, value);
    else
        failed = (json->root = value) == NULL ? -1 : 0;
    json->failed = failed != 0;
}

static void add_level(groat__json *json, const char *name, json_t *level)
{
    add(json, name, level);
    if (json->depth == GROAT__JSON_DEPTH)
        json->failed = true;
    if (!json->failed)
        json->open[json->depth++] = level;
}

void groat__json_object(groat__json *json, const char *name)
{
    add_level(json, name, json_object());
}

void groat__json_array(groat__json *json, const char *name)
{
    add_level(json, name, json_array());
}

void groat__json_end(groat__json *json)
{
    if (json->depth > 0)
        json->depth--;
}

void groat__json_string(groat__json *json, const char *name, const char *value)
{
    groat__str text = {0};

    if (value == NULL) {
        groat__json_null(json, name);
        return;
    }
    for (size_t len; *value != '\0'; value += len > 0 ? len : 1) {
        len = groat__utf8_len(value);
        if (len == 0 || *value == 0x7f)
            groat__str_add(&text, "\xef\xbf\xbd");
        else
            groat__str_addn(&text, value, len);
    }
    json->failed = json->failed || text.failed;
    add(json, name, json_string(text.len == 0 ? "" : text.data));
    groat__str_free(&text);
}

void groat__json_int(groat__json *json, const char *name, int64_t value)
{
    add(json, name, json_integer(value));
}

void groat__json_uint(groat__json *json, const char *name, uint64_t value)
{
    if (value <= INT64_MAX)
        add(json, name, json_integer((json_int_t)value));
    else
        add(json, name, json_sprintf("%" PRIu64, value));
}

void groat__json_real(groat__json *json, const char *name, double value)
{
    add(json, name, isfinite(value) ? json_real(value) : json_null());
}

void groat__json_bool(groat__json *json, const char *name, bool value)
{
    add(json, name, json_boolean(value));
}

void groat__json_null(groat__json *json, const char *name)
{
    add(json, name, json_null());
}

char *groat__json_take(groat__json *json)
{
    char *text = json->failed
                     ? NULL
                     : json_dumps(json->root, JSON_INDENT(2) | JSON_ENCODE_ANY |
                                                  JSON_REAL_PRECISION(DIGITS));

    json_decref(json->root);
    *json = (groat__json){0};
    return text;
}
