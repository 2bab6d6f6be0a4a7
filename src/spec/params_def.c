/* SPDX-License-Identifier: Apache-2.0
 *
 * params_def.c reads params.def into a family's tables.  The text may be a
 * user's: everything in it is checked, and errors name file and line.
 */
#include "spec/params_def.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "spec/code.h"

enum { PRESETS_MAX = 96 };

/* A line that gives parameters below it other defaults. */
typedef struct preset {
    char *condition;
    char *values;  /* "BM=128 slots=4" */
    size_t unused; /* values whose parameter has not been read yet */
    int line;
} preset;

typedef struct reader {
    groat_family *family;
    groat__range *ranges; /* of the parameter that is being read */
    preset presets[PRESETS_MAX];
    size_t preset_count;
    const char *name; /* the family's name, for messages */
    int line;
    int entry_line;
    const char *at;    /* rest of the line */
    const char *field; /* the last field read, for messages */
    bool starved;      /* out of memory: a NULL field means nothing */
    groat_error *error;
} reader;

/* malloc'd, or NULL. */
static char *copy(reader *r, const char *text, size_t len)
{
    char *own = strndup(text, len);

    r->starved = r->starved || own == NULL;
    return own;
}

GROAT_PRINTF(2, 3)
static groat_status bad(reader *r, const char *format, ...)
{
    char what[200];
    va_list args;

    if (r->starved)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory for a family");
    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return groat__fail(r->error, GROAT_INVALID,
                       "%s/params.def:%d: %s, at '%.40s'", r->name, r->line,
                       what, r->field);
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

/* Returns the length of a value; a blank outside of parentheses ends it. */
static size_t value_length(const char *at)
{
    size_t len = 0;
    int depth = 0;

    for (;
         at[len] != '\0' && (depth > 0 || (at[len] != ' ' && at[len] != '\t'));
         len++)
        depth += (at[len] == '(') - (at[len] == ')');
    return depth > 0 ? strcspn(at, " \t") : len;
}

/* Takes the next len bytes, malloc'd; NULL if there are none. */
static char *take(reader *r, size_t len)
{
    char *word;

    r->field = r->at;
    if (len == 0)
        return NULL;
    word = copy(r, r->at, len);
    if (word != NULL)
        r->at += len;
    return word;
}

/* Reads the next field, malloc'd; NULL at the line's end. */
static char *take_word(reader *r)
{
    skip_blanks(r);
    return take(r, strcspn(r->at, " \t"));
}

/* Reads a value or an expression in parentheses, malloc'd. */
static char *take_value(reader *r)
{
    skip_blanks(r);
    return take(r, value_length(r->at));
}

static char *take_quoted(reader *r)
{
    const char *end;
    char *text;

    skip_blanks(r);
    r->field = r->at;
    if (*r->at != '"' || (end = strchr(r->at + 1, '"')) == NULL)
        return NULL;
    text = copy(r, r->at + 1, (size_t)(end - r->at - 1));
    r->at = end + 1;
    return text;
}

static bool find_name(void *user, const char *name, size_t len,
                      groat__name *out)
{
    const groat_family *family = user;
    size_t slot = groat__family_slot(family, name, len);

    if (slot != GROAT__SLOTS) {
        *out = (groat__name){false, (int64_t)slot};
        return true;
    }
    for (size_t i = 0; i < family->slot_count; i++)
        for (size_t k = 0; k < family->slots[i].range_count; k++) {
            const groat__range *range = &family->slots[i].ranges[k];

            if (range->name != NULL && groat__is_text(name, len, range->name)) {
                *out = (groat__name){true, range->low};
                return true;
            }
        }
    return false;
}

static groat_status compile(reader *r, const char *text, size_t len,
                            groat__expr *out)
{
    groat_error inner = GROAT_ERROR_INIT;
    groat_status status =
        groat__expr_compile(text, len, find_name, r->family, out, &inner);

    if (status != GROAT_OK)
        groat__fail(r->error, status, "%s/params.def:%d: %s", r->name, r->line,
                    inner.text);
    groat_error_clear(&inner);
    return status;
}

/* Parses a decimal number at the start of text; *end points after it. */
static bool number(const char *text, char **end, int64_t *out)
{
    if (!groat__is_digit(text[*text == '-']))
        return false; /* strtoll would take blanks and a plus */
    errno = 0;
    *out = strtoll(text, end, 10);
    return errno == 0 && *end != text;
}

static bool parse_int_range(const char *text, groat__range *range)
{
    char *end;

    range->step = 1;
    if (!number(text, &end, &range->low))
        return false;
    range->high = range->low;
    if (strncmp(end, "..", 2) == 0 && !number(end + 2, &end, &range->high))
        return false;
    if (*end == '/' && !number(end + 1, &end, &range->step))
        return false;
    return *end == '\0' && range->low <= range->high && range->step > 0 &&
           range->low >= INT32_MIN && range->high <= INT32_MAX;
}

static bool parse_enumerator(reader *r, char *text, size_t index,
                             groat__range *range)
{
    char *equals = strchr(text, '=');
    char *end;

    range->low = (int64_t)index;
    if (equals != NULL) {
        *equals = '\0';
        if (!number(equals + 1, &end, &range->low) || *end != '\0')
            return false;
    }
    range->high = range->low;
    range->step = 1;
    range->name = copy(r, text, strlen(text));
    return range->name != NULL && groat__is_name(text) &&
           range->low >= INT32_MIN && range->low <= INT32_MAX;
}

/* An enumerator has one value in all parameters, and no constant's name. */
static bool is_unambiguous(const groat_family *family, const groat__slot *slot,
                           const groat__range *range)
{
    size_t len = strlen(range->name);

    if (groat__family_slot(family, range->name, len) != GROAT__SLOTS)
        return false;
    for (size_t i = 0; i < family->slot_count; i++)
        for (size_t k = 0; k < family->slots[i].range_count; k++) {
            const groat__range *other = &family->slots[i].ranges[k];

            if (other->name != NULL && strcmp(other->name, range->name) == 0 &&
                (&family->slots[i] == slot || other->low != range->low))
                return false;
        }
    return true;
}

/* strtok skips the empty items of "1||2" and "|1". */
static bool has_empty_item(const char *list)
{
    size_t len = strlen(list);

    return list[0] == '|' || list[len - 1] == '|' || strstr(list, "||") != NULL;
}

/* For type code; the slot's value is the length of the text. */
static groat_status parse_inputs(reader *r, groat__slot *slot)
{
    groat__code code;

    r->ranges[slot->range_count++] =
        (groat__range){0, GROAT__CODE_BYTES - 1, 1, NULL};
    if (r->family->code != 0)
        return bad(r, "a family has one parameter of type code");
    r->family->code = (size_t)(slot - r->family->slots);
    return groat__code_inputs(slot->allowed, &code)
               ? GROAT_OK
               : bad(r, "up to %d inputs expected, as in score:float|q_pos:int",
                     GROAT__CODE_INPUTS);
}

static groat_status bad_allowed(reader *r, const groat__slot *slot)
{
    return bad(r, "the allowed values are malformed: %s",
               slot->type == GROAT_PARAM_INT
                   ? "VALUE, LOW..HIGH or LOW..HIGH/STEP, LOW <= HIGH and STEP "
                     ">= 1, expected between |"
                   : "NAME or NAME=VALUE expected between |, not a name that "
                     "means another value");
}

static groat_status parse_allowed(reader *r, groat__slot *slot)
{
    groat_status status = GROAT_OK;
    char *list;
    char *save = NULL;

    if (slot->type == GROAT_PARAM_BOOL) {
        r->ranges[slot->range_count++] = (groat__range){0, 1, 1, NULL};
        return strcmp(slot->allowed, "-") == 0
                   ? GROAT_OK
                   : bad(r, "the allowed values of a bool are '-'");
    }
    if (slot->type == GROAT_PARAM_CODE)
        return parse_inputs(r, slot);
    if (has_empty_item(slot->allowed))
        return bad_allowed(r, slot);
    list = copy(r, slot->allowed, strlen(slot->allowed));
    if (list == NULL)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    for (char *item = strtok_r(list, "|", &save); item != NULL;
         item = strtok_r(NULL, "|", &save)) {
        size_t index = slot->range_count;
        bool fits;

        if (index == GROAT__RANGES) {
            status = bad(r, "more than %d allowed values", GROAT__RANGES);
            break;
        }
        if (slot->type == GROAT_PARAM_INT)
            fits = parse_int_range(item, &r->ranges[index]);
        else
            fits = parse_enumerator(r, item, index, &r->ranges[index]) &&
                   is_unambiguous(r->family, slot, &r->ranges[index]);
        slot->range_count++;
        if (!fits) {
            status = bad_allowed(r, slot);
            break;
        }
    }
    free(list);
    return status;
}

static groat_status new_slot(reader *r, groat__slot **out)
{
    groat_family *family = r->family;
    char *name = take_word(r);
    groat_status status = GROAT_OK;
    groat__name found;

    if (!groat__is_name(name))
        status = bad(r, "a name expected");
    else if (groat__is_keyword(name))
        status = bad(r, "the name is a word of C++");
    else if (find_name(family, name, strlen(name), &found))
        status = bad(r, "the name is taken");
    else if (strcmp(name, r->name) == 0)
        status = bad(r, "the name is the family's, which is the namespace of "
                        "its kernel");
    else if (family->slot_count == GROAT__SLOTS)
        status = bad(r, "more than %d parameters and derived constants",
                     GROAT__SLOTS - GROAT__ARCH_SLOTS);
    if (status != GROAT_OK) {
        free(name);
        return status;
    }
    *out = &family->slots[family->slot_count];
    (*out)->name = name;
    (*out)->line = r->line;
    return GROAT_OK;
}

static bool type_of(const char *word, groat_param_type *type)
{
    static const char *const names[] = {"int", "bool", "enum", "code"};

    for (int i = 0; word != NULL && i < 4; i++)
        if (strcmp(word, names[i]) == 0) {
            *type = (groat_param_type)i;
            return true;
        }
    return false;
}

/* true and false are accepted for a bool. */
static const char *number_text(const groat__slot *slot, const char *text)
{
    if (slot->type == GROAT_PARAM_BOOL && strcmp(text, "true") == 0)
        return "1";
    if (slot->type == GROAT_PARAM_BOOL && strcmp(text, "false") == 0)
        return "0";
    return text;
}

static bool is_input(const groat__slot *slot)
{
    groat__code code;

    return groat__code_parse(slot->allowed, slot->deflt, strlen(slot->deflt),
                             &code, NULL) == GROAT_OK &&
           code.count == 1 && code.nodes[0].op == GROAT__CODE_INPUT;
}

static groat_status bad_value(reader *r, const groat__slot *slot)
{
    return bad(r, "the value is %.40s, allowed are %.100s", slot->deflt,
               slot->type == GROAT_PARAM_BOOL ? "0|1" : slot->allowed);
}

static bool is_enumerator(const groat__slot *slot, const char *name)
{
    for (size_t k = 0; k < slot->range_count; k++)
        if (strcmp(slot->ranges[k].name, name) == 0)
            return true;
    return false;
}

static groat_status compile_default(reader *r, groat__slot *slot)
{
    const char *text = number_text(slot, slot->deflt);

    if (slot->type == GROAT_PARAM_CODE)
        return is_input(slot) ? compile(r, "0", 1, &slot->expr)
                              : bad(r, "the default must be one of the inputs");
    if (slot->type == GROAT_PARAM_ENUM && groat__is_name(text) &&
        !is_enumerator(slot, text))
        return bad_value(r, slot);
    return compile(r, text, strlen(text), &slot->expr);
}

/* A default that names other constants must be in parentheses; a plain one must
 * be an allowed value. */
static groat_status check_default(reader *r, const groat__slot *slot)
{
    bool plain = slot->deflt[0] != '(';
    int64_t value = 0;
    const char *why;

    for (size_t i = 0; i < slot->expr.count; i++) {
        const groat__step *step = &slot->expr.steps[i];

        if (groat__expr_is_slot(step) &&
            (plain || &r->family->slots[step->value] == slot))
            return bad(r, "a value, or an expression in parentheses over what "
                          "stands above, expected");
    }
    if (plain && (!groat__expr_eval(&slot->expr, NULL, &value, &why) ||
                  !groat__slot_allows(slot, value)))
        return bad_value(r, slot);
    return GROAT_OK;
}

/* Copies the value that the preset gives the parameter; NULL: none. */
static char *preset_value(reader *r, const preset *from, const char *name)
{
    size_t len = strlen(name);
    const char *at = from->values;

    for (; *at != '\0'; at += strcspn(at, " \t")) {
        at += strspn(at, " \t");
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return copy(r, at + len + 1, strcspn(at + len + 1, " \t"));
    }
    return NULL;
}

/* Appends "(condition)?value:" if the preset gives an allowed value. */
static groat_status add_preset(reader *r, preset *from, groat__slot *slot,
                               groat__str *text)
{
    char *value = preset_value(r, from, slot->name);
    groat__slot trial = {
        .name = slot->name, .type = slot->type, .allowed = slot->allowed};
    const char *field = r->field;
    int line = r->line;
    groat_status status;

    if (value == NULL)
        return r->starved ? bad(r, "no memory") : GROAT_OK;
    trial.deflt = value;
    trial.ranges = slot->ranges;
    trial.range_count = slot->range_count;
    r->field = value;
    r->line = from->line;
    status = compile_default(r, &trial);
    if (status == GROAT_OK)
        status = check_default(r, &trial);
    if (status == GROAT_OK)
        groat__str_addf(text, "(%s)?%s:", from->condition,
                        number_text(slot, value));
    from->unused--;
    r->field = field;
    r->line = line;
    groat__expr_free(&trial.expr);
    free(value);
    return status;
}

/* Puts the presets that name the slot before its own default, the first one
 * first: one expression, as a family's author would write it by hand. */
static groat_status add_presets(reader *r, groat__slot *slot)
{
    groat__str text = {0};
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < r->preset_count && status == GROAT_OK; i++)
        if (r->presets[i].unused > 0)
            status = add_preset(r, &r->presets[i], slot, &text);
    if (status == GROAT_OK && (text.len > 0 || text.failed)) {
        const char *own = slot->deflt;
        groat__str whole = {0};

        groat__str_addf(&whole, "(%s%s)", text.failed ? "" : text.data,
                        number_text(slot, own));
        r->starved = r->starved || text.failed || whole.failed;
        groat__expr_free(&slot->expr);
        slot->deflt = r->starved ? NULL : strdup(whole.data);
        r->starved = r->starved || slot->deflt == NULL;
        status = r->starved ? bad(r, "no memory") : compile_default(r, slot);
        if (status == GROAT_OK)
            status = check_default(r, slot);
        groat__str_free(&whole);
        free((void *)(uintptr_t)own);
    }
    groat__str_free(&text);
    return status;
}

