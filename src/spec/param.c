/* SPDX-License-Identifier: Apache-2.0
 *
 * param.c turns a spec's text into a checked set of values.  The tables that it
 * checks against are in family.c.  No state.  Invariant: a groat__params that
 * was returned without error obeys every allowed set and every rule of its
 * family on its target.
 */
#include "spec/param.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"

enum { SPEC_TEXT_MAX = 65536, NAME_SHOWN = 48 };

typedef struct given {
    bool is[GROAT__SLOTS];
} given;

const char *groat__params_code_text(const groat__params *params)
{
    const groat_family *family = params->family;

    if (family->code == 0)
        return NULL;
    return params->values[family->code] == 0
               ? family->slots[family->code].deflt
               : (const char *)(params->values + family->slot_count);
}

size_t groat__params_code_words(const groat__params *params)
{
    return params->family->code == 0
               ? 0
               : ((size_t)params->values[params->family->code] + 7) / 8;
}

void groat__params_value_text(const groat__params *params, size_t slot,
                              groat__str *out)
{
    const groat__slot *s = &params->family->slots[slot];
    const char *name = groat__slot_enumerator(s, params->values[slot]);

    if (s->is_param && s->type == GROAT_PARAM_CODE)
        groat__str_addf(out, "\"%s\"", groat__params_code_text(params));
    else if (name != NULL)
        groat__str_add(out, name);
    else
        groat__str_add_int(out, params->values[slot]);
}

bool groat__params_code(const groat__params *params, groat__code *out)
{
    const groat_family *family = params->family;
    const char *text = groat__params_code_text(params);

    return text != NULL &&
           groat__code_parse(family->slots[family->code].allowed, text,
                             strlen(text), out, NULL) == GROAT_OK;
}

static void add_allowed(const groat__slot *slot, groat__str *out)
{
    groat__str_add(out, slot->type == GROAT_PARAM_BOOL ? "0|1" : slot->allowed);
    if (strcmp(slot->unit, "-") != 0) {
        groat__str_add(out, " ");
        groat__str_add(out, slot->unit);
    }
}

static groat_status not_allowed(const groat_family *family,
                                const groat__slot *slot, const char *seen,
                                int seen_len, groat_error *error)
{
    groat__str allowed = {0};
    groat__near near;

    groat__near_start(&near, seen, strnlen(seen, (size_t)seen_len));
    for (size_t i = 0; i < slot->range_count; i++)
        if (slot->ranges[i].name != NULL)
            groat__near_try(&near, slot->ranges[i].name,
                            strlen(slot->ranges[i].name));
    groat__near_tell(&near, "allowed", &allowed);
    add_allowed(slot, &allowed);
    groat__fail(error, GROAT_INVALID, "%s: %s=%.*s is not allowed%s",
                family->name, slot->name, seen_len, seen,
                allowed.failed ? "" : allowed.data);
    groat__str_free(&allowed);
    return GROAT_INVALID;
}

static groat_status check_value(const groat__params *params, size_t slot,
                                groat_error *error)
{
    const groat_family *family = params->family;
    groat__str seen = {0};
    groat_status status;

    if (groat__slot_allows(&family->slots[slot], params->values[slot]))
        return GROAT_OK;
    groat__params_value_text(params, slot, &seen);
    status = not_allowed(family, &family->slots[slot],
                         seen.failed ? "?" : seen.data, NAME_SHOWN, error);
    groat__str_free(&seen);
    return status;
}

/* Appends the parameters that a rule reads, with their values. */
static void add_culprits(const groat__params *params, const groat__expr *expr,
                         groat__str *out)
{
    bool shown[GROAT__SLOTS] = {false};

    for (size_t i = 0; i < expr->count; i++) {
        size_t slot = (size_t)expr->steps[i].value;
        const groat__slot *s;

        if (!groat__expr_is_slot(&expr->steps[i]) || shown[slot])
            continue;
        shown[slot] = true;
        s = &params->family->slots[slot];
        groat__str_add(out, " ");
        groat__str_add(out, s->name);
        groat__str_add(out, "=");
        groat__params_value_text(params, slot, out);
    }
}

