/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.c owns the choice of hash: XXH3 of the xxHash library.  It is not
 * a cryptographic hash: it names and checks, it does not authenticate.
 */
#include "base/hash.h"

#include <string.h>

#include <xxhash.h>

groat__digest groat__hash128(const void *data, size_t bytes)
{
    XXH128_canonical_t canonical;
    groat__digest digest;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
    memcpy(digest.bytes, canonical.digest, sizeof(digest.bytes));
    return digest;
}

uint64_t groat__hash64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}