static groat_status read_values(reader *r, groat__slot *slot)
{
    const char *allowed_at;
    const char *default_at;
    groat_status status;

    slot->allowed = take_word(r);
    allowed_at = r->field;
    slot->deflt = take_value(r);
    default_at = r->field;
    slot->unit = take_word(r);
    slot->meaning = take_quoted(r);
    if (slot->allowed == NULL || slot->deflt == NULL || slot->unit == NULL ||
        slot->meaning == NULL)
        return bad(r,
                   "allowed values, default, unit and \"meaning\" of %.64s "
                   "expected",
                   slot->name);
    r->field = allowed_at;
    status = parse_allowed(r, slot);
    r->field = default_at;
    if (status == GROAT_OK)
        status = compile_default(r, slot);
    if (status == GROAT_OK)
        status = check_default(r, slot);
    return status == GROAT_OK && slot->type != GROAT_PARAM_CODE
               ? add_presets(r, slot)
               : status;
}

static groat_status read_param(reader *r)
{
    groat__slot *slot = NULL;
    char *type;
    bool known;
    groat_status status = new_slot(r, &slot);

    if (status != GROAT_OK)
        return status;
    slot->is_param = true;
    r->family->slot_count++; /* now family_free sees it */
    slot->ranges = r->ranges = calloc(GROAT__RANGES, sizeof(*r->ranges));
    if (r->ranges == NULL)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    type = take_word(r);
    known = type_of(type, &slot->type);
    free(type);
    if (!known)
        return bad(r, "the type must be int, bool, enum or code");
    status = read_values(r, slot);
    if (status == GROAT_OK)
        r->family->params[r->family->param_count++] = r->family->slot_count - 1;
    return status;
}