static groat_status broken_rule(const groat__params *params,
                                const groat__rule *rule, const char *why,
                                groat_error *error)
{
    groat__str seen = {0};

    add_culprits(params, &rule->expr, &seen);
    /* The parts are shortened so that the reason fits. */
    groat__fail(error, GROAT_INVALID, "%s on %s:%.200s %s '%.160s': %s",
                params->family->name, params->target.text,
                seen.failed || seen.data == NULL ? "" : seen.data,
                why == NULL ? "breaks the rule" : why, rule->text,
                rule->reason);
    groat__str_free(&seen);
    return GROAT_INVALID;
}

static groat_status check_rules(const groat__params *params, groat_error *error)
{
    const groat_family *family = params->family;

    for (size_t i = 0; i < family->rule_count; i++) {
        const char *why = NULL;
        int64_t holds = 0;

        if (!groat__expr_eval(&family->rules[i].expr, params->values, &holds,
                              &why) ||
            !holds)
            return broken_rule(params, &family->rules[i], why, error);
    }
    return GROAT_OK;
}

/* Evaluates defaults and derived constants in file order.  `check` also checks
 * each parameter against its allowed set as soon as it is known, so that the
 * first error reported is the first cause. */
static groat_status complete(groat__params *params, const given *set,
                             bool check, groat_error *error)
{
    const groat_family *family = params->family;

    groat__family_arch_values(params->target.arch, params->values);
    for (size_t i = GROAT__ARCH_SLOTS; i < family->slot_count; i++) {
        const groat__slot *slot = &family->slots[i];
        const char *why = NULL;

        if (!(slot->is_param && set->is[i]) &&
            !groat__expr_eval(&slot->expr, params->values, &params->values[i],
                              &why))
            return groat__fail(error, GROAT_INVALID,
                               "%s/params.def:%d: %s cannot be computed: "
                               "%s",
                               family->name, slot->line, slot->name, why);
        if (check && slot->is_param &&
            check_value(params, i, error) != GROAT_OK)
            return GROAT_INVALID;
    }
    return check ? check_rules(params, error) : GROAT_OK;
}

static bool parse_enum(const groat__slot *slot, const char *text, size_t len,
                       int64_t *value)
{
    for (size_t i = 0; i < slot->range_count; i++) {
        const char *name = slot->ranges[i].name;

        if (name != NULL && groat__is_text(text, len, name)) {
            *value = slot->ranges[i].low;
            return true;
        }
    }
    return false;
}

static bool parse_bool(const char *text, size_t len, int64_t *value)
{
    static const char *const words[] = {"0", "1", "false", "true"};

    for (int i = 0; i < 4; i++)
        if (groat__is_text(text, len, words[i])) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool parse_int(const char *text, size_t len, int64_t *value)
{
    size_t digits = len > 0 && text[0] == '-' ? len - 1 : len;
    char copy[24];

    if (digits == 0 || len >= sizeof(copy) ||
        strspn(text + len - digits, "0123456789") < digits)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    errno = 0;
    *value = strtoll(copy, NULL, 10);
    return errno == 0;
}

static bool parse_value(const groat__slot *slot, const char *text, size_t len,
                        int64_t *value)
{
    if (slot->type == GROAT_PARAM_ENUM)
        return parse_enum(slot, text, len, value);
    if (slot->type == GROAT_PARAM_BOOL)
        return parse_bool(text, len, value);
    return parse_int(text, len, value);
}

static int shown(size_t len)
{
    return (int)(len < NAME_SHOWN ? len : NAME_SHOWN);
}

static groat_status unknown_param(const groat_family *family, const char *name,
                                  size_t len, groat_error *error)
{
    groat__str all = {0};
    groat__near near;
    bool computed = false;

    for (size_t i = 0; i < family->slot_count; i++)
        computed = computed || groat__is_text(name, len, family->slots[i].name);
    groat__near_start(&near, name, len);
    for (size_t i = 0; i < family->param_count; i++)
        groat__near_try(&near, family->slots[family->params[i]].name,
                        strlen(family->slots[family->params[i]].name));
    groat__near_tell(&near, "parameters", &all);
    for (size_t i = 0; i < family->param_count; i++)
        groat__str_addf(&all, "%s%s", i > 0 ? ", " : "",
                        family->slots[family->params[i]].name);
    groat__fail(error, GROAT_INVALID, "%s has no parameter '%.*s'%s%s",
                family->name, shown(len), name,
                computed ? ", a constant that follows from others" : "",
                all.failed ? "" : all.data);
    groat__str_free(&all);
    return GROAT_INVALID;
}

/* Parses an expression, with quotes or without. */
static groat_status parse_code(groat__params *params, const char *text,
                               size_t len, groat_error *error)
{
    const groat_family *family = params->family;
    const groat__slot *slot = &family->slots[family->code];
    bool quoted = len > 1 && text[0] == '"' && text[len - 1] == '"';
    groat_error own = GROAT_ERROR_INIT;
    groat__str bare = {0};
    groat__code code;
    groat_status status;

    groat__code_text(text + quoted, len - 2 * (size_t)quoted, &bare);
    status = groat__code_parse(slot->allowed, text + quoted,
                               len - 2 * (size_t)quoted, &code, &own);
    if (status != GROAT_OK)
        status = groat__fail(error, status, "%s: %s: %s", family->name,
                             slot->name, own.text);
    else if (bare.failed)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a spec");
    else if (bare.len >= GROAT__CODE_BYTES)
        status = groat__fail(error, GROAT_INVALID,
                             "%s: %s has %zu characters without blanks; "
                             "allowed: %d",
                             family->name, slot->name, bare.len,
                             GROAT__CODE_BYTES - 1);
    else if (strcmp(bare.data, slot->deflt) != 0) {
        params->values[family->code] = (int64_t)bare.len;
        memcpy(params->values + family->slot_count, bare.data, bare.len);
    }
    groat_error_clear(&own);
    groat__str_free(&bare);
    return status;
}

/* The length of a text without trailing blanks. */
static size_t trimmed(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == ' ')
        len--;
    return len;
}

