/* SPDX-License-Identifier: Apache-2.0
 *
 * names.c - lists of object names, also of the kernels of manifests.
 */
#include "cli/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

void groat__names_free(groat__names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
    *names = (groat__names){NULL, 0, 0};
}

bool groat__names_add(groat__names *names, const char *name)
{
    if (names->count == names->cap) {
        size_t cap = names->cap ? 2 * names->cap : 64;
        char **grown = realloc(names->at, cap * sizeof(*grown));

        if (!grown)
            return false;
        names->at = grown;
        names->cap = cap;
    }
    names->at[names->count] = strdup(name);
    return names->at[names->count] && ++names->count;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void groat__names_sort(groat__names *names)
{
    size_t kept = 0;

    if (!names->count)
        return;
    qsort(names->at, names->count, sizeof(names->at[0]), compare);
    for (size_t i = 1; i < names->count; i++)
        if (!strcmp(names->at[kept], names->at[i]))
            free(names->at[i]);
        else
            names->at[++kept] = names->at[i];
    names->count = kept + 1;
}

bool groat__names_have(const groat__names *names, const char *name)
{
    return names->count && bsearch(&name, names->at, names->count,
                                   sizeof(names->at[0]), compare);
}

/* ---- manifests --------------------------------------------------------- */

groat_status groat__names_add_spec(groat__cli *cli, groat__names *names,
                                   const char *spec, const char *target,
                                   bool both, groat_error *error)
{
    groat_remote_names of = {.size = sizeof(of)};
    groat_spec *parsed = NULL;
    groat_status status =
        groat_spec_parse(cli->context, spec, target, &parsed, error);

    if (!status)
        status = groat_remote_names_get(parsed, &of, error);
    groat_spec_free(parsed);
    if (!status && (!groat__names_add(names, of.name) ||
                    (both && !groat__names_add(names, of.any))))
        status = groat__cli_error(error, GROAT_NO_MEMORY, "out of memory");
    return status;
}

typedef struct reading {
    groat__cli *cli;
    groat__names *names;
    bool both;
    groat_error error;
    groat_status status;
} reading;

static groat_status add_kernel(reading *r, const char *spec, const char *target)
{
    return groat__names_add_spec(r->cli, r->names, spec, target, r->both,
                                 &r->error);
}

static int on_kernel(void *user, const groat_manifest_entry *entry)
{
    reading *r = user;
    const groat__list *targets = &r->cli->values.targets;

    if (entry->target || !targets->count) {
        r->status = add_kernel(r, entry->spec, entry->target);
        return r->status != GROAT_OK;
    }
    for (size_t i = 0; i < targets->count && !r->status; i++)
        r->status = add_kernel(r, entry->spec, targets->item[i]);
    return r->status != GROAT_OK;
}

int groat__names_read(groat__cli *cli, bool both, groat__names *names)
{
    reading r = {cli, names, both, GROAT_ERROR_INIT, GROAT_OK};

    for (size_t i = 1; i < cli->word_count && !r.status; i++) {
        groat_status status =
            groat_manifest_read(cli->words[i], on_kernel, &r, &r.error);

        r.status = r.status ? r.status : status;
    }
    return r.status ? groat__cli_fail(cli, &r.error) : GROAT__EXIT_DONE;
}
