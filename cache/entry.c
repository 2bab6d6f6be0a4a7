/* SPDX-License-Identifier: Apache-2.0
 *
 * entry.c owns the format in which hosts send each other an entry: one row and
 * its signature.
 *
 *   bytes      contents
 *   14         "groat entry 1\n"
 *   32, 64     Ed25519 public key; signature, that of a bundle with this entry
 *   16         key: XXH3-128 of the identity
 *   6 x 8      facts, signed
 *   4, 4, 4    bytes of identity, log and binary
 *   ...        identity, log, binary, and nothing after them
 *
 * Numbers are little-endian.
 *
 * Invariant: an entry that is read is byte for byte what a trusted key signed.
 * Locking: none.
 */
#include "cache/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char head[] = "groat entry 1\n";

enum {
    HEAD = sizeof(head) - 1,
    AT_SIGNATURE = HEAD + GROAT__SIGNER_BYTES,
    AT_KEY = AT_SIGNATURE + GROAT__SIGNATURE_BYTES,
    AT_FACTS = AT_KEY + 16,
    AT_SIZES = AT_FACTS + 8 * GROAT__FACTS,
    AT_TEXTS = AT_SIZES + 3 * 4
};

static void add_number(groat__str *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char byte = (char)(number >> (8 * i) & 0xff);

        groat__str_addn(out, &byte, 1);
    }
}

static uint64_t read_number(const uint8_t *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = bytes; i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

groat_status groat__entry_write(const groat__entry *entry,
                                const groat__secret *secret, groat__str *out,
                                groat_error *error)
{
    const groat__row row = groat__row_of(entry);
    uint8_t signature[GROAT__SIGNATURE_BYTES];
    uint8_t signer[GROAT__SIGNER_BYTES];
    uint8_t mark[GROAT__MARK_BYTES];
    int64_t facts[GROAT__FACTS];
    groat_status status;

    if (row.bytes > GROAT__ENTRY_MAX ||
        groat__row_room(&row) + AT_TEXTS > GROAT__ENTRY_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "an entry of %llu bytes cannot be sent to a remote; "
                           "the limit is %d bytes",
                           (unsigned long long)groat__row_room(&row),
                           GROAT__ENTRY_MAX);
    if (!groat__sign_mark(&row, mark))
        return groat__fail(error, GROAT_IO,
                           "libsodium could not be initialized");
    status =
        groat__sign_make(secret, mark, sizeof(mark), signer, signature, error);
    if (status != GROAT_OK)
        return status;
    groat__str_addn(out, head, HEAD);
    groat__str_addn(out, (const char *)signer, sizeof(signer));
    groat__str_addn(out, (const char *)signature, sizeof(signature));
    groat__str_addn(out, (const char *)row.key.bytes, sizeof(row.key.bytes));
    memcpy(facts, &row.facts, sizeof(facts));
    for (int i = 0; i < GROAT__FACTS; i++)
        add_number(out, (uint64_t)facts[i], 8);
    add_number(out, row.identity_len, 4);
    add_number(out, row.log_len, 4);
    add_number(out, row.bytes, 4);
    groat__str_addn(out, row.identity, row.identity_len);
    groat__str_addn(out, row.log, row.log_len);
    groat__str_addn(out, row.data, row.bytes);
    return out->failed
               ? groat__fail(error, GROAT_NO_MEMORY, "no memory for an entry")
               : GROAT_OK;
}

/* Parses the bytes into *row, which borrows from them.  False: not an entry. */
static bool take_apart(const uint8_t *data, size_t bytes, groat__row *row)
{
    uint64_t sizes[3];
    int64_t facts[GROAT__FACTS];
    groat__digest key;

    memset(row, 0, sizeof(*row));
    if (bytes < AT_TEXTS || bytes > GROAT__ENTRY_MAX ||
        memcmp(data, head, HEAD) != 0)
        return false;
    for (size_t i = 0; i < 3; i++)
        sizes[i] = read_number(data + AT_SIZES + 4 * i, 4);
    if (sizes[0] + sizes[1] + sizes[2] != bytes - AT_TEXTS)
        return false;
    for (size_t i = 0; i < GROAT__FACTS; i++)
        facts[i] = (int64_t)read_number(data + AT_FACTS + 8 * i, 8);
    memcpy(&row->facts, facts, sizeof(facts));
    row->identity = (const char *)data + AT_TEXTS;
    row->identity_len = (size_t)sizes[0];
    row->log = row->identity + row->identity_len;
    row->log_len = (size_t)sizes[1];
    row->data = row->log + row->log_len;
    row->bytes = (size_t)sizes[2];
    memcpy(row->key.bytes, data + AT_KEY, sizeof(row->key.bytes));
    key = groat__hash128(row->identity, row->identity_len);
    return memcmp(&key, &row->key, sizeof(key)) == 0 &&
           memchr(row->identity, '\0', row->identity_len) == NULL &&
           memchr(row->log, '\0', row->log_len) == NULL;
}

/* Makes the text's memory that of the binary. */
static bool take_over(groat__str *text, const groat__row *row,
                      groat__store_blob *out)
{
    out->log = strndup(row->log, row->log_len);
    if (out->log == NULL)
        return false;
    out->data = memmove(text->data, row->data, row->bytes);
    out->bytes = row->bytes;
    out->facts = row->facts;
    memset(text, 0, sizeof(*text));
    return true;
}

groat__entry_verdict groat__entry_read(groat__str *text,
                                       const groat__trust *trust,
                                       groat__arrival *out)
{
    const uint8_t *at = (const uint8_t *)text->data;
    uint8_t mark[GROAT__MARK_BYTES];
    groat_status status = GROAT_IO;
    groat__row row;

    memset(out, 0, sizeof(*out));
    if (!take_apart(at, text->len, &row))
        return GROAT__ENTRY_MALFORMED;
    if (groat__trust_has(trust, at + HEAD) && groat__sign_mark(&row, mark))
        status =
            groat__sign_check(at + HEAD, at + AT_SIGNATURE, mark, sizeof(mark));
    if (status == GROAT_IO)
        return GROAT__ENTRY_REFUSED;
    memcpy(out->signer, at + HEAD, sizeof(out->signer));
    out->identity = strndup(row.identity, row.identity_len);
    if (status != GROAT_OK || out->identity == NULL ||
        !take_over(text, &row, &out->blob)) {
        groat__arrival_free(out);
        return GROAT__ENTRY_NO_MEMORY;
    }
    out->key = row.key;
    return GROAT__ENTRY_GOOD;
}

void groat__arrival_free(groat__arrival *arrival)
{
    free(arrival->identity);
    groat__store_blob_free(&arrival->blob);
    memset(arrival, 0, sizeof(*arrival));
}