/* One "name=value" of length len; blanks may be around the "=". */
static groat_status parse_item(groat__params *params, given *set,
                               const char *item, size_t len, groat_error *error)
{
    const groat_family *family = params->family;
    const char *equals = memchr(item, '=', len);
    const char *value;
    size_t name_len, value_len, slot;

    if (equals == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "%s: '%.*s' is not of the form name=value",
                           family->name, shown(len), item);
    name_len = trimmed(item, (size_t)(equals - item));
    for (value = equals + 1; value < item + len && *value == ' ';)
        value++;
    value_len = (size_t)(item + len - value);
    slot = groat__family_slot(family, item, name_len);
    if (slot == GROAT__SLOTS || !family->slots[slot].is_param)
        return unknown_param(family, item, name_len, error);
    if (set->is[slot])
        return groat__fail(error, GROAT_INVALID, "%s: %s is given twice",
                           family->name, family->slots[slot].name);
    set->is[slot] = true;
    if (slot == family->code)
        return parse_code(params, value, value_len, error);
    if (!parse_value(&family->slots[slot], value, value_len,
                     &params->values[slot]))
        return not_allowed(family, &family->slots[slot], value,
                           shown(value_len), error);
    return GROAT_OK;
}

/* Length up to the comma that ends "name=value", which is not in quotes. */
static size_t item_len(const char *text)
{
    size_t len = 0;

    for (bool quoted = false; text[len] != '\0'; len++) {
        quoted ^= text[len] == '"';
        if (text[len] == ',' && !quoted)
            break;
    }
    return len;
}

groat_status groat__params_parse(const groat_family *family, const char *text,
                                 const groat__target *target,
                                 groat__params *out, groat_error *error)
{
    groat__params params = {.family = family, .target = *target};
    given set = {{false}};
    size_t len = strcspn(text, ":");
    groat_status status = GROAT_OK;

    if (strnlen(text, SPEC_TEXT_MAX + 1) > SPEC_TEXT_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "the spec is longer than %d bytes", SPEC_TEXT_MAX);
    if (len != strlen(family->name) || memcmp(text, family->name, len) != 0)
        return groat__fail(error, GROAT_INVALID,
                           "the spec names family '%.*s'; allowed: %s",
                           shown(len), text, family->name);
    text += len + (text[len] == ':');
    for (text += strspn(text, " "); *text != '\0' && status == GROAT_OK;
         text += strspn(text, " ")) {
        len = item_len(text);
        status = parse_item(&params, &set, text, trimmed(text, len), error);
        if (text[len] == ',' && status == GROAT_OK &&
            text[len + 1 + strspn(text + len + 1, " ")] == '\0')
            status = groat__fail(error, GROAT_INVALID,
                                 "%s: the spec ends in a comma; a shell takes "
                                 "one with blanks in quotes",
                                 family->name);
        text += len + (text[len] == ',');
    }
    if (status == GROAT_OK)
        status = complete(&params, &set, true, error);
    if (status == GROAT_OK)
        *out = params;
    return status;
}

