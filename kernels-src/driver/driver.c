/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.c finds the driver of a family in the list that list.sh makes.
 */
#include "driver.h"

#include <string.h>

const groat_driver *groat_driver_find(const char *family)
{
    for (size_t i = 0; groat_drivers[i] != NULL; i++)
        if (strcmp(groat_drivers[i]->family, family) == 0)
            return groat_drivers[i];
    return NULL;
}