/* Copies the text between two places without leading and trailing blanks. */
static char *copy_trimmed(reader *r, const char *from, const char *end)
{
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return copy(r, from, (size_t)(end - from));
}

/* Counts the values; false if one is not NAME=VALUE. */
static bool count_values(preset *to)
{
    const char *at = to->values + strspn(to->values, " \t");

    for (; *at != '\0'; at += strspn(at, " \t")) {
        size_t len = strcspn(at, " \t");
        size_t name = strcspn(at, "= \t");

        if (name == 0 || name + 1 >= len)
            return false;
        to->unused++;
        at += len;
    }
    return to->unused > 0;
}

static groat_status read_preset(reader *r)
{
    groat__expr expr = {0};
    const char *semi;
    groat_status status;
    preset *to;

    skip_blanks(r);
    semi = strchr(r->at, ';');
    if (semi == NULL || r->preset_count == PRESETS_MAX)
        return bad(r,
                   "'expression ; name=value ...' expected (%d presets at "
                   "most)",
                   PRESETS_MAX);
    to = &r->presets[r->preset_count++];
    to->line = r->line;
    to->condition = copy_trimmed(r, r->at, semi);
    r->at = r->field = semi + 1;
    to->values = copy(r, r->at, strlen(r->at));
    if (r->starved || !count_values(to))
        return bad(r, "'name=value ...' expected");
    r->at += strlen(r->at);
    status = compile(r, to->condition, strlen(to->condition), &expr);
    groat__expr_free(&expr);
    return status;
}

