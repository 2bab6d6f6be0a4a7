/* SPDX-License-Identifier: Apache-2.0
 *
 * cores.c counts the host's processors.  No state, so no locking.
 */
#include "base/cores.h"

#include <unistd.h>

unsigned groat__cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : (unsigned)cores;
}
