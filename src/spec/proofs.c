/* SPDX-License-Identifier: Apache-2.0
 *
 * proofs.c tries what params.def says of a family's rules.
 */
#include "spec/proofs.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "spec/param.h"

enum { TARGET_BYTES = 64, VALUES_BYTES = 1024 };

static groat_status refuse(const groat_family *family, const groat__rule *rule,
                           const char *proof, size_t len, const char *why,
                           groat_error *error)
{
    return groat__fail(error, GROAT_INVALID,
                       "%.64s/params.def:%d: '%.*s' is no counter-example "
                       "of its rule: %.250s",
                       family->name, rule->line, len < 80 ? (int)len : 80,
                       proof, why);
}

/* Tries "breaks TARGET name=value,..." of len bytes; without_rules is the
 * family with rule_count 0. */
static groat_status try_breaks(const groat_family *without_rules,
                               const groat__rule *rule, const char *proof,
                               size_t len, groat_error *error)
{
    groat_error inner = GROAT_ERROR_INIT;
    char text[TARGET_BYTES + VALUES_BYTES];
    char target_text[TARGET_BYTES] = "";
    char values[VALUES_BYTES] = "";
    char spec[TARGET_BYTES + VALUES_BYTES];
    groat__target target;
    groat__params params;
    const char *why = NULL;
    int64_t value = 0;
    groat_status status;

    (void)snprintf(text, sizeof(text), "%.*s", (int)len, proof);
    (void)sscanf(text, "breaks %63s %1023[^;]", target_text, values);
    (void)snprintf(spec, sizeof(spec), "%.60s:%s", without_rules->name, values);
    status = groat__target_parse(target_text, &target, &inner);
    if (status == GROAT_OK)
        status =
            groat__params_parse(without_rules, spec, &target, &params, &inner);
    if (status != GROAT_OK)
        status = refuse(without_rules, rule, proof, len, inner.text, error);
    else if (groat__expr_eval(&rule->expr, params.values, &value, &why) &&
             value != 0)
        status = refuse(without_rules, rule, proof, len, "the rule holds there",
                        error);
    groat_error_clear(&inner);
    return status;
}

/* Checks the names of "follows NAME ...". */
static groat_status check_follows(const groat_family *family,
                                  const groat__rule *rule, const char *proof,
                                  size_t len, groat_error *error)
{
    size_t at = strcspn(proof, " \t");
    size_t end;

    for (at += strspn(proof + at, " \t"); at < len;
         at = end + strspn(proof + end, " \t")) {
        end = at + strcspn(proof + at, " \t;");
        if (groat__family_slot(family, proof + at, end - at) == GROAT__SLOTS)
            return groat__fail(error, GROAT_INVALID,
                               "%.64s/params.def:%d: a rule follows from "
                               "'%.*s', which is no parameter or constant",
                               family->name, rule->line,
                               end - at < 64 ? (int)(end - at) : 64,
                               proof + at);
    }
    return GROAT_OK;
}

static groat_status try_rule(const groat_family *without_rules,
                             const groat__rule *rule, groat_error *error)
{
    static const char word[] = "breaks ";
    groat_status status = GROAT_OK;

    for (const char *at = rule->proofs; status == GROAT_OK && *at != '\0';) {
        size_t len;

        at += strspn(at, "; \t");
        len = strcspn(at, ";");
        if (strncmp(at, word, sizeof(word) - 1) == 0)
            status = try_breaks(without_rules, rule, at, len, error);
        else
            status = check_follows(without_rules, rule, at, len, error);
        at += len;
    }
    return status;
}

groat_status groat__family_try_rules(groat_family *family, groat_error *error)
{
    size_t count = family->rule_count;
    groat_status status = GROAT_OK;

    family->rule_count = 0;
    for (size_t i = 0; i < count && status == GROAT_OK; i++)
        status = try_rule(family, &family->rules[i], error);
    family->rule_count = count;
    return status;
}
