/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.c finds a family's driver in the list that list.sh generates, stores
 * floats in argument values, and tells inputs from outputs.
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

int64_t groat_arg_of_real(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

double groat_arg_real(int64_t value)
{
    double real;

    memcpy(&real, &value, sizeof(real));
    return real;
}

bool groat_buffer_is_input(const groat_buffer *buffer)
{
    return !buffer->output || buffer->filled;
}
