/* SPDX-License-Identifier: Apache-2.0
 *
 * family.c reads params.def into tables: parameters with their allowed values,
 * derived constants, rules and launch shape.  Flattening the sources is
 * flatten.c's, checking a spec against the tables param.c's.  Invariant: a
 * loaded family is complete and read-only, so it needs no lock.  The text may
 * be a user's: everything in it is checked, and errors name file and line.
 */
#include "spec/family.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "spec/flatten.h"
#include "spec/render.h"

typedef struct reader {
    groat_family *family;
    const char *name; /* the family's, for messages */
    int line;
    const char *at; /* rest of the line */
    groat_error *error;
} reader;

/* In the order of groat__family_arch_values. */
static const char *const arch_names[GROAT__ARCH_SLOTS] = {
    "arch_wave_lanes",    "arch_shared_bytes", "arch_shared_banks",
    "arch_lds_dma_bytes", "arch_cp_async",     "arch_tma",
    "arch_max_cluster",   "arch_tr_read",      "arch_is_amd",
};

void groat__family_arch_values(const groat__arch *arch, int64_t *values)
{
    values[0] = arch->wave_lanes;
    values[1] = arch->shared_bytes;
    values[2] = arch->shared_banks;
    values[3] = arch->lds_dma_bytes;
    values[4] = arch->cp_async;
    values[5] = arch->tma;
    values[6] = arch->max_cluster;
    values[7] = arch->tr_read;
    values[8] = arch->vendor == GROAT__HIP;
}

static groat_status bad(reader *r, const char *what)
{
    return groat__fail(r->error, GROAT_INVALID,
                       "%s/params.def line %d: %s, at '%.40s'", r->name,
                       r->line, what, r->at);
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

/* The next field up to a blank, malloc'd; NULL at the end of the line. */
static char *take_word(reader *r)
{
    size_t len;
    char *word;

    skip_blanks(r);
    len = strcspn(r->at, " \t");
    if (len == 0)
        return NULL;
    word = strndup(r->at, len);
    r->at += len;
    return word;
}

static char *take_quoted(reader *r)
{
    const char *end;
    char *text;

    skip_blanks(r);
    if (*r->at != '"' || (end = strchr(r->at + 1, '"')) == NULL)
        return NULL;
    text = strndup(r->at + 1, (size_t)(end - r->at - 1));
    r->at = end + 1;
    return text;
}

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text))
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

size_t groat__family_slot(const groat_family *family, const char *name,
                          size_t len)
{
    for (size_t i = 0; i < family->slot_count; i++)
        if (strlen(family->slots[i].name) == len &&
            memcmp(family->slots[i].name, name, len) == 0)
            return i;
    return GROAT__SLOTS;
}

bool groat__slot_allows(const groat__slot *slot, int64_t value)
{
    for (size_t i = 0; i < slot->range_count; i++) {
        const groat__range *range = &slot->ranges[i];

        if (value >= range->low && value <= range->high &&
            (value - range->low) % range->step == 0)
            return true;
    }
    return false;
}

