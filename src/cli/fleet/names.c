/* SPDX-License-Identifier: Apache-2.0
 *
 * names.c - lists of object names, also of the kernels of manifests.
 */
#include "cli/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void groat__names_free(groat__names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
    *names = (groat__names){NULL, 0, 0};
}

bool groat__names_add(groat__names *names, const char *name)
{
    if (!groat__grow(&names->at, names->count + 1, &names->cap,
                     sizeof(*names->at)))
        return false;
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
        status = groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    return status;
}

typedef struct reading {
    groat__cli *cli;
    groat__names *names;
    bool both;
    const char *path;
    int code; /* of a kernel without names */
} reading;

/* Returns non-zero to stop: a missing compiler concerns its targets alone. */
static int add_kernel(reading *r, const groat_manifest_entry *entry,
                      const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = groat__names_add_spec(r->cli, r->names, entry->spec,
                                                target, r->both, &error);

    if (status) {
        int code = groat__cli_refuse(r->cli, status, "%s:%zu: %s", r->path,
                                     entry->line, error.text);

        if (!r->code || status != GROAT_NO_DEVICE)
            r->code = code;
    }
    groat_error_clear(&error);
    return status != GROAT_OK && status != GROAT_NO_DEVICE;
}

static int on_kernel(void *user, const groat_manifest_entry *entry)
{
    reading *r = user;
    const groat__list *targets = &r->cli->values.targets;
    int stop = 0;

    if (!targets->count)
        return add_kernel(r, entry, entry->target);
    for (size_t i = 0; i < targets->count && !stop; i++)
        if (!entry->target || strcmp(entry->target, targets->item[i]) == 0)
            stop = add_kernel(r, entry, targets->item[i]);
    return stop;
}

int groat__names_read(groat__cli *cli, bool both, groat__names *names)
{
    reading r = {cli, names, both, NULL, GROAT__EXIT_DONE};
    groat_error error = GROAT_ERROR_INIT;

    for (size_t i = 1; i < cli->word_count; i++) {
        r.path = cli->words[i];
        if (groat_manifest_read(r.path, on_kernel, &r, &error))
            return groat__cli_fail(cli, &error);
        if (r.code && r.code != GROAT__EXIT_NO_DEVICE)
            break;
    }
    return r.code;
}
