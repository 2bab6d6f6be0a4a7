/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_bundle.c: the input as a bundle, as a file and as an image.  Whatever it
 * is, an open, gets, a verify, a diff and a merge neither crash nor give data
 * without a valid checksum and the identity asked for; a merge of it writes a
 * bundle, and merging that one again gives the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cache/cache.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const groat__log silent = {NULL, NULL};

static int count_difference(void *user, groat_bundle_side side,
                            const groat_cache_entry *entry)
{
    (void)side;
    *(size_t *)user += strlen(entry->identity) + strlen(entry->log) + 1;
    return 0;
}

static void ask(groat__bundle *bundle)
{
    groat__store_blob blob = {0};

    for (unsigned n = 0; n < 4; n++) {
        groat__digest key;

        /* The keys of the seeds' entries. */
        memset(key.bytes, (int)n, sizeof(key.bytes));
        if (groat__bundle_get(bundle, &key, "seed", &blob))
            groat__store_blob_free(&blob);
    }
}

/* Returns true if all rows were good; then a file of them is at path. */
static bool merge(groat__bundle *bundle, const char *path)
{
    const groat__secret secret = {{7}};

    return groat__bundle_merge(&bundle, 1, &secret, path, NULL, NULL) ==
           GROAT_OK;
}

static void same_bytes(const char *a, const char *b)
{
    const size_t most = (size_t)1 << 26;
    char *x = NULL;
    char *y = NULL;
    size_t x_bytes = 0;
    size_t y_bytes = 0;

    if (groat__fs_read(a, most, &x, &x_bytes, NULL) != GROAT_OK ||
        groat__fs_read(b, most, &y, &y_bytes, NULL) != GROAT_OK ||
        x_bytes != y_bytes || memcmp(x, y, x_bytes) != 0)
        abort();
    free(x);
    free(y);
}

static void use_bundle(groat__bundle *bundle, const char *dir)
{
    groat_bundle_info info = {.size = sizeof(info)};
    groat__bundle *made = NULL;
    char first[300];
    char second[300];
    size_t sum = 0;

    ask(bundle);
    (void)groat__bundle_describe(bundle, &info, NULL);
    (void)groat__bundle_verify(bundle, NULL, NULL);
    (void)groat__bundle_diff(bundle, bundle, count_difference, &sum, NULL);
    (void)snprintf(first, sizeof(first), "%s/first", dir);
    (void)snprintf(second, sizeof(second), "%s/second", dir);
    if (!merge(bundle, first))
        return;
    if (groat__bundle_open(first, &silent, &made, NULL) != GROAT_OK ||
        groat__bundle_verify(made, NULL, NULL) != GROAT_OK ||
        !merge(made, second))
        abort();
    same_bytes(first, second);
    groat__bundle_close(made);
    (void)unlink(first);
    (void)unlink(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    groat__bundle *bundle = NULL;
    char path[FUZZ_PATH];
    char dir[FUZZ_DIR];

    fuzz_file(dir, path, "bundle", data, size);
    if (groat__bundle_open(path, &silent, &bundle, NULL) == GROAT_OK)
        use_bundle(bundle, dir);
    groat__bundle_close(bundle);
    bundle = NULL;
    if (groat__bundle_open_image(data, size, "image", &silent, &bundle, NULL) ==
        GROAT_OK)
        ask(bundle);
    groat__bundle_close(bundle);
    /* No other file was left behind. */
    (void)unlink(path);
    if (rmdir(dir) != 0)
        abort();
    return 0;
}