const char *groat__slot_enumerator(const groat__slot *slot, int64_t value)
{
    for (size_t i = 0; i < slot->range_count; i++)
        if (slot->ranges[i].name != NULL && slot->ranges[i].low == value)
            return slot->ranges[i].name;
    return NULL;
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

            if (range->name != NULL && strlen(range->name) == len &&
                memcmp(range->name, name, len) == 0) {
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
        groat__fail(r->error, status, "%s/params.def line %d: %s", r->name,
                    r->line, inner.text);
    groat_error_clear(&inner);
    return status;
}

/* A decimal number of the front of text; *end behind it. */
static bool number(const char *text, char **end, int64_t *out)
{
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

static bool parse_enumerator(char *text, size_t index, groat__range *range)
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
    range->name = strdup(text);
    return range->name != NULL && is_name(text);
}

static groat_status parse_allowed(reader *r, groat__slot *slot)
{
    groat_status status = GROAT_OK;
    char *copy;
    char *save = NULL;

    if (slot->type == GROAT_PARAM_BOOL) {
        slot->ranges[slot->range_count++] = (groat__range){0, 1, 1, NULL};
        return GROAT_OK;
    }
    copy = strdup(slot->allowed);
    if (copy == NULL)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    for (char *item = strtok_r(copy, "|", &save); item != NULL;
         item = strtok_r(NULL, "|", &save)) {
        size_t index = slot->range_count;
        bool fits = index < GROAT__RANGES;

        if (fits && slot->type == GROAT_PARAM_INT)
            fits = parse_int_range(item, &slot->ranges[index]);
        else if (fits)
            fits = parse_enumerator(item, index, &slot->ranges[index]);
        if (index < GROAT__RANGES)
            slot->range_count++;
        if (!fits) {
            status = bad(r, "the allowed values are malformed");
            break;
        }
    }
    if (status == GROAT_OK && slot->range_count == 0)
        status = bad(r, "there are no allowed values");
    free(copy);
    return status;
}

static groat__slot *new_slot(reader *r, char *name)
{
    groat_family *family = r->family;
    groat__slot *slot;

    if (name == NULL || !is_name(name) ||
        groat__family_slot(family, name, strlen(name)) != GROAT__SLOTS ||
        family->slot_count == GROAT__SLOTS) {
        bad(r, name == NULL ? "a name is missing"
                            : "the name is not new, or not a name, or one too "
                              "many");
        free(name);
        return NULL;
    }
    slot = &family->slots[family->slot_count];
    slot->name = name;
    return slot;
}

static bool type_of(const char *word, groat_param_type *type)
{
    static const char *const names[] = {"int", "bool", "enum"};

    for (int i = 0; word != NULL && i < 3; i++)
        if (strcmp(word, names[i]) == 0) {
            *type = (groat_param_type)i;
            return true;
        }
    return false;
}

static groat_status compile_default(reader *r, groat__slot *slot)
{
    const char *text = slot->deflt;

    /* true and false are the words a person writes for a bool. */
    if (slot->type == GROAT_PARAM_BOOL && strcmp(text, "true") == 0)
        text = "1";
    else if (slot->type == GROAT_PARAM_BOOL && strcmp(text, "false") == 0)
        text = "0";
    return compile(r, text, strlen(text), &slot->expr);
}

static groat_status read_param(reader *r)
{
    groat__slot *slot = new_slot(r, take_word(r));
    char *type;
    bool known;
    groat_status status;

    if (slot == NULL)
        return GROAT_INVALID;
    slot->is_param = true;
    r->family->slot_count++; /* now family_free sees it */
    type = take_word(r);
    known = type_of(type, &slot->type);
    free(type);
    if (!known)
        return bad(r, "the type must be int, bool or enum");
    slot->allowed = take_word(r);
    slot->deflt = take_word(r);
    slot->unit = take_word(r);
    slot->meaning = take_quoted(r);
    if (slot->meaning == NULL)
        return bad(r, "allowed values, default, unit and \"meaning\" expected");
    status = parse_allowed(r, slot);
    if (status != GROAT_OK)
        return status;
    r->family->params[r->family->param_count++] = r->family->slot_count - 1;
    return compile_default(r, slot);
}

static groat_status read_derive(reader *r)
{
    groat__slot *slot = new_slot(r, take_word(r));
    const char *semi;
    groat_status status;

    if (slot == NULL)
        return GROAT_INVALID;
    skip_blanks(r);
    semi = strchr(r->at, ';');
    if (*r->at != '=' || semi == NULL) {
        free(slot->name);
        slot->name = NULL;
        return bad(r, "'= expression ; unit \"meaning\"' expected");
    }
    status = compile(r, r->at + 1, (size_t)(semi - r->at - 1), &slot->expr);
    r->family->slot_count++;
    if (status != GROAT_OK)
        return status;
    r->at = semi + 1;
    slot->unit = take_word(r);
    slot->meaning = take_quoted(r);
    return slot->meaning != NULL ? GROAT_OK : bad(r, "unit and \"meaning\"");
}

static groat_status read_rule(reader *r)
{
    groat_family *family = r->family;
    const char *semi;
    groat__rule *rule;

    skip_blanks(r);
    semi = strchr(r->at, ';');
    if (semi == NULL || family->rule_count == GROAT__RULES)
        return bad(r, "'expression ; \"reason\"' expected (64 rules at most)");
    rule = &family->rules[family->rule_count++];
    rule->text = strndup(r->at, (size_t)(semi - r->at));
    if (rule->text == NULL)
        return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
    r->at = semi + 1;
    rule->reason = take_quoted(r);
    if (rule->reason == NULL)
        return bad(r, "a \"reason\" expected");
    return compile(r, rule->text, strlen(rule->text), &rule->expr);
}

static groat_status read_launch(reader *r)
{
    static const char *const names[GROAT__LAUNCH_VALUES] = {
        "block_x",   "block_y",   "block_z", "cluster_x",
        "cluster_y", "cluster_z", "shared",  "args"};
    char *name = take_word(r);
    size_t index = 0;

    while (name != NULL && index < GROAT__LAUNCH_VALUES &&
           strcmp(name, names[index]) != 0)
        index++;
    free(name);
    skip_blanks(r);
    if (name == NULL || index == GROAT__LAUNCH_VALUES || *r->at != '=' ||
        r->family->has_launch[index])
        return bad(r, "block_*, cluster_*, shared or args, once, with '='");
    r->family->has_launch[index] = true;
    return compile(r, r->at + 1, strlen(r->at + 1), &r->family->launch[index]);
}

static groat_status read_once(reader *r, char **field, char *value)
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
    if (status == GROAT_OK && strcmp(r->family->name, r->name) != 0)
        status = bad(r, "the family's name is not its folder's");
    return status;
}

