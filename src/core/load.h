/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_LOAD_H
#define GROAT_CORE_LOAD_H

#include "core/job.h"

/* Gets the job's binary and loads it, into a new kernel or into `again`, which
 * was unloaded.  A stored binary that the driver refuses is dropped and
 * made again, twice at most: as any miss, then compiled here without a claim.
 * *out is retained.  Errors: as of groat__job_get_binary(); LOAD_FAILED. */
groat_status groat__kernel_load(groat__job *job, groat_kernel *again,
                                groat_kernel **out, groat_error *error);

#endif
