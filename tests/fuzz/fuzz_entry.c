/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_entry.c: the input as an entry from another host.  As it is, it has no
 * valid signature; with key and signature corrected it is read and written back
 * unchanged, or refused because of its sizes and texts.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Offsets from the table in cache/entry.c. */
enum {
    AT_SIGNER = 14,
    AT_SIGNATURE = 46,
    AT_KEY = 110,
    AT_FACTS = 126,
    AT_SIZES = 174,
    AT_TEXTS = 186
};

static const groat__secret secret = {{3, 1, 4}};

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < bytes; i++)
        sum |= (uint64_t)at[i] << (8 * i);
    return sum;
}

/* Returns true if the sizes add up; then corrects key and signature. */
static bool put_right(uint8_t *data, size_t size)
{
    uint8_t mark[GROAT__MARK_BYTES];
    groat__row row;
    int64_t facts[6];

    memset(&row, 0, sizeof(row));
    row.identity_len = (size_t)number(data + AT_SIZES, 4);
    row.log_len = (size_t)number(data + AT_SIZES + 4, 4);
    row.bytes = (size_t)number(data + AT_SIZES + 8, 4);
    if (row.identity_len + row.log_len + row.bytes != size - AT_TEXTS)
        return false;
    for (size_t i = 0; i < 6; i++)
        facts[i] = (int64_t)number(data + AT_FACTS + 8 * i, 8);
    row.facts = (groat_facts){facts[0], facts[1], facts[2],
                              facts[3], facts[4], facts[5]};
    row.identity = (const char *)data + AT_TEXTS;
    row.log = row.identity + row.identity_len;
    row.data = row.log + row.log_len;
    row.key = groat__hash128(row.identity, row.identity_len);
    memcpy(data + AT_KEY, row.key.bytes, sizeof(row.key.bytes));
    if (!groat__sign_mark(&row, mark) ||
        groat__sign_make(&secret, mark, sizeof(mark), data + AT_SIGNER,
                         data + AT_SIGNATURE, NULL) != GROAT_OK)
        abort();
    return true;
}

static void same_again(const groat__arrival *arrival, const uint8_t *data,
                       size_t size)
{
    const groat__entry entry = {arrival->key,        arrival->identity,
                                arrival->blob.log,   arrival->blob.data,
                                arrival->blob.bytes, arrival->blob.facts};
    groat__str text = {0};

    if (groat__entry_write(&entry, &secret, &text, NULL) != GROAT_OK ||
        text.len != size || memcmp(text.data, data, size) != 0)
        abort();
    groat__str_free(&text);
}

/* Reads a copy, which the arrival may take over; what is read must be written
 * back unchanged. */
static groat__entry_verdict read_copy(const groat__trust *trust,
                                      const uint8_t *data, size_t size)
{
    groat__str copy = {.data = malloc(size + (size == 0)), .len = size};
    groat__entry_verdict verdict;
    groat__arrival arrival;

    if (copy.data == NULL)
        abort();
    if (size > 0)
        memcpy(copy.data, data, size);
    verdict = groat__entry_read(&copy, trust, &arrival);
    if (verdict == GROAT__ENTRY_GOOD)
        same_again(&arrival, data, size);
    groat__arrival_free(&arrival);
    groat__str_free(&copy);
    return verdict;
}

/* An entry whose key and signature are right. */
static void read_signed(const groat__trust *trust, uint8_t *data, size_t size)
{
    bool whole;

    memcpy(data, "groat entry 1\n", AT_SIGNER);
    whole = put_right(data, size);
    switch (read_copy(trust, data, size)) {
    case GROAT__ENTRY_GOOD:
        if (!whole)
            abort();
        break;
    case GROAT__ENTRY_MALFORMED:
        /* A complete entry is refused only if a text has a NUL. */
        if (whole && memchr(data + AT_TEXTS, 0,
                            (size_t)(number(data + AT_SIZES, 4) +
                                     number(data + AT_SIZES + 4, 4))) == NULL)
            abort();
        break;
    case GROAT__ENTRY_REFUSED:
    case GROAT__ENTRY_NO_MEMORY:
        if (whole)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    uint8_t signer[1][GROAT__SIGNER_BYTES];
    uint8_t signature[GROAT__SIGNATURE_BYTES] = {0};
    groat__trust trust = {signer, 1};

    if (copy == NULL || groat__sign_make(&secret, signature, 1, signer[0],
                                         signature, NULL) != GROAT_OK)
        abort();
    (void)read_copy(&trust, data, size);
    if (size >= AT_TEXTS) {
        memcpy(copy, data, size);
        read_signed(&trust, copy, size);
    }
    free(copy);
    return 0;
}