/* Every value of a preset must have met its parameter. */
static groat_status check_presets(reader *r)
{
    for (size_t i = 0; i < r->preset_count; i++)
        if (r->presets[i].unused > 0) {
            r->line = r->presets[i].line;
            r->field = r->presets[i].values;
            return bad(r, "names of parameters of type int, bool or enum "
                          "expected that stand below, each once");
        }
    return GROAT_OK;
}

static void free_presets(reader *r)
{
    for (size_t i = 0; i < r->preset_count; i++) {
        free(r->presets[i].condition);
        free(r->presets[i].values);
    }
}

static groat_status read_derive(reader *r)
{
    groat__slot *slot = NULL;
    const char *semi;
    groat_status status = new_slot(r, &slot);

    if (status != GROAT_OK)
        return status;
    skip_blanks(r);
    semi = strchr(r->at, ';');
    if (*r->at != '=' || semi == NULL) {
        free((void *)(uintptr_t)slot->name);
        slot->name = NULL;
        return bad(r, "'= expression ; unit \"meaning\"' expected after the "
                      "name, without a type");
    }
    status = compile(r, r->at + 1, (size_t)(semi - r->at - 1), &slot->expr);
    r->family->derived[r->family->derived_count++] = r->family->slot_count++;
    slot->deflt = copy_trimmed(r, r->at + 1, semi);
    if (status != GROAT_OK)
        return status;
    r->at = semi + 1;
    slot->unit = take_word(r);
    slot->meaning = take_quoted(r);
    if (slot->deflt == NULL || slot->unit == NULL || slot->meaning == NULL)
        return bad(r, "unit and \"meaning\" of %.64s expected", slot->name);
    return GROAT_OK;
}