groat_status groat__params_set(groat__params *params, size_t slot,
                               int64_t value, groat_error *error)
{
    groat__params changed = *params;
    given set;
    groat_status status;

    if (slot == params->family->code)
        return groat__fail(error, GROAT_INVALID,
                           "%s: %s is an expression; it is set by the text of "
                           "a spec alone",
                           params->family->name,
                           params->family->slots[slot].name);
    memset(&set, 1, sizeof(set));
    changed.values[slot] = value;
    status = complete(&changed, &set, true, error);
    if (status == GROAT_OK)
        *params = changed;
    return status;
}

groat_status groat__params_defaults(const groat_family *family,
                                    const groat__target *target,
                                    groat__params *out, groat_error *error)
{
    given set = {{false}};

    memset(out, 0, sizeof(*out));
    out->family = family;
    out->target = *target;
    return complete(out, &set, false, error);
}

void groat__params_text(const groat__params *params, groat__str *out)
{
    const groat_family *family = params->family;

    groat__str_add(out, family->name);
    for (size_t i = 0; i < family->param_count; i++) {
        const groat__slot *slot = &family->slots[family->params[i]];

        groat__str_addn(out, i == 0 ? ":" : ",", 1);
        groat__str_add(out, slot->name);
        groat__str_addn(out, "=", 1);
        groat__params_value_text(params, family->params[i], out);
    }
}

/* Appends a value as part of an identifier: -3 becomes m3. */
static void add_identifier(const groat__params *params, size_t slot,
                           groat__str *out)
{
    int64_t value = params->values[slot];

    if (value < 0 &&
        groat__slot_enumerator(&params->family->slots[slot], value) == NULL) {
        groat__str digits = {0};

        groat__str_add_int(&digits, value);
        groat__str_add(out, "m");
        groat__str_add(out, digits.failed ? "" : digits.data + 1);
        groat__str_free(&digits);
    } else {
        groat__params_value_text(params, slot, out);
    }
}

void groat__params_entry(const groat__params *params, groat__str *out)
{
    const char *at = params->family->entry;

    while (*at != '\0') {
        size_t plain = strcspn(at, "{");
        size_t len;
        size_t slot;

        groat__str_addn(out, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        len = strcspn(++at, "}");
        slot = groat__family_slot(params->family, at, len);
        if (slot != GROAT__SLOTS)
            add_identifier(params, slot, out);
        at += len + (at[len] == '}');
    }
}

groat_status groat__params_launch(const groat__params *params,
                                  groat__launch_values *out, groat_error *error)
{
    static const int64_t limits[GROAT__LAUNCH_VALUES] = {
        1024, 1024, 64, 16, 16, 16, 1 << 20, 4096, 1};
    const groat_family *family = params->family;

    for (size_t i = 0; i < GROAT__LAUNCH_VALUES; i++) {
        int64_t low = i < GROAT__SHARED ? 1 : 0;
        const char *why = "no value";

        out->of[i] = low;
        if (family->has_launch[i] &&
            !groat__expr_eval(&family->launch[i], params->values, &out->of[i],
                              &why))
            return groat__fail(error, GROAT_INVALID,
                               "%s/params.def:%d: launch %s cannot be "
                               "computed: %s",
                               family->name, family->launch_line[i],
                               groat__launch_names[i], why);
        if (out->of[i] < low || out->of[i] > limits[i])
            return groat__fail(error, GROAT_INVALID,
                               "%s/params.def:%d: launch %s is %lld; "
                               "allowed: %lld..%lld",
                               family->name, family->launch_line[i],
                               groat__launch_names[i], (long long)out->of[i],
                               (long long)low, (long long)limits[i]);
    }
    return GROAT_OK;
}