static groat_status read_line(reader *r)
{
    groat_status status;
    char *word = take_word(r);

    if (word == NULL || word[0] == '#')
        status = GROAT_OK;
    else if (strcmp(word, "family") == 0)
        status = read_head(r);
    else if (strcmp(word, "param") == 0)
        status = read_param(r);
    else if (strcmp(word, "derive") == 0)
        status = read_derive(r);
    else if (strcmp(word, "rule") == 0)
        status = read_rule(r);
    else if (strcmp(word, "launch") == 0)
        status = read_launch(r);
    else if (strcmp(word, "entry") == 0)
        status = read_once(r, &r->family->entry, take_word(r));
    else
        status =
            bad(r, "family, param, derive, rule, launch or entry expected");
    free(word);
    return status;
}

static groat_status read_lines(reader *r, const char *text)
{
    groat_status status = GROAT_OK;

    while (*text != '\0' && status == GROAT_OK) {
        size_t len = strcspn(text, "\n");
        char *line = strndup(text, len);

        if (line == NULL)
            return groat__fail(r->error, GROAT_NO_MEMORY, "no memory");
        r->line++;
        r->at = line;
        status = read_line(r);
        free(line);
        text += len + (text[len] == '\n');
    }
    return status;
}

static groat_status add_arch_slots(groat_family *family, groat_error *error)
{
    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++) {
        family->slots[i].name = strdup(arch_names[i]);
        if (family->slots[i].name == NULL)
            return groat__fail(error, GROAT_NO_MEMORY, "no memory");
        family->slot_count++;
    }
    return GROAT_OK;
}

static groat_status read_params(groat_family *family, const char *name,
                                const char *text, groat_error *error)
{
    reader r = {family, name, 0, "", error};
    groat_status status = add_arch_slots(family, error);

    if (status == GROAT_OK)
        status = read_lines(&r, text);
    if (status != GROAT_OK)
        return status;
    if (family->name == NULL || family->entry == NULL ||
        !family->has_launch[GROAT__BLOCK_X] || !family->has_launch[GROAT__ARGS])
        return groat__fail(error, GROAT_INVALID,
                           "%s/params.def: lines 'family', 'entry', 'launch "
                           "block_x' and 'launch args' must be there",
                           name);
    return GROAT_OK;
}

groat_status groat__family_load(const char *name, groat__file_fn *read,
                                void *user, groat_family **out,
                                groat_error *error)
{
    groat_family *family = calloc(1, sizeof(*family));
    groat__str path = {0};
    groat_status status;
    const char *text;

    if (family == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    groat__str_addf(&path, "%s/params.def", name);
    text = path.failed ? NULL : read(user, path.data);
    if (text == NULL)
        status = groat__fail(error, GROAT_INVALID,
                             "family '%.64s' has no params.def", name);
    else
        status = read_params(family, name, text, error);
    if (status == GROAT_OK)
        status = groat__flatten(family, read, user, error);
    if (status == GROAT_OK)
        status = groat__render_closure(family, text, error);
    groat__str_free(&path);
    if (status != GROAT_OK) {
        groat__family_free(family);
        return status;
    }
    *out = family;
    return GROAT_OK;
}

static void free_slot(groat__slot *slot)
{
    free(slot->name);
    free(slot->allowed);
    free(slot->deflt);
    free(slot->unit);
    free(slot->meaning);
    for (size_t i = 0; i < slot->range_count; i++)
        free(slot->ranges[i].name);
    groat__expr_free(&slot->expr);
}

void groat__family_free(groat_family *family)
{
    if (family == NULL)
        return;
    for (size_t i = 0; i < family->slot_count; i++)
        free_slot(&family->slots[i]);
    for (size_t i = 0; i < family->rule_count; i++) {
        free(family->rules[i].text);
        free(family->rules[i].reason);
        groat__expr_free(&family->rules[i].expr);
    }
    for (size_t i = 0; i < GROAT__LAUNCH_VALUES; i++)
        groat__expr_free(&family->launch[i]);
    free(family->name);
    free(family->summary);
    free(family->entry);
    free(family->before);
    free(family->after);
    free(family);
}

const char *groat_family_name(const groat_family *family)
{
    return family->name;
}

const char *groat_family_summary(const groat_family *family)
{
    return family->summary;
}

size_t groat_family_param_count(const groat_family *family)
{
    return family->param_count;
}

groat_status groat_family_param(const groat_family *family, size_t index,
                                groat_param_info *info)
{
    const groat__slot *slot;

    if (index >= family->param_count || info->size < sizeof(*info))
        return GROAT_INVALID;
    slot = &family->slots[family->params[index]];
    info->name = slot->name;
    info->type = slot->type;
    info->allowed = slot->type == GROAT_PARAM_BOOL ? "0|1" : slot->allowed;
    info->deflt = slot->deflt;
    info->unit = slot->unit;
    info->meaning = slot->meaning;
    return GROAT_OK;
}

size_t groat_family_rule_count(const groat_family *family)
{
    return family->rule_count;
}

groat_status groat_family_rule(const groat_family *family, size_t index,
                               const char **rule, const char **reason)
{
    if (index >= family->rule_count)
        return GROAT_INVALID;
    *rule = family->rules[index].text;
    *reason = family->rules[index].reason;
    return GROAT_OK;
}