/* Reads any number of "; breaks TARGET name=value,..." and "; follows NAME
 * ...": values that break the rule (proofs.c), and parameters whose allowed
 * values imply it (a test). */
static groat_status read_proofs(reader *r, groat__rule *rule)
{
    const char *at = r->at;

    for (skip_blanks(r); *r->at == ';'; skip_blanks(r)) {
        char *word;
        bool known;

        r->at++;
        word = take_word(r);
        known = word != NULL &&
                (strcmp(word, "breaks") == 0 || strcmp(word, "follows") == 0);
        free(word);
        skip_blanks(r);
        if (!known || *r->at == '\0' || *r->at == ';')
            return bad(r, "'breaks TARGET name=value,...' or 'follows NAME "
                          "...' expected");
        r->at += strcspn(r->at, ";");
    }
    rule->proofs = copy(r, at, (size_t)(r->at - at));
    return rule->proofs == NULL ? bad(r, "no memory") : GROAT_OK;
}

static groat_status read_rule(reader *r)
{
    groat_family *family = r->family;
    groat_status status;
    const char *semi;
    groat__rule *rule;
    size_t len;

    skip_blanks(r);
    semi = strchr(r->at, ';');
    if (semi == NULL || family->rule_count == GROAT__RULES)
        return bad(r, "'expression ; \"reason\"' expected (%d rules at most)",
                   GROAT__RULES);
    rule = &family->rules[family->rule_count++];
    rule->line = r->line;
    len = (size_t)(semi - r->at);
    while (len > 0 && (r->at[len - 1] == ' ' || r->at[len - 1] == '\t'))
        len--;
    rule->text = copy(r, r->at, len);
    if (rule->text == NULL)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    r->at = semi + 1;
    rule->reason = take_quoted(r);
    if (rule->reason == NULL)
        return bad(r, "a \"reason\" expected");
    status = read_proofs(r, rule);
    return status != GROAT_OK
               ? status
               : compile(r, rule->text, strlen(rule->text), &rule->expr);
}

