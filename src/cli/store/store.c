/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c - checks that a command's store exists, and that it had no faults.
 */
#include "cli/store/store.h"

#include <unistd.h>

int groat__cache_there(groat__cli *cli)
{
    const char *folder = cli->values.cache_dir;

    if (!folder || access(folder, F_OK) == 0)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_IO, "--cache-dir %s: there is no store",
                             folder);
}

int groat__cache_needed(groat__cli *cli)
{
    const char *problem = groat_cache_problem(cli->context);

    if (groat_cache_path(cli->context))
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_IO, "there is no store: %s",
                             problem ? problem : "it was not opened");
}

int groat__cache_sound(groat__cli *cli, const char *what)
{
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_error error = GROAT_ERROR_INIT;

    if (groat_cache_stat_get(cli->context, &stat, &error))
        return groat__cli_fail(cli, &error);
    if (stat.faults == 0)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(
        cli, GROAT_IO, "the store had faults, see the warnings; %s", what);
}
