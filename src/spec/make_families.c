/* SPDX-License-Identifier: Apache-2.0
 *
 * make_families.c reads the embedded families while the library is built, and
 * prints them as one C file, so that processes need not read them again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "spec/family.h"
#include "spec/load.h"

static const char *read_embedded(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

/* The C text of one family while it is made. */
typedef struct maker {
    size_t number;   /* in the names of its tables */
    groat__str data; /* all its strings, each with its NUL */
    groat__str steps;
    size_t step_count;
    groat__str ranges;
    size_t range_count;
    groat__str out; /* the family's initializer */
} maker;

/* Prints bytes as numbers: some compilers limit the length of a string. */
static void print_data(const maker *m)
{
    (void)printf("\nstatic const unsigned char data_%zu[] = {", m->number);
    for (size_t i = 0; i < m->data.len; i++)
        (void)printf("%s%u,", i % 16 == 0 ? "\n    " : "",
                     (unsigned char)m->data.data[i]);
    (void)printf("\n};\n");
}

/* Appends a pointer to the string. */
static void add_text(maker *m, const char *text, groat__str *out)
{
    if (text == NULL) {
        groat__str_add(out, "0, ");
        return;
    }
    groat__str_addf(out, "AT(%zu, %zu), ", m->number, m->data.len);
    groat__str_addn(&m->data, text, strlen(text) + 1);
}

static void add_expr(maker *m, const groat__expr *expr)
{
    if (expr->count == 0) {
        groat__str_add(&m->out, "{0, 0}, ");
        return;
    }
    groat__str_addf(&m->out, "{steps_%zu + %zu, %zu}, ", m->number,
                    m->step_count, expr->count);
    for (size_t i = 0; i < expr->count; i++)
        groat__str_addf(&m->steps, "    {%d, INT64_C(%" PRId64 ")},\n",
                        expr->steps[i].op, expr->steps[i].value);
    m->step_count += expr->count;
}

static void add_ranges(maker *m, const groat__slot *slot)
{
    if (slot->range_count == 0) {
        groat__str_add(&m->out, "0, 0, ");
        return;
    }
    groat__str_addf(&m->out, "ranges_%zu + %zu, %zu, ", m->number,
                    m->range_count, slot->range_count);
    for (size_t i = 0; i < slot->range_count; i++) {
        const groat__range *range = &slot->ranges[i];

        groat__str_addf(&m->ranges,
                        "    {INT64_C(%" PRId64 "), INT64_C(%" PRId64
                        "), INT64_C(%" PRId64 "), ",
                        range->low, range->high, range->step);
        add_text(m, range->name, &m->ranges);
        groat__str_add(&m->ranges, "},\n");
    }
    m->range_count += slot->range_count;
}

static void add_slot(maker *m, const groat__slot *slot)
{
    groat__str_add(&m->out, "        {");
    add_text(m, slot->name, &m->out);
    add_text(m, slot->allowed, &m->out);
    add_text(m, slot->deflt, &m->out);
    add_text(m, slot->unit, &m->out);
    add_text(m, slot->meaning, &m->out);
    groat__str_addf(&m->out, "%d, %d, (groat_param_type)%d, ", slot->line,
                    (int)slot->is_param, (int)slot->type);
    add_ranges(m, slot);
    add_expr(m, &slot->expr);
    add_text(m, slot->lead, &m->out);
    groat__str_addf(&m->out, "%zu},\n", slot->lead_len);
}

static void add_rule(maker *m, const groat__rule *rule)
{
    groat__str_add(&m->out, "        {");
    add_text(m, rule->text, &m->out);
    add_text(m, rule->reason, &m->out);
    add_text(m, rule->proofs, &m->out);
    groat__str_addf(&m->out, "%d, ", rule->line);
    add_expr(m, &rule->expr);
    groat__str_add(&m->out, "},\n");
}

static void add_rules(maker *m, const groat_family *family)
{
    if (family->rule_count == 0)
        return;
    groat__str_add(&m->out, "    .rules = {\n");
    for (size_t i = 0; i < family->rule_count; i++)
        add_rule(m, &family->rules[i]);
    groat__str_addf(&m->out, "    },\n    .rule_count = %zu,\n",
                    family->rule_count);
}

static void add_indices(maker *m, const char *name, const char *count_name,
                        const size_t *at, size_t count)
{
    groat__str_addf(&m->out, "    .%s = {", name);
    for (size_t i = 0; i < count; i++)
        groat__str_addf(&m->out, "%zu, ", at[i]);
    groat__str_addf(&m->out, "%s},\n    .%s = %zu,\n", count == 0 ? "0" : "",
                    count_name, count);
}

static void add_launch(maker *m, const groat_family *family)
{
    groat__str_add(&m->out, "    .launch = {");
    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++)
        add_expr(m, &family->launch[i]);
    groat__str_add(&m->out, "},\n    .has_launch = {");
    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++)
        groat__str_addf(&m->out, "%d, ", (int)family->has_launch[i]);
    groat__str_add(&m->out, "},\n    .launch_line = {");
    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++)
        groat__str_addf(&m->out, "%d, ", family->launch_line[i]);
    groat__str_add(&m->out, "},\n");
}

