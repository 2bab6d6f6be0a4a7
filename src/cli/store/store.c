/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c - checks that a command's store exists, and that it had no faults.
 */
#include "cli/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_missing(const groat__cli *cli)
{
    const char *folder = cli->values.cache_dir;

    return folder && access(folder, F_OK) != 0;
}

int groat__cache_there(groat__cli *cli)
{
    if (!is_missing(cli))
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_IO, "--cache-dir %s: there is no store",
                             cli->values.cache_dir);
}

int groat__cache_open(groat__cli *cli)
{
    bool missing = is_missing(cli);
    int code = groat__cli_open(cli, 0);

    if (!code && missing && groat_cache_path(cli->context))
        groat__cli_say(cli,
                       "warning: --cache-dir %s: there was no store; an empty "
                       "one was made",
                       cli->values.cache_dir);
    return code;
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

int groat__cache_whole(groat__cli *cli, int64_t since_s, const char *what)
{
    static const char lead[] = "groat.sqlite.damaged-";
    const char *path = groat_cache_path(cli->context);
    char folder[4096];
    struct dirent *entry;
    struct stat info;
    DIR *dir;
    int code = GROAT__EXIT_DONE;

    (void)snprintf(folder, sizeof(folder), "%.*s",
                   (int)(strrchr(path, '/') - path), path);
    dir = opendir(folder);
    if (!dir)
        return groat__cli_refuse(cli, GROAT_IO, "cannot read %s: %s; %s",
                                 folder, strerror(errno), what);
    while (!code && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, lead, sizeof(lead) - 1) == 0 &&
            !strstr(entry->d_name, "-wal") && !strstr(entry->d_name, "-shm") &&
            fstatat(dirfd(dir), entry->d_name, &info, 0) == 0 &&
            info.st_ctime > since_s)
            code = groat__cli_refuse(
                cli, GROAT_IO,
                "the store was damaged and replaced, see %s/%s, so what it "
                "had used is not known; %s",
                folder, entry->d_name, what);
    (void)closedir(dir);
    return code;
}