static groat_status read_launch(reader *r)
{
    char *name = take_word(r);
    const char *expression;
    size_t index = 0;

    while (name != NULL && index < GROAT__LAUNCH_VALUES &&
           strcmp(name, groat__launch_names[index]) != 0)
        index++;
    if (name == NULL)
        index = GROAT__LAUNCH_VALUES;
    free(name);
    skip_blanks(r);
    if (index == GROAT__LAUNCH_VALUES || *r->at != '=' ||
        r->family->has_launch[index])
        return bad(r, "block_*, cluster_*, shared, args or overlap, once, "
                      "with '='");
    r->family->has_launch[index] = true;
    r->family->launch_line[index] = r->line;
    expression = r->at + 1;
    r->at += strlen(r->at);
    return compile(r, expression, strlen(expression),
                   &r->family->launch[index]);
}

static groat_status read_once(reader *r, const char **field, char *value)
{
    if (value == NULL || *field != NULL) {
        free(value);
        return bad(r, "a value, once, expected");
    }
    *field = value;
    return GROAT_OK;
}

static groat_status read_head(reader *r)
{
    groat_status status = read_once(r, &r->family->name, take_word(r));

    if (status == GROAT_OK)
        status = read_once(r, &r->family->summary, take_quoted(r));
    if (status == GROAT_OK && (strcmp(r->family->name, r->name) != 0 ||
                               !groat__is_name(r->family->name)))
        status = bad(r,
                     "the family's name, '%.48s', is not its folder's, '%s', "
                     "or not lower-case letters, digits and '_'",
                     r->family->name, r->name);
    return status;
}

static groat_status read_fields(reader *r, const char *word)
{
    if (strcmp(word, "family") == 0)
        return read_head(r);
    if (strcmp(word, "param") == 0)
        return read_param(r);
    if (strcmp(word, "derive") == 0)
        return read_derive(r);
    if (strcmp(word, "preset") == 0)
        return read_preset(r);
    if (strcmp(word, "rule") == 0)
        return read_rule(r);
    if (strcmp(word, "launch") == 0)
        return read_launch(r);
    if (strcmp(word, "entry") != 0)
        return bad(r, "family, param, derive, preset, rule, launch or entry "
                      "expected");
    r->entry_line = r->line;
    return read_once(r, &r->family->entry, take_word(r));
}