static void add_named(maker *m, const char *name, const char *text)
{
    groat__str_addf(&m->out, "    .%s = ", name);
    add_text(m, text, &m->out);
    groat__str_add(&m->out, "\n");
}

static void add_source(maker *m, const groat_family *family)
{
    groat__str_addf(&m->out,
                    "    .pieces = pieces_%zu,\n    .piece_count = %zu,"
                    "\n    .closure = {{",
                    m->number, family->piece_count);
    for (int i = 0; i < GROAT__BACKENDS; i++)
        groat__str_addf(&m->out, "\"%s\", ", family->closure.of[i]);
    groat__str_add(&m->out, "}},\n");
}

static void add_family(maker *m, const groat_family *family)
{
    add_named(m, "name", family->name);
    add_named(m, "summary", family->summary);
    add_named(m, "entry", family->entry);
    groat__str_add(&m->out, "    .slots = {\n");
    for (size_t i = 0; i < family->slot_count; i++)
        add_slot(m, &family->slots[i]);
    groat__str_addf(&m->out,
                    "    },\n    .slot_count = %zu,\n    .code = %zu,\n",
                    family->slot_count, family->code);
    add_indices(m, "params", "param_count", family->params,
                family->param_count);
    add_indices(m, "derived", "derived_count", family->derived,
                family->derived_count);
    add_rules(m, family);
    add_launch(m, family);
    add_source(m, family);
    add_named(m, "head", family->head);
    groat__str_addf(&m->out, "    .head_len = %zu,\n    .is_static = true,\n",
                    family->head_len);
}

static void print_table(const maker *m, const char *type, const char *name,
                        const char *rows)
{
    if (rows != NULL)
        (void)printf("\nstatic const %s %s_%zu[] = {\n%s};\n", type, name,
                     m->number, rows);
}

/* False without memory. */
static bool print_pieces(maker *m, const groat_family *family)
{
    groat__str pieces = {0};
    bool whole;

    for (size_t i = 0; i < family->piece_count; i++) {
        groat__str_add(&pieces, "    {");
        add_text(m, family->pieces[i].text, &pieces);
        groat__str_addf(&pieces, "%d},\n", family->pieces[i].only);
    }
    whole = !pieces.failed;
    print_data(m); /* now has all strings */
    print_table(m, "groat__piece", "pieces", pieces.data);
    groat__str_free(&pieces);
    return whole;
}

/* False without memory. */
static bool print_family(size_t number, const groat_family *family)
{
    maker m = {.number = number};
    bool whole;

    add_family(&m, family);
    whole = print_pieces(&m, family);
    print_table(&m, "groat__range", "ranges", m.ranges.data);
    print_table(&m, "groat__step", "steps", m.steps.data);
    (void)printf("\nstatic const groat_family family_%zu = {\n%s};\n", number,
                 m.out.data);
    whole =
        !m.data.failed && !m.ranges.failed && !m.steps.failed && !m.out.failed;
    groat__str_free(&m.data);
    groat__str_free(&m.ranges);
    groat__str_free(&m.steps);
    groat__str_free(&m.out);
    return whole;
}

/* Loads the family of a params.def; NULL if the file is not one. */
static groat_family *load_from(const groat__embedded_file *file,
                               groat_error *error)
{
    const char *slash = strstr(file->path, "/params.def");
    groat_family *family = NULL;
    char *name;

    if (slash == NULL)
        return NULL;
    name = strndup(file->path, (size_t)(slash - file->path));
    if (name != NULL)
        (void)groat__family_load(name, read_embedded, NULL, &family, error);
    free(name);
    return family;
}

static void print_end(const groat__str *rows)
{
    (void)printf("\nstatic const groat__made_family families[] = {\n%s",
                 rows->data);
    (void)puts("};\n\n"
               "const groat__made_family *groat__made_family_at(size_t index)\n"
               "{\n"
               "    return index < sizeof(families) / sizeof(families[0])\n"
               "               ? &families[index]\n"
               "               : NULL;\n"
               "}");
}

int main(void)
{
    groat_error error = GROAT_ERROR_INIT;
    const groat__embedded_file *file;
    groat__str rows = {0};
    bool whole = true;
    size_t count = 0;

    (void)puts("/* Made by make_families; do not edit. */\n"
               "#include \"spec/family.h\"\n\n"
               "#define AT(family, offset) ((const char *)data_##family + "
               "offset)");
    for (size_t i = 0; whole && (file = groat__embedded_at(i)) != NULL; i++) {
        groat_family *family = load_from(file, &error);

        if (family == NULL)
            continue;
        groat__str_addf(&rows, "    {\"%s\", &family_%zu},\n", family->name,
                        count);
        whole = print_family(count++, family) && !rows.failed;
        groat__family_free(family);
    }
    if (error.status != GROAT_OK || !whole)
        (void)fprintf(stderr, "make_families: %s\n",
                      whole ? error.text : "out of memory");
    if (whole && count > 0)
        print_end(&rows);
    groat__str_free(&rows);
    return !whole || error.status != GROAT_OK || count == 0 ||
           fflush(stdout) != 0;
}
