/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c - writes the one JSON object that --json answers with.
 *
 * Owns quoting, commas and indentation; commands choose the members.
 * Invariant: whatever is added, the text is well-formed JSON once each open
 * level has been ended, so that a command may stop anywhere.
 */
#include "cli/tool/out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_quoted(groat__str *text, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;

    groat__str_add(text, "\"");
    while (*s) {
        size_t len = groat__utf8_len((const char *)s);

        if (*s == '"' || *s == '\\')
            groat__str_addf(text, "\\%c", *s);
        else if (*s == '\n')
            groat__str_add(text, "\\n");
        else if (*s == '\t')
            groat__str_add(text, "\\t");
        else if (*s < 0x20 || *s == 0x7f)
            groat__str_addf(text, "\\u%04x", *s);
        else if (len)
            groat__str_addn(text, (const char *)s, len);
        else
            groat__str_add(text, "\\ufffd");
        s += len ? len : 1;
    }
    groat__str_add(text, "\"");
}

static void add_indent(groat__json *json)
{
    groat__str_addf(&json->text, "\n%*s", (int)(json->depth * 2), "");
}

/* Adds what precedes a value: comma, line break, indentation and name. */
static void add_name(groat__json *json, const char *name)
{
    if (json->depth) {
        if (json->filled[json->depth - 1])
            groat__str_add(&json->text, ",");
        json->filled[json->depth - 1] = true;
        add_indent(json);
    }
    if (name) {
        add_quoted(&json->text, name);
        groat__str_add(&json->text, ": ");
    }
}

static void add_level(groat__json *json, const char *name, const char *brackets)
{
    add_name(json, name);
    groat__str_addn(&json->text, brackets, 1);
    if (json->depth == GROAT__JSON_DEPTH) {
        json->text.failed = true;
        return;
    }
    json->closer[json->depth] = brackets[1];
    json->filled[json->depth] = false;
    json->depth++;
}

void groat__json_object(groat__json *json, const char *name)
{
    add_level(json, name, "{}");
}

void groat__json_array(groat__json *json, const char *name)
{
    add_level(json, name, "[]");
}

void groat__json_end(groat__json *json)
{
    if (!json->depth)
        return;
    json->depth--;
    if (json->filled[json->depth])
        add_indent(json);
    groat__str_addn(&json->text, &json->closer[json->depth], 1);
}

void groat__json_string(groat__json *json, const char *name, const char *value)
{
    if (!value) {
        groat__json_null(json, name);
        return;
    }
    add_name(json, name);
    add_quoted(&json->text, value);
}

void groat__json_int(groat__json *json, const char *name, int64_t value)
{
    add_name(json, name);
    groat__str_addf(&json->text, "%" PRId64, value);
}

void groat__json_uint(groat__json *json, const char *name, uint64_t value)
{
    add_name(json, name);
    groat__str_addf(&json->text, "%" PRIu64, value);
}

void groat__json_real(groat__json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        groat__json_null(json, name);
        return;
    }
    add_name(json, name);
    groat__str_addf(&json->text, "%.9g", value);
}

void groat__json_bool(groat__json *json, const char *name, bool value)
{
    add_name(json, name);
    groat__str_add(&json->text, value ? "true" : "false");
}

void groat__json_null(groat__json *json, const char *name)
{
    add_name(json, name);
    groat__str_add(&json->text, "null");
}
