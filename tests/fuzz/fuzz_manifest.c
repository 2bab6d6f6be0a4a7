/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_manifest.c: a text as JSON, of which Jansson must think the same, and as
 * a line of a manifest, which is refused in one line or says what it says to
 * Jansson.
 */
#include <jansson.h>

#include "base/json.h"
#include "spec/manifest.h"
#include "spec_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Jansson computes numbers, which may be too large for it, and takes values
 * that lie deeper in each other. */
static bool is_ours_alone(const json_error_t *why)
{
    return json_error_code(why) == json_error_numeric_overflow;
}

static bool is_deep(const groat__json_in *in)
{
    return strstr(in->why, "in each other") != NULL;
}

static void compare_values(const char *text)
{
    json_error_t why;
    json_t *value = json_loadb(text, strlen(text), JSON_DECODE_ANY, &why);
    groat__json_in in;
    bool taken;

    groat__json_in_start(&in, text);
    taken = groat__json_in_skip(&in) && groat__json_in_end(&in);
    MUST(in.at <= text + strlen(text));
    if (taken)
        MUST(value != NULL || is_ours_alone(&why));
    else
        MUST(value == NULL || is_deep(&in));
    json_decref(value);
}

static void compare_string(json_t *value, const char *text, size_t len)
{
    MUST(json_is_string(value) && json_string_length(value) == len);
    MUST(memcmp(json_string_value(value), text, len) == 0);
}

static void compare_line(const char *text, const groat__manifest_line *line)
{
    json_t *object =
        json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, NULL);
    json_t *targets = json_object_get(object, "targets");
    json_t *target = json_object_get(object, "target");
    const char *at = line->targets.data;

    /* A note may be what is_ours_alone() says. */
    if (object == NULL && strstr(text, "note") != NULL)
        return;
    compare_string(json_object_get(object, "spec"), line->spec.data,
                   line->spec.len);
    MUST(line->target_count == json_array_size(targets) + (target != NULL));
    for (size_t i = 0; i < line->target_count; i++, at += strlen(at) + 1)
        compare_string(target != NULL ? target : json_array_get(targets, i), at,
                       strlen(at));
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    groat__manifest_line line = {.target_count = 0};
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = groat__manifest_parse(text, &line, &error);

    compare_values(text);
    if (status == GROAT_OK)
        compare_line(text, &line);
    else
        check_refusal(status, &error);
    groat__manifest_line_free(&line);
    free(text);
    return 0;
}
