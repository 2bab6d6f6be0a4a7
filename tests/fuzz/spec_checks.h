/* SPDX-License-Identifier: Apache-2.0
 *
 * spec_checks.h - checks for the fuzz targets of src/spec: what must hold for
 * every accepted spec and for every refused one.  A violation aborts.
 */
#ifndef GROAT_FUZZ_SPEC_CHECKS_H
#define GROAT_FUZZ_SPEC_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/key.h"
#include "spec/render.h"

#define MUST(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* Returns the bytes as a text; the caller frees it. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    MUST(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Checks that a refusal is one line of UTF-8 and not empty. */
static inline void check_refusal(groat_status status, groat_error *error)
{
    MUST(status == GROAT_INVALID && error->status == status);
    MUST(error->text[0] != '\0' && error->log == NULL);
    for (const char *at = error->text; *at != '\0'; at += groat__utf8_len(at)) {
        MUST((unsigned char)*at >= ' ' && *at != 0x7f);
        MUST(groat__utf8_len(at) > 0);
    }
    groat_error_clear(error);
}

/* Checks that every value is allowed and every rule holds. */
static inline void check_values(const groat__params *params)
{
    const groat_family *family = params->family;

    for (size_t i = 0; i < family->param_count; i++)
        MUST(groat__slot_allows(&family->slots[family->params[i]],
                                params->values[family->params[i]]));
    for (size_t i = 0; i < family->rule_count; i++) {
        int64_t value = 0;
        const char *why;

        MUST(groat__expr_eval(&family->rules[i].expr, params->values, &value,
                              &why));
        MUST(value != 0);
    }
}

/* Checks that the canonical text gives the same spec and the same key. */
static inline void check_round_trip(const groat__params *params)
{
    groat__params again;
    groat__str text = {0};
    groat__str second = {0};
    groat__digest key;

    groat__params_text(params, &text);
    MUST(groat__params_parse(params->family, text.data, &params->target, &again,
                             NULL) == GROAT_OK);
    MUST(memcmp(again.values, params->values, sizeof(again.values)) == 0);
    groat__params_text(&again, &second);
    MUST(strcmp(text.data, second.data) == 0);
    groat__str_clear(&text);
    groat__str_clear(&second);
    groat__key_identity(params, "compiler\n", &text);
    groat__key_identity(&again, "compiler\n", &second);
    key = groat__key_of(&text);
    MUST(memcmp(key.bytes, groat__key_of(&second).bytes, 16) == 0);
    groat__str_free(&text);
    groat__str_free(&second);
}

/* Checks that the entry is an identifier and occurs in the source. */
static inline void check_source(const groat__params *params)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    groat__str entry = {0};
    groat__str source = {0};

    groat__params_entry(params, &entry);
    groat__render_source(params, &source);
    MUST(!entry.failed && !source.failed);
    MUST(entry.len > 0 && strspn(entry.data, letters) == entry.len);
    MUST(strspn(entry.data, "0123456789") == 0);
    groat__str_clear(&entry);
    groat__str_add(&entry, "\n#define GROAT_ENTRY ");
    groat__params_entry(params, &entry);
    MUST(strstr(source.data, entry.data) != NULL);
    groat__str_free(&entry);
    groat__str_free(&source);
}

static inline void check_params(const groat__params *params)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__launch_values launch;
    groat_status status = groat__params_launch(params, &launch, &error);

    if (status != GROAT_OK)
        check_refusal(status, &error);
    check_values(params);
    check_round_trip(params);
    check_source(params);
}

#endif
