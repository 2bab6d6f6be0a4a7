/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_devices.c - groat devices: the GPUs of this machine.
 *
 * Owns nothing but the printing.  A machine without a GPU is no failure: its
 * list is empty, and it can run cpu:ARCH targets.
 */
#include "cli/commands.h"
#include "groat_tools.h"

#include <inttypes.h>

static void device_json(groat__json *json, const groat_device_info *info)
{
    groat__json_object(json, NULL);
    groat__json_string(json, "target", info->target);
    groat__json_string(json, "name", info->name);
    groat__json_int(json, "ordinal", info->ordinal);
    groat__json_uint(json, "memory_bytes", info->memory_bytes);
    groat__json_int(json, "multiprocessors", info->multiprocessors);
    groat__json_int(json, "shared_bytes_max", info->shared_bytes_max);
    groat__json_int(json, "clock_khz", info->clock_khz);
    groat__json_end(json);
}

static void add_row(const groat__cli *cli, groat__table *table,
                    const groat_device_info *info)
{
    if (cli->values.json)
        return;
    groat__table_add(table, "%d", info->ordinal);
    groat__table_add(table, "%s", info->target);
    groat__table_add(table, "%s", info->name);
    groat__table_add(table, "%.1f", (double)info->memory_bytes / 1073741824.0);
    groat__table_add(table, "%d", info->multiprocessors);
    groat__table_add(table, "%d", info->shared_bytes_max);
    groat__table_add(table, "%d", info->clock_khz / 1000);
}

int groat__cmd_devices(groat__cli *cli)
{
    static const char *const heads[] = {
        "device",     "target",         "name", "memory GiB",
        "SMs or CUs", "shared B/block", "MHz",
    };
    groat__table table = {.columns = 7, .right = 0x79};
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);
    size_t count;

    if (code)
        return code;
    count = groat_device_count(cli->context);
    for (size_t i = 0; i < table.columns && count && !cli->values.json; i++)
        groat__table_add(&table, "%s", heads[i]);
    groat__json_string(&cli->json, "default_target",
                       groat_default_target(cli->context));
    groat__json_array(&cli->json, "devices");
    for (size_t i = 0; i < count && !code; i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_device_info info = {.size = sizeof(info)};

        if (groat_device_at(cli->context, i, &info, &error))
            code = groat__cli_fail(cli, &error);
        else {
            device_json(&cli->json, &info);
            add_row(cli, &table, &info);
        }
    }
    groat__json_end(&cli->json);
    if (!cli->values.json && !count)
        groat__cli_say(cli,
                       "no GPU found (groat doctor says why); the default "
                       "target is %s",
                       groat_default_target(cli->context));
    groat__table_print(&table);
    return code;
}
