/* SPDX-License-Identifier: Apache-2.0
 *
 * render.c writes the one generated header and puts it into the family's
 * flattened source.  Nothing else is generated: kernels are files.  No state.
 */
#include "spec/render.h"

#include <string.h>

#include "base/error.h"

/* 64-bit constants would make every address computation 64 bits wide. */
static bool fits_int(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

static void add_derived(const groat__slot *slot, int64_t value, groat__str *out)
{
    /* C++ has no literal for the least number. */
    bool least = value == INT64_MIN;

    groat__str_addf(out, "constexpr %s %s = %lld%s;\n",
                    fits_int(value) ? "int" : "long long", slot->name,
                    (long long)(least ? value + 1 : value),
                    least ? " - 1" : "");
}

static void add_assert(const groat__slot *slot, groat__str *out)
{
    groat__str_add(out, "static_assert(");
    for (size_t i = 0; i < slot->range_count; i++) {
        const groat__range *range = &slot->ranges[i];

        if (i > 0)
            groat__str_add(out, " || ");
        if (range->low == range->high) {
            groat__str_addf(out, "%s == %lld", slot->name,
                            (long long)range->low);
            continue;
        }
        groat__str_addf(out, "(%s >= %lld && %s <= %lld", slot->name,
                        (long long)range->low, slot->name,
                        (long long)range->high);
        /* The difference of two ints may overflow an int. */
        if (range->step != 1)
            groat__str_addf(out, " && (%s - %lld%s) %% %lld == 0", slot->name,
                            (long long)range->low,
                            fits_int(range->high - range->low) ? "" : "LL",
                            (long long)range->step);
        groat__str_add(out, ")");
    }
    groat__str_addf(out, ", \"%s: allowed %s\");\n", slot->name,
                    slot->type == GROAT_PARAM_BOOL ? "0|1" : slot->allowed);
}

static void add_enumerators(const groat__slot *slot, groat__str *out)
{
    for (size_t i = 0; i < slot->range_count; i++)
        groat__str_addf(out, "constexpr int %s_%s = %lld;\n", slot->name,
                        slot->ranges[i].name, (long long)slot->ranges[i].low);
}

static void add_code(const groat__params *params, const groat__slot *slot,
                     groat__str *out)
{
    groat__code code;

    groat__str_addf(out, "#define GROAT_CODE_%s(in) ", slot->name);
    if (groat__params_code(params, &code))
        groat__code_write(&code, out);
    groat__str_add(out, "\n");
}

static void add_param(const groat__slot *slot, int64_t value, groat__str *out)
{
    if (slot->type == GROAT_PARAM_ENUM)
        add_enumerators(slot, out);
    groat__str_addf(out, "constexpr %s %s = ",
                    slot->type == GROAT_PARAM_BOOL ? "bool" : "int",
                    slot->name);
    if (slot->type == GROAT_PARAM_BOOL)
        groat__str_add(out, value ? "true" : "false");
    else if (groat__slot_enumerator(slot, value) != NULL)
        groat__str_addf(out, "%s_%s", slot->name,
                        groat__slot_enumerator(slot, value));
    else
        groat__str_add_int(out, value);
    groat__str_add(out, ";\n");
    add_assert(slot, out);
}

static void add_arch(const groat__params *params, groat__str *out)
{
    groat__str_add(out, "namespace arch {\n");
    for (size_t i = 0; i < GROAT__ARCH_SLOTS; i++)
        groat__str_addf(out, "constexpr int %s = %lld;\n",
                        params->family->slots[i].name + strlen("arch_"),
                        (long long)params->values[i]);
    groat__str_add(out, "}\n");
}

void groat__render_constants(const groat__params *params, groat__str *out)
{
    const groat_family *family = params->family;
    groat__launch_values launch = {{0}};

    groat__str_add(out, "namespace groat {\n");
    add_arch(params, out);
    groat__str_add(out, "namespace params {\n");
    for (size_t i = GROAT__ARCH_SLOTS; i < family->slot_count; i++) {
        const groat__slot *slot = &family->slots[i];

        if (i == family->code)
            add_code(params, slot, out);
        else if (slot->is_param)
            add_param(slot, params->values[i], out);
        else
            add_derived(slot, params->values[i], out);
    }
    groat__str_add(out, "}\n}\n");
    /* If a launch value is out of range, no kernel is made, but the source can
     * still be read. */
    if (groat__params_launch(params, &launch, NULL) != GROAT_OK)
        memset(&launch, 0, sizeof(launch));
    groat__str_addf(
        out, "#define GROAT_BLOCK_THREADS %lld\n",
        (long long)(launch.of[GROAT__BLOCK_X] * launch.of[GROAT__BLOCK_Y] *
                    launch.of[GROAT__BLOCK_Z]));
    groat__str_addf(out, "#define GROAT_SHARED_BYTES %lld\n",
                    (long long)launch.of[GROAT__SHARED]);
    groat__str_addf(out, "#define GROAT_ARGS_BYTES %lld\n",
                    (long long)launch.of[GROAT__ARGS]);
    groat__str_add(out, "#define GROAT_ENTRY ");
    groat__params_entry(params, out);
    groat__str_add(out, "\n");
}

/* Appends what a backend's compiler gets. */
static void add_pieces(const groat__params *params, groat__backend_id backend,
                       groat__str *out)
{
    const groat_family *family = params->family;

    for (size_t i = 0; i < family->piece_count; i++) {
        const groat__piece *piece = &family->pieces[i];

        if (piece->text == NULL) {
            groat__str_addf(out, "#line 1 \"%s/params.h\"\n", family->name);
            groat__render_constants(params, out);
        } else if (piece->only == GROAT__BACKENDS ||
                   piece->only == (int)backend) {
            groat__str_add(out, piece->text);
        }
    }
}

void groat__render_source(const groat__params *params, groat__str *out)
{
    add_pieces(params, params->target.backend, out);
}

/* Uses the first arch on which the defaults have values: a family for one
 * vendor may divide by a field that is 0 on all other archs. */
static groat_status defaults_somewhere(const groat_family *family,
                                       groat__params *params,
                                       groat_error *error)
{
    groat__target target = {GROAT__CPU, groat__arch_at(0), "cpu"};

    for (size_t i = 1; groat__arch_at(i) != NULL; i++) {
        if (groat__params_defaults(family, &target, params, NULL) == GROAT_OK)
            return GROAT_OK;
        target.arch = groat__arch_at(i);
    }
    return groat__params_defaults(family, &target, params, error);
}

groat_status groat__render_closure(groat_family *family, const char *params_def,
                                   groat_error *error)
{
    groat__params params;
    groat__str all = {0};
    groat_status status = defaults_somewhere(family, &params, error);

    for (int i = 0; i < GROAT__BACKENDS && status == GROAT_OK; i++) {
        groat__digest digest;

        groat__str_clear(&all);
        add_pieces(&params, (groat__backend_id)i, &all);
        groat__str_add(&all, params_def);
        if (all.failed) {
            status =
                groat__fail(error, GROAT_NO_MEMORY, "no memory for sources");
            continue;
        }
        digest = groat__hash128(all.data, all.len);
        groat__hex(family->closure.of[i], digest.bytes, sizeof(digest.bytes));
    }
    groat__str_free(&all);
    return status;
}
