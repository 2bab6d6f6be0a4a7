/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch.c - a store of the tool's own, for commands that measure or show how
 * kernels come into one.
 *
 * Owns the folder from its making to its removal, and the context over it.
 * Invariant: where --cache-dir says which store to use, no folder is made and
 * none is removed; else the user's store is neither read nor written.
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

int groat__scratch_open(groat__cli *cli, const char *base, groat__str *folder)
{
    const char *tmp = getenv("TMPDIR");
    int code;

    cli->values.alone = true;
    if (cli->values.cache_dir)
        return groat__cli_open(cli, 0);
    if (!base)
        base = tmp && *tmp ? tmp : "/tmp";
    groat__str_addf(folder, "%s/groat-%s-XXXXXX", base, cli->command->name);
    if (folder->failed)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    if (!mkdtemp(folder->data)) {
        code = groat__cli_refuse(cli, GROAT_IO,
                                 "cannot make a folder %s: %s; TMPDIR names "
                                 "another place",
                                 folder->data, strerror(errno));
        groat__str_free(folder);
        return code;
    }
    cli->values.cache_dir = folder->data;
    return groat__cli_open(cli, 0);
}

void groat__scratch_close(groat__cli *cli, groat__str *folder)
{
    groat_close(cli->context);
    cli->context = NULL;
    if (!folder->data)
        return;
    cli->values.cache_dir = NULL;
    (void)nftw(folder->data, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    groat__str_free(folder);
}
