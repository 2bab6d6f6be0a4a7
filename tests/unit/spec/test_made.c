/* SPDX-License-Identifier: Apache-2.0
 *
 * test_made.c: the tables that were made of the library's families when it was
 * built (spec/make_families.c) say what the families' files say.
 */
#include "fixture.h"

static void check_made_expr(const groat__expr *read, const groat__expr *made)
{
    ck_assert_uint_eq(made->count, read->count);
    for (size_t i = 0; i < read->count; i++) {
        ck_assert_int_eq(made->steps[i].op, read->steps[i].op);
        ck_assert_int_eq(made->steps[i].value, read->steps[i].value);
    }
}

static void check_made_slot(const groat__slot *read, const groat__slot *made)
{
    ck_assert_str_eq(made->name, read->name);
    ck_assert_pstr_eq(made->allowed, read->allowed);
    ck_assert_pstr_eq(made->deflt, read->deflt);
    ck_assert_pstr_eq(made->unit, read->unit);
    ck_assert_pstr_eq(made->meaning, read->meaning);
    ck_assert_pstr_eq(made->lead, read->lead);
    ck_assert_uint_eq(made->lead_len, read->lead_len);
    ck_assert_int_eq(made->line, read->line);
    ck_assert_int_eq(made->is_param, read->is_param);
    ck_assert_int_eq(made->type, read->type);
    ck_assert_uint_eq(made->range_count, read->range_count);
    for (size_t i = 0; i < read->range_count; i++) {
        ck_assert_int_eq(made->ranges[i].low, read->ranges[i].low);
        ck_assert_int_eq(made->ranges[i].high, read->ranges[i].high);
        ck_assert_int_eq(made->ranges[i].step, read->ranges[i].step);
        ck_assert_pstr_eq(made->ranges[i].name, read->ranges[i].name);
    }
    check_made_expr(&read->expr, &made->expr);
}

/* Asserts that a family made at build time equals what its files say. */
static void check_made(const groat_family *read, const groat_family *made)
{
    ck_assert_ptr_nonnull(made);
    ck_assert(made->is_static && !read->is_static);
    ck_assert_str_eq(made->name, read->name);
    ck_assert_str_eq(made->summary, read->summary);
    ck_assert_str_eq(made->entry, read->entry);
    ck_assert_uint_eq(made->piece_count, read->piece_count);
    for (size_t i = 0; i < read->piece_count; i++) {
        ck_assert_pstr_eq(made->pieces[i].text, read->pieces[i].text);
        ck_assert_int_eq(made->pieces[i].only, read->pieces[i].only);
    }
    ck_assert_mem_eq(&made->closure, &read->closure, sizeof(read->closure));
    ck_assert_str_eq(made->head, read->head);
    ck_assert_uint_eq(made->head_len, read->head_len);
    ck_assert_uint_eq(made->code, read->code);
    ck_assert_uint_eq(made->slot_count, read->slot_count);
    for (size_t i = 0; i < read->slot_count; i++)
        check_made_slot(&read->slots[i], &made->slots[i]);
    ck_assert_uint_eq(made->param_count, read->param_count);
    ck_assert_mem_eq(made->params, read->params, sizeof(read->params));
    ck_assert_uint_eq(made->derived_count, read->derived_count);
    ck_assert_mem_eq(made->derived, read->derived, sizeof(read->derived));
    ck_assert_uint_eq(made->rule_count, read->rule_count);
    for (size_t i = 0; i < read->rule_count; i++) {
        ck_assert_str_eq(made->rules[i].text, read->rules[i].text);
        ck_assert_str_eq(made->rules[i].reason, read->rules[i].reason);
        ck_assert_str_eq(made->rules[i].proofs, read->rules[i].proofs);
        ck_assert_int_eq(made->rules[i].line, read->rules[i].line);
        check_made_expr(&read->rules[i].expr, &made->rules[i].expr);
    }
    for (int i = 0; i < GROAT__LAUNCH_VALUES; i++) {
        ck_assert_int_eq(made->has_launch[i], read->has_launch[i]);
        ck_assert_int_eq(made->launch_line[i], read->launch_line[i]);
        check_made_expr(&read->launch[i], &made->launch[i]);
    }
}

START_TEST(test_embedded)
{
    groat_family *families[FAMILIES_MAX];
    size_t count = load_embedded(families);

    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_gt(families[i]->param_count, 0);
        ck_assert_str_ne(groat_family_summary(families[i]), "");
        ck_assert_str_eq(groat__made_family_at(i)->name,
                         groat_family_name(families[i]));
        check_made(families[i], groat__made_family_at(i)->family);
        groat__family_free(families[i]);
    }
    ck_assert_ptr_null(groat__made_family_at(count));
    ck_assert_ptr_null(groat__embedded_find("none"));
    ck_assert_ptr_null(groat__embedded_at(SIZE_MAX));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("made");
    TCase *tcase = tcase_create("made");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_embedded);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
