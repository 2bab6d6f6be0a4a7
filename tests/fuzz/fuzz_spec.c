/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_spec.c: the first line as a target, the rest as a spec of one of the
 * embedded families.  Both are refused in one line, or pass the checks of
 * spec_checks.h.
 */
#include "spec_checks.h"
#include "spec/load.h"

enum { FAMILIES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct embedded {
    groat_family *families[FAMILIES_MAX];
    size_t count;
} embedded;

static const char *read_embedded(void *user, const char *path)
{
    (void)user;
    return groat__embedded_find(path);
}

/* Loaded once: they are constants of the process. */
static const embedded *all_families(void)
{
    static embedded all;
    const groat__embedded_file *file;

    for (size_t i = 0; all.count == 0 && (file = groat__embedded_at(i)) != NULL;
         i++) {
        const char *slash = strstr(file->path, "/params.def");
        char *name;

        if (slash == NULL)
            continue;
        name = strndup(file->path, (size_t)(slash - file->path));
        MUST(name != NULL && all.count < FAMILIES_MAX);
        MUST(groat__family_load(name, read_embedded, NULL,
                                &all.families[all.count++], NULL) == GROAT_OK);
        free(name);
    }
    MUST(all.count > 0);
    return &all;
}

/* Returns the family that a spec names, or else the first. */
static const groat_family *family_of(const char *spec)
{
    const embedded *all = all_families();
    size_t len = strcspn(spec, ":");

    for (size_t i = 0; i < all->count; i++)
        if (strlen(all->families[i]->name) == len &&
            memcmp(all->families[i]->name, spec, len) == 0)
            return all->families[i];
    return all->families[0];
}

static void try_spec(const groat__target *target, const char *spec)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__params mark;
    groat__params params;
    groat_status status;

    memset(&mark, 0x5a, sizeof(mark));
    params = mark;
    status =
        groat__params_parse(family_of(spec), spec, target, &params, &error);
    if (status == GROAT_OK) {
        check_params(&params);
        return;
    }
    check_refusal(status, &error);
    MUST(memcmp(&params, &mark, sizeof(mark)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    char *spec = text + strcspn(text, "\n");
    groat_error error = GROAT_ERROR_INIT;
    groat__target target;
    groat_status status;

    if (*spec != '\0')
        *spec++ = '\0';
    status = groat__target_parse(text, &target, &error);
    if (status == GROAT_OK)
        try_spec(&target, spec);
    else
        check_refusal(status, &error);
    free(text);
    return 0;
}
