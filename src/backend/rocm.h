/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_ROCM_H
#define GROAT_BACKEND_ROCM_H

#include "backend/backend.h"
#include "base/dl.h"

/* One library of ROCm: the file names it goes by, the preferred one first. */
typedef struct groat__rocm_library {
    const char *override;      /* if not NULL, the only path that is tried    */
    const char *override_name; /* where it came from, e.g. a variable         */
    const char *const *files;  /* "libamdhip64.so.7" ..., ended by NULL       */
} groat__rocm_library;

/* The files of the HIP runtime, for a groat__rocm_library. */
extern const char *const groat__rocm_hip_files[];

/* Opens the library: the user's path, $ROCM_PATH/lib, the loader's places,
 * /opt/rocm*, the distribution's folder, Conda's, Python wheels.  Every
 * library of ROCm is looked for in this one order, so that those that belong
 * together are found together.  It stays mapped after groat__dl_close: the
 * vendor's threads and exit handlers may still run in it.  Errors: NO_DEVICE,
 * NO_MEMORY; *dl is filled in any case and the caller closes it. */
groat_status groat__rocm_open(const groat__env *env,
                              const groat__rocm_library *library, groat__dl *dl,
                              groat_error *error);

/* True when the process has a library of this name loaded already. */
bool groat__rocm_loaded(const char *file);

/* The file name of the first library that dl was linked against and whose name
 * starts with prefix, or NULL.  Borrowed from the mapped library. */
const char *groat__rocm_needed(const groat__dl *dl, const char *prefix);

/* Writes the version of a library: from HIP's packed number (0: unknown), else
 * from the digits of its file name, else "unknown". */
void groat__rocm_version(const groat__dl *dl, int packed, char *out,
                         size_t out_bytes);

#endif
