/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_file.h - writes a fuzzer's input to a file in a new folder.
 */
#ifndef GROAT_FUZZ_FILE_H
#define GROAT_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "tests/folder.h"

enum { FUZZ_DIR = 256, FUZZ_PATH = 300 };

/* Makes the folder and the file in it; the caller removes both. */
static inline void fuzz_file(char dir[FUZZ_DIR], char path[FUZZ_PATH],
                             const char *name, const uint8_t *data, size_t size)
{
    if (!folder_make(dir, FUZZ_DIR, "fuzz"))
        abort();
    (void)snprintf(path, FUZZ_PATH, "%.255s/%.40s", dir, name);
    if (groat__fs_write(path, data, size, 0600, NULL) != GROAT_OK)
        abort();
}

#endif
