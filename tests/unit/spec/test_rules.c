/* SPDX-License-Identifier: Apache-2.0
 *
 * test_rules.c: every rule of every embedded family is needed.  Its line in
 * params.def gives a spec that breaks it, which is refused with its reason; or
 * the names of the parameters whose allowed values imply it, and then no grid
 * over those values breaks it.
 */
#include "fixture.h"

static groat_family *families[FAMILIES_MAX];
static size_t family_count;

static void setup(void)
{
    family_count = load_embedded(families);
}

static void teardown(void)
{
    for (size_t i = 0; i < family_count; i++)
        groat__family_free(families[i]);
}

static bool holds(const groat__params *params, size_t rule)
{
    int64_t value = 0;
    const char *why;

    return groat__expr_eval(&params->family->rules[rule].expr, params->values,
                            &value, &why) &&
           value != 0;
}

/* Returns the values of a spec without checking the rules. */
static groat__params without_rules(groat_family *family, const char *spec,
                                   const char *target)
{
    size_t count = family->rule_count;
    groat__params params;

    family->rule_count = 0;
    params = parsed(family, spec, target);
    family->rule_count = count;
    return params;
}

/* Checks a spec that breaks one rule, and at most one other that cannot hold
 * without it. */
static void check_breaks(groat_family *family, size_t rule, const char *target,
                         const char *values)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params params;
    groat__str spec = {0};
    size_t broken = 0;

    groat__str_addf(&spec, "%s:%s", family->name, values);
    params = without_rules(family, spec.data, target);
    for (size_t k = 0; k < family->rule_count; k++)
        broken += !holds(&params, k);
    ck_assert_msg(!holds(&params, rule) && broken <= 2,
                  "%s on %s breaks %zu rules, and '%s' %s", spec.data, target,
                  broken, family->rules[rule].text,
                  holds(&params, rule) ? "is not one" : "is one");
    ck_assert_int_eq(parse(family, spec.data, target, &params, &error),
                     GROAT_INVALID);
    ck_says(&error, target);
    if (broken == 1)
        ck_says(&error, family->rules[rule].reason);
    groat__str_free(&spec);
}

/* Returns all values of a parameter, or 64 of them from first to last. */
static size_t grid_of(const groat__slot *slot, int64_t grid[64])
{
    int64_t total = 0;
    size_t count = 0;

    for (size_t i = 0; i < slot->range_count; i++)
        total += (slot->ranges[i].high - slot->ranges[i].low) /
                     slot->ranges[i].step +
                 1;
    for (size_t n = 0; n < 64; n++) {
        int64_t at = total <= 64 ? (int64_t)n : (int64_t)n * (total - 1) / 63;

        for (size_t i = 0; i < slot->range_count && at >= 0; i++) {
            const groat__range *range = &slot->ranges[i];
            int64_t size = (range->high - range->low) / range->step + 1;

            if (at < size)
                grid[count++] = range->low + at * range->step;
            at -= size;
        }
    }
    return count;
}

/* Tries every value of the listed parameters; returns the number of points. */
static size_t walk(const char *names, size_t rule, const groat__params *params)
{
    const groat_family *family = params->family;
    size_t len = strcspn(names, " ");
    int64_t grid[64];
    size_t count;
    size_t step;
    size_t slot;
    size_t points = 0;

    if (len == 0) {
        ck_assert_msg(holds(params, rule), "'%s' is not implied",
                      family->rules[rule].text);
        return 1;
    }
    slot = groat__family_slot(family, names, len);
    ck_assert_msg(slot != GROAT__SLOTS, "no constant %s", names);
    count = grid_of(&family->slots[slot], grid);
    step = count > 16 ? test_step() : 1;
    for (size_t i = 0; i < count; i += step) {
        groat__params next = *params;

        ck_assert_int_eq(groat__params_set(&next, slot, grid[i], NULL),
                         GROAT_OK);
        points += walk(names + len + strspn(names + len, " "), rule, &next);
    }
    return points;
}

/* Tells whether an expression uses a parameter, also by derived constants. */
static bool needs(const groat_family *family, const groat__expr *expr,
                  size_t param)
{
    for (size_t i = 0; i < expr->count; i++) {
        size_t slot = (size_t)expr->steps[i].value;
        bool derived;

        if (!groat__expr_is_slot(&expr->steps[i]))
            continue;
        derived = slot >= GROAT__ARCH_SLOTS && !family->slots[slot].is_param;
        if (slot == param ||
            (derived && needs(family, &family->slots[slot].expr, param)))
            return true;
    }
    return false;
}

static bool names_it(const char *names, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = names; (at = strstr(at, name)) != NULL; at += len)
        if ((at == names || at[-1] == ' ') &&
            (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static void check_follows(groat_family *family, size_t rule, const char *names)
{
    groat__params params = without_rules(family, family->name, "hip:gfx950");
    size_t rules = family->rule_count;

    for (size_t i = 0; i < family->param_count; i++) {
        const char *name = family->slots[family->params[i]].name;

        if (needs(family, &family->rules[rule].expr, family->params[i]))
            ck_assert_msg(names_it(names, name), "'%s' depends on %s, too",
                          family->rules[rule].text, name);
    }
    family->rule_count = 0;
    ck_assert_uint_gt(walk(names, rule, &params), 1);
    family->rule_count = rules;
}

/* Parses "breaks TARGET VALUES" or "follows NAME ...". */
static void check_proof(groat_family *family, size_t rule, char *proof)
{
    char target[64];
    char values[256] = "";

    while (proof[strlen(proof) - 1] == ' ')
        proof[strlen(proof) - 1] = '\0';
    if (sscanf(proof, "breaks %63s %255s", target, values) >= 1)
        check_breaks(family, rule, target, values);
    else if (strncmp(proof, "follows ", 8) == 0)
        check_follows(family, rule, proof + 8);
    else
        ck_abort_msg("%s, rule '%s': what is '%s'?", family->name,
                     family->rules[rule].text, proof);
}

static size_t check_proofs(groat_family *family, size_t rule)
{
    char *proofs = strdup(family->rules[rule].proofs);
    char *rest = proofs;
    char *proof;
    size_t count = 0;

    ck_assert_ptr_nonnull(proofs);
    while ((proof = strsep(&rest, ";")) != NULL) {
        proof += strspn(proof, " ");
        if (*proof == '\0')
            continue;
        check_proof(family, rule, proof);
        count++;
    }
    free(proofs);
    return count;
}

START_TEST(test_every_rule_is_needed)
{
    for (size_t i = 0; i < family_count; i++)
        for (size_t k = 0; k < families[i]->rule_count; k++)
            ck_assert_msg(check_proofs(families[i], k) > 0,
                          "%s, rule '%s': '; breaks TARGET name=value,...' or "
                          "'; follows NAME ...' is missing in params.def",
                          families[i]->name, families[i]->rules[k].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = tcase_create("rules");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_every_rule_is_needed);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