/* Texts become comments of the generated source: a line break, or a backslash
 * before one, could swallow the next constant or inject code. */
static bool is_plain(const char *line)
{
    size_t len;

    for (; *line != '\0'; line += len) {
        len = groat__utf8_len(line);
        if (len == 0 || ((unsigned char)*line < ' ' && *line != '\t') ||
            *line == 0x7f || *line == '\\')
            return false;
    }
    return true;
}

static groat_status read_line(reader *r)
{
    char *word = take_word(r);
    groat_status status = GROAT_OK;

    if (word == NULL && *r->at != '\0')
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    if (word == NULL || word[0] == '#')
        goto free_word;
    if (is_plain(r->field))
        status = read_fields(r, word);
    else
        status = bad(r, "control characters, backslashes and what is no UTF-8 "
                        "are not allowed");
    skip_blanks(r);
    if (status == GROAT_OK && *r->at != '\0') {
        r->field = r->at;
        status = bad(r, "the end of the line expected");
    }
free_word:
    free(word);
    return status;
}

/* "name_{param}_x" must be an identifier once the values are filled in. */
static groat_status check_entry(reader *r)
{
    const groat_family *family = r->family;
    const char *at = family->entry;
    bool good = groat__is_letter(*at) || *at == '_';

    r->line = r->entry_line;
    while (good && *at != '\0') {
        size_t len = strcspn(at, "}");

        if (*at == '{' && at[len] == '}') {
            r->field = at + 1;
            if (groat__family_slot(family, at + 1, len - 1) == GROAT__SLOTS)
                return bad(r, "the family has no such constant");
            at += len;
        } else {
            good = groat__is_word(*at);
        }
        at++;
    }
    r->field = family->entry;
    if (groat__is_keyword(family->entry) || strcmp(family->entry, "main") == 0)
        return bad(r, "the name is a word of C++");
    return good ? GROAT_OK
                : bad(r, "letters, digits, '_' and {constant} expected");
}

static groat_status read_lines(reader *r, const char *text)
{
    groat_status status = GROAT_OK;

    while (*text != '\0' && status == GROAT_OK) {
        size_t len = strcspn(text, "\n");
        char *line = strndup(text, len - (len > 0 && text[len - 1] == '\r'));

        if (line == NULL)
            return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
        r->line++;
        r->at = line;
        r->field = line;
        status = read_line(r);
        free(line);
        text += len + (text[len] == '\n');
    }
    return status;
}

static groat_status add_arch_slots(groat_family *family, groat_error *error)
{
    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++) {
        family->slots[i].name = strdup(groat__arch_names[i]);
        if (family->slots[i].name == NULL)
            return groat__fail(error, GROAT_NO_MEMORY, "no memory");
        family->slot_count++;
    }
    return GROAT_OK;
}

groat_status groat__params_def_read(groat_family *family, const char *name,
                                    const char *text, groat_error *error)
{
    reader r = {
        .family = family, .name = name, .at = "", .field = "", .error = error};
    groat_status status = add_arch_slots(family, error);
    const char *missing;

    if (status == GROAT_OK)
        status = read_lines(&r, groat__skip_mark(text));
    if (status == GROAT_OK)
        status = check_presets(&r);
    free_presets(&r);
    if (status != GROAT_OK)
        return status;
    missing = family->name == NULL                  ? "family"
              : family->entry == NULL               ? "entry"
              : !family->has_launch[GROAT__BLOCK_X] ? "launch block_x"
              : !family->has_launch[GROAT__ARGS]    ? "launch args"
                                                    : NULL;
    if (missing != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "%s/params.def: there is no line '%s'", name,
                           missing);
    return check_entry(&r);
}
