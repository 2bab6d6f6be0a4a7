/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch.c - temporary folders, and stores in them for commands that measure
 * or show how a store is filled.
 *
 * Owns the folder from its creation to its removal, and the context over it.
 * Invariant: where --cache-dir names the store, no folder is made and none is
 * removed; else the user's store is neither read nor written.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

static groat_status make_below(const char *base, const char *what,
                               groat__str *folder, groat_error *error)
{
    groat_status status = GROAT_OK;

    groat__str_addf(folder, "%s/groat-%s-XXXXXX", base, what);
    if (folder->failed)
        status = groat__cli_error(error, GROAT_NO_MEMORY, "out of memory");
    else if (!mkdtemp(folder->data))
        status = groat__cli_error(error, GROAT_IO,
                                  "cannot make a folder %s: %s; TMPDIR names "
                                  "another place",
                                  folder->data, strerror(errno));
    if (status)
        groat__str_free(folder);
    return status;
}

static const char *temporary_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    return tmp && *tmp ? tmp : "/tmp";
}

groat_status groat__scratch_make(const char *what, groat__str *folder,
                                 groat_error *error)
{
    return make_below(temporary_folder(), what, folder, error);
}

void groat__scratch_remove(groat__str *folder)
{
    if (!folder->data)
        return;
    (void)nftw(folder->data, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    groat__str_free(folder);
}

int groat__scratch_open(groat__cli *cli, const char *base, groat__str *folder)
{
    groat_error error = GROAT_ERROR_INIT;

    cli->values.alone = true;
    if (cli->values.cache_dir)
        return groat__cli_open(cli, 0);
    if (make_below(base ? base : temporary_folder(), cli->command->name, folder,
                   &error))
        return groat__cli_fail(cli, &error);
    cli->values.cache_dir = folder->data;
    return groat__cli_open(cli, 0);
}

void groat__scratch_close(groat__cli *cli, groat__str *folder)
{
    groat_close(cli->context);
    cli->context = NULL;
    if (folder->data)
        cli->values.cache_dir = NULL;
    groat__scratch_remove(folder);
}
