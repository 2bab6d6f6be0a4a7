/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_store.c: the input as the database of a store.  Whatever it is, an open,
 * gets, a listing and a verify neither crash nor give data that was not put; a
 * store that opens accepts a put and returns it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cache/cache.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_entry(void *user, const groat_cache_entry *entry)
{
    *(size_t *)user += strlen(entry->identity) + strlen(entry->log) + 1;
    return 0;
}

/* The key of a seed's entry. */
static groat__digest seed_key(unsigned n)
{
    groat__digest key;

    memset(key.bytes, (int)n, sizeof(key.bytes));
    return key;
}

static void use_store(groat__store *store)
{
    const groat__digest fresh = seed_key(0xf0);
    groat__store_blob blob = {0};
    groat_cache_stat stat;
    size_t sum = 0;

    memset(&stat, 0, sizeof(stat));
    for (unsigned n = 0; n < 4; n++) {
        groat__digest key = seed_key(n);

        if (groat__store_get(store, &key, "seed", &blob))
            groat__store_blob_free(&blob);
    }
    (void)groat__store_stat(store, &stat, NULL);
    (void)groat__store_each(store, "0", count_entry, &sum, NULL);
    if (groat__store_verify(store, NULL, NULL, NULL) != GROAT_OK)
        abort();
    groat__store_put(store, &fresh, "fresh", "bytes", 5, "log", NULL);
    if (!groat__store_get(store, &fresh, "fresh", &blob) || blob.bytes != 5 ||
        memcmp(blob.data, "bytes", 5) != 0 || strcmp(blob.log, "log") != 0)
        abort();
    groat__store_blob_free(&blob);
    if (groat__store_clear(store, NULL, NULL) != GROAT_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    groat__store_options options = {NULL, 1 << 20, {NULL, NULL}, NULL, false};
    groat__store *store = NULL;
    char path[FUZZ_PATH];
    char dir[FUZZ_DIR];

    fuzz_file(dir, path, "groat.sqlite", data, size);
    options.dir = dir;
    if (groat__store_open(&options, &store, NULL) == GROAT_OK)
        use_store(store);
    groat__store_close(store);
    /* A newer schema is refused and left; clear removed files set aside. */
    (void)unlink(path);
    if (rmdir(dir) != 0)
        abort();
    return 0;
}
