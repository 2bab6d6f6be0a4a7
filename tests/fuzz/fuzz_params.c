/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_params.c: the input as params.def of a family, and the text after a line
 * "----" as its kernel.  The family is refused in one line, or its specs pass
 * the checks of spec_checks.h at the limits of every parameter.
 */
#include "spec_checks.h"
#include "spec/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    char *params_def;
    const char *kernel;
} input;

static const char *read_input(void *user, const char *path)
{
    const input *in = user;

    if (strcmp(path, "fuzz/params.def") == 0)
        return in->params_def;
    if (strcmp(path, "fuzz/fuzz.h") == 0)
        return in->kernel;
    if (strcmp(path, "fuzz/more.h") == 0)
        return "#include \"fuzz.h\"\nint more;";
    return strcmp(path, "common/tool.h") == 0 ? "#pragma once\nint tool;\n"
                                              : NULL;
}

/* Tries the limits of a parameter's ranges, and one value beyond each. */
static void try_values(const groat__params *params, size_t slot)
{
    const groat__slot *s = &params->family->slots[slot];

    for (size_t i = 0; i < s->range_count; i++) {
        const int64_t values[] = {s->ranges[i].low, s->ranges[i].high,
                                  s->ranges[i].low - 1, s->ranges[i].high + 1};

        for (size_t k = 0; k < 4; k++) {
            groat_error error = GROAT_ERROR_INIT;
            groat__params changed = *params;
            groat_status status =
                groat__params_set(&changed, slot, values[k], &error);

            if (status == GROAT_OK) {
                check_params(&changed);
                continue;
            }
            check_refusal(status, &error);
            MUST(memcmp(&changed, params, sizeof(changed)) == 0);
        }
    }
}

static void try_family(groat_family *family)
{
    static const char *const targets[] = {"cuda:sm_90a", "hip:gfx90a",
                                          "cpu:gfx950"};

    for (size_t t = 0; t < 3; t++) {
        groat_error error = GROAT_ERROR_INIT;
        groat__target target;
        groat__params params;
        groat_status status;

        MUST(groat__target_parse(targets[t], &target, NULL) == GROAT_OK);
        status = groat__params_parse(family, "fuzz", &target, &params, &error);
        if (status != GROAT_OK) {
            check_refusal(status, &error);
            continue;
        }
        check_params(&params);
        for (size_t i = 0; i < family->param_count; i++)
            try_values(&params, family->params[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {text_of(data, size), "#include \"params.h\"\n"};
    char *cut = strstr(in.params_def, "\n----\n");
    groat_error error = GROAT_ERROR_INIT;
    groat_family *family = NULL;
    groat_status status;

    if (cut != NULL) {
        cut[1] = '\0';
        in.kernel = cut + 6;
    }
    status = groat__family_load("fuzz", read_input, &in, &family, &error);
    if (status == GROAT_OK)
        try_family(family);
    else
        check_refusal(status, &error);
    groat__family_free(family);
    free(in.params_def);
    return 0;
}
