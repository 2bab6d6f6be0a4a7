/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.c - the families that this tool can run end to end.
 *
 * Owns the list of drivers; each is written in kernels-src/<family>/host.c.
 * A new one is named here, in driver.h, and in the build.
 * Locking: none; the table is const.
 */
#include "cli/driver.h"

#include <string.h>

#include "cli/cmd.h"

static const groat_driver *const drivers[] = {
    &groat_driver_kv_buffer_lds,     &groat_driver_kv_buffer_pipelined,
    &groat_driver_kv_buffer_reg,     &groat_driver_kv_producer_pipeline,
    &groat_driver_paged_row_indices, &groat_driver_plain_read,
    &groat_driver_subtile_loader,    &groat_driver_subtile_loader_st_8x32,
    &groat_driver_tile_loader_lds,
};

const groat_driver *groat__driver_at(size_t index)
{
    return index < sizeof(drivers) / sizeof(drivers[0]) ? drivers[index] : NULL;
}

const groat_driver *groat_driver_find(const char *family)
{
    const groat_driver *driver;

    for (size_t i = 0; (driver = groat__driver_at(i)); i++)
        if (strcmp(driver->family, family) == 0)
            return driver;
    return NULL;
}
