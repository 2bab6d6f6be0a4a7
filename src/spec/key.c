/* SPDX-License-Identifier: Apache-2.0
 *
 * key.c is the one place where keys are made: the library, the command line
 * and every later tool call it.  The text has the closure of our sources, every
 * parameter, the target with every number of its arch that a kernel can see,
 * and the compiler by version, build id and options.  No state.
 */
#include "spec/key.h"

#include <string.h>

#include "base/error.h"

static bool keep(groat__str *text, const char **out, size_t *len)
{
    *len = text->len;
    *out = groat__str_take(text);
    return *out != NULL;
}

static bool prepare_slot(groat__slot *slot, size_t index)
{
    groat__str lead = {0};

    if (index >= GROAT__ARCH_SLOTS && !slot->is_param)
        return true; /* derived constants follow from the parameters */
    if (slot->is_param)
        groat__str_addf(&lead, "param %s ", slot->name);
    else
        groat__str_addf(&lead, " %s=", slot->name);
    return keep(&lead, &slot->lead, &slot->lead_len);
}

groat_status groat__key_prepare(groat_family *family, groat_error *error)
{
    groat__str head = {0};
    bool kept;

    groat__str_addf(&head, "groat-identity 1\nfamily %s closure ",
                    family->name);
    kept = keep(&head, &family->head, &family->head_len);
    for (size_t i = 0; i < family->slot_count && kept; i++)
        kept = prepare_slot(&family->slots[i], i);
    return kept ? GROAT_OK
                : groat__fail(error, GROAT_NO_MEMORY, "no memory for keys");
}

void groat__key_identity(const groat__params *params, const char *compiler,
                         groat__str *out)
{
    const groat_family *family = params->family;

    groat__str_addn(out, family->head, family->head_len);
    groat__str_add(out, family->closure.of[params->target.backend]);
    groat__str_addn(out, "\n", 1);
    for (size_t i = 0; i < family->param_count; i++) {
        const groat__slot *slot = &family->slots[family->params[i]];

        groat__str_addn(out, slot->lead, slot->lead_len);
        groat__params_value_text(params, family->params[i], out);
        groat__str_addn(out, "\n", 1);
    }
    groat__str_addn(out, "target ", 7);
    groat__str_add(out, params->target.text);
    groat__str_addn(out, "\narch", 5);
    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++) {
        const groat__slot *slot = &family->slots[i];

        groat__str_addn(out, slot->lead, slot->lead_len);
        groat__str_add_int(out, params->values[i]);
    }
    groat__str_addn(out, "\n", 1);
    groat__str_add(out, compiler);
}

/* The rest of a text that starts with `first`; else NULL. */
static const char *behind(const char *line, const char *first)
{
    size_t len = strlen(first);

    return strncmp(line, first, len) == 0 ? line + len : NULL;
}

/* Of the line of that name, wherever it is. */
static bool read_target(const char *identity, groat__str *target)
{
    static const char lead[] = "\ntarget ";
    const char *line = strstr(identity, lead);

    if (line == NULL)
        return false;
    line += sizeof(lead) - 1;
    groat__str_addn(target, line, strcspn(line, "\n"));
    return target->len > 0 && !target->failed;
}

bool groat__key_read(const char *identity, groat__str *spec, groat__str *target)
{
    const char *line = behind(identity, "groat-identity 1\n");
    const char *family = line == NULL ? NULL : behind(line, "family ");
    const char *param;
    char lead = ':';

    if (behind(identity, GROAT__TUNED_LEAD) != NULL)
        return read_target(identity, target);
    if (family == NULL)
        return false;
    groat__str_addn(spec, family, strcspn(family, " \n"));
    line += strcspn(line, "\n");
    while (*line == '\n' && (param = behind(line, "\nparam ")) != NULL) {
        size_t name = strcspn(param, " \n");

        if (param[name] != ' ')
            return false;
        groat__str_addn(spec, &lead, 1);
        groat__str_addn(spec, param, name);
        groat__str_addn(spec, "=", 1);
        param += name + 1;
        groat__str_addn(spec, param, strcspn(param, "\n"));
        line = param + strcspn(param, "\n");
        lead = ',';
    }
    line = behind(line, "\ntarget ");
    if (line == NULL)
        return false;
    groat__str_addn(target, line, strcspn(line, "\n"));
    return target->len > 0 && !spec->failed && !target->failed;
}

static const char maker_lead[] = "\ncompiler ";

const char *groat__key_second_half(const char *identity)
{
    const char *line = strstr(identity, maker_lead);

    return line == NULL ? "" : line + 1;
}

size_t groat__key_wanted(const char *identity)
{
    const char *line = strstr(identity, maker_lead);

    return line == NULL ? strlen(identity) : (size_t)(line + 1 - identity);
}

const char *groat__key_maker(const char *identity, size_t *len)
{
    const char *line = groat__key_second_half(identity);

    if (*line != '\0')
        line += strlen(maker_lead) - 1;
    *len = strcspn(line, "\n");
    return line;
}

groat__digest groat__key_of(const groat__str *identity)
{
    return groat__hash128(identity->data, identity->len);
}
