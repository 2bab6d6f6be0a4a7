/* SPDX-License-Identifier: Apache-2.0
 *
 * sign.c owns the signatures of bundles: marks of rows (BLAKE2b-256), Ed25519
 * signatures over them, secret keys and lists of trusted keys.  libsodium does
 * the cryptography.
 *
 * Invariant: a mark covers every byte of a row that a get returns, lengths
 * included, so no two rows share one; signed text begins with a line that
 * begins nothing else that groat signs.
 * Locking: none; libsodium's own initialisation may be run by many threads.
 */
#include "cache/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/error.h"
#include "base/fs.h"

enum {
    KEY_DIGITS = 64,          /* of a public or a secret key, in hex */
    TRUST_FILE_MAX = 1 << 20, /* bytes                               */
    SECRET_FILE_MAX = 1 << 10 /* bytes                               */
};

static const char signed_head[] = "groat bundle 1\n";

static bool ready(void)
{
    return sodium_init() >= 0;
}

/* ---- marks and signatures ---------------------------------------------- */

static void hash_number(crypto_generichash_state *state, uint64_t number)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    (void)crypto_generichash_update(state, bytes, sizeof(bytes));
}

static void hash_bytes(crypto_generichash_state *state, const void *data,
                       size_t bytes)
{
    hash_number(state, bytes);
    (void)crypto_generichash_update(state, bytes == 0 ? (const void *)"" : data,
                                    bytes);
}

bool groat__sign_mark(const groat__row *row, uint8_t mark[GROAT__MARK_BYTES])
{
    const size_t key = sizeof(row->key.bytes);
    int64_t facts[GROAT__FACTS];
    crypto_generichash_state state;

    if (!ready())
        return false;
    (void)crypto_generichash_init(&state, NULL, 0, GROAT__MARK_BYTES - key);
    hash_bytes(&state, row->key.bytes, key);
    hash_bytes(&state, row->identity, row->identity_len);
    hash_bytes(&state, row->log, row->log_len);
    memcpy(facts, &row->facts, sizeof(facts));
    for (int i = 0; i < GROAT__FACTS; i++)
        hash_number(&state, (uint64_t)facts[i]);
    hash_bytes(&state, row->data, row->bytes);
    memcpy(mark, row->key.bytes, key);
    (void)crypto_generichash_final(&state, mark + key, GROAT__MARK_BYTES - key);
    return true;
}

/* Joins head and marks, since Ed25519 reads its text twice; NULL: no memory. */
static uint8_t *signed_text(const uint8_t *marks, size_t bytes, size_t *len)
{
    size_t head = sizeof(signed_head) - 1;
    uint8_t *text = malloc(head + bytes);

    if (text == NULL)
        return NULL;
    memcpy(text, signed_head, head);
    if (bytes > 0)
        memcpy(text + head, marks, bytes);
    *len = head + bytes;
    return text;
}

groat_status groat__sign_make(const groat__secret *secret, const uint8_t *marks,
                              size_t bytes, uint8_t signer[GROAT__SIGNER_BYTES],
                              uint8_t signature[GROAT__SIGNATURE_BYTES],
                              groat_error *error)
{
    uint8_t pair[crypto_sign_SECRETKEYBYTES];
    size_t len = 0;
    uint8_t *text = signed_text(marks, bytes, &len);

    if (text == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory to sign");
    if (!ready()) {
        free(text);
        return groat__fail(error, GROAT_IO,
                           "libsodium could not be initialized");
    }
    (void)crypto_sign_seed_keypair(signer, pair, secret->seed);
    (void)crypto_sign_detached(signature, NULL, text, len, pair);
    sodium_memzero(pair, sizeof(pair));
    free(text);
    return GROAT_OK;
}

groat_status groat__sign_check(const uint8_t signer[GROAT__SIGNER_BYTES],
                               const uint8_t signature[GROAT__SIGNATURE_BYTES],
                               const uint8_t *marks, size_t bytes)
{
    groat_status status = GROAT_IO;
    size_t len = 0;
    uint8_t *text = signed_text(marks, bytes, &len);

    if (text == NULL)
        return GROAT_NO_MEMORY;
    if (ready() &&
        crypto_sign_verify_detached(signature, text, len, signer) == 0)
        status = GROAT_OK;
    free(text);
    return status;
}

/* ---- secret keys ------------------------------------------------------- */

static groat_status fail_new(const char *path, groat_error *error)
{
    return groat__fail(error, GROAT_IO, "cannot write %s: %s", path,
                       strerror(errno));
}

/* Writes a new file: no key is ever overwritten. */
static groat_status write_new(const char *path, const char *text, size_t len,
                              groat_error *error)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    groat_status status = GROAT_OK;
    groat__fs_limit limit;
    bool whole;

    if (fd < 0)
        return groat__fail(error, GROAT_IO, "cannot make %s: %s", path,
                           strerror(errno));
    groat__fs_limit_begin(&limit);
    whole = fchmod(fd, 0600) == 0 && groat__fs_write_all(fd, text, len) == 0;
    groat__fs_limit_end(&limit);
    if (!whole)
        status = fail_new(path, error);
    if (close(fd) != 0 && whole)
        status = fail_new(path, error);
    if (status != GROAT_OK)
        (void)unlink(path);
    return status;
}

groat_status groat__secret_make(const char *path, char public_key[65],
                                groat_error *error)
{
    uint8_t pair[crypto_sign_SECRETKEYBYTES];
    uint8_t signer[GROAT__SIGNER_BYTES];
    char text[KEY_DIGITS + 2];
    groat__secret secret;
    groat_status status;

    if (!ready())
        return groat__fail(error, GROAT_IO,
                           "libsodium could not be initialized");
    randombytes_buf(secret.seed, sizeof(secret.seed));
    (void)crypto_sign_seed_keypair(signer, pair, secret.seed);
    groat__hex(text, secret.seed, sizeof(secret.seed));
    text[KEY_DIGITS] = '\n';
    status = write_new(path, text, KEY_DIGITS + 1, error);
    if (status == GROAT_OK)
        groat__hex(public_key, signer, sizeof(signer));
    sodium_memzero(pair, sizeof(pair));
    sodium_memzero(text, sizeof(text));
    groat__secret_wipe(&secret);
    return status;
}

/* Checks that the file belongs to this user or root, and that its mode has none
 * of the bits by which others may `verb` it. */
static groat_status check_file(const char *what, const char *path,
                               unsigned bits, const char *verb, unsigned want,
                               groat_error *error)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return GROAT_OK; /* the read reports it */
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return groat__fail(error, GROAT_IO,
                           "%s %s belongs to user %u, not to user %u or root; "
                           "run: chown %u %s",
                           what, path, (unsigned)st.st_uid, (unsigned)geteuid(),
                           (unsigned)geteuid(), path);
    if ((st.st_mode & bits) != 0)
        return groat__fail(error, GROAT_IO,
                           "%s %s has mode %04o: others may %s it; run: "
                           "chmod %o %s",
                           what, path, (unsigned)st.st_mode & 07777, verb, want,
                           path);
    return GROAT_OK;
}

groat_status groat__secret_read(const char *path, groat__secret *out,
                                groat_error *error)
{
    groat_status status;
    char *text = NULL;
    size_t bytes = 0;

    status = check_file("secret key", path, 077, "read", 0600, error);
    if (status == GROAT_OK)
        status = groat__store_is_not(path, error);
    if (status == GROAT_OK)
        status = groat__fs_read(path, SECRET_FILE_MAX, &text, &bytes, error);
    if (status != GROAT_OK)
        return status;
    if (bytes > 0 && text[bytes - 1] == '\n')
        text[bytes - 1] = '\0';
    if (!groat__unhex(out->seed, sizeof(out->seed), text))
        status = groat__fail(error, GROAT_IO,
                             "%s is no secret key: %d hex digits were "
                             "expected; groat cache keygen makes one",
                             path, KEY_DIGITS);
    sodium_memzero(text, bytes);
    free(text);
    return status;
}

void groat__secret_wipe(groat__secret *secret)
{
    sodium_memzero(secret, sizeof(*secret));
}

/* ---- trust ------------------------------------------------------------- */

/* Strips the comment and the surrounding blanks from a line. */
static char *trim(char *line)
{
    size_t len;

    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    len = strlen(line);
    while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
        line[--len] = '\0';
    return line;
}

static groat_status read_key(const char *path, unsigned number,
                             const char *line, uint8_t key[GROAT__SIGNER_BYTES],
                             groat_error *error)
{
    if (!groat__unhex(key, GROAT__SIGNER_BYTES, line))
        return groat__fail(error, GROAT_INVALID,
                           "%s line %u is '%.70s', not a public key of %d hex "
                           "digits",
                           path, number, line, KEY_DIGITS);
    /* Fifteen of sixteen secret keys fail this.  None is shown. */
    return crypto_core_ed25519_is_valid_point(key)
               ? GROAT_OK
               : groat__fail(error, GROAT_INVALID,
                             "%s line %u is no public key of Ed25519: is it a "
                             "secret key, whose public key groat cache keygen "
                             "printed?",
                             path, number);
}

static groat_status read_keys(const char *path, char *text, groat__trust *out,
                              groat_error *error)
{
    groat_status status = GROAT_OK;
    unsigned number = 1;

    for (char *line = text; line != NULL && status == GROAT_OK; number++) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end++ = '\0';
        line = trim(line);
        if (*line != '\0')
            status =
                read_key(path, number, line, out->keys[out->count++], error);
        line = end;
    }
    return status;
}

groat_status groat__trust_read(const char *path, groat__trust *out,
                               groat_error *error)
{
    groat__trust trust = {NULL, 0};
    groat_status status;
    char *text = NULL;
    size_t lines = 1;
    size_t bytes = 0;

    /* Whoever can write it decides whose code is run. */
    status = check_file("trust file", path, 022, "write", 0644, error);
    if (status == GROAT_OK)
        status = groat__store_is_not(path, error);
    if (status == GROAT_OK)
        status = groat__fs_read(path, TRUST_FILE_MAX, &text, &bytes, error);
    if (status != GROAT_OK)
        return status;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\0') /* would hide the text after it */
            text[i] = '?';
        lines += text[i] == '\n';
    }
    trust.keys = calloc(lines, sizeof(trust.keys[0]));
    if (trust.keys == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", path);
    else
        status = read_keys(path, text, &trust, error);
    free(text);
    if (status == GROAT_OK)
        *out = trust;
    else
        groat__trust_free(&trust);
    return status;
}

void groat__trust_free(groat__trust *trust)
{
    free(trust->keys);
    memset(trust, 0, sizeof(*trust));
}

bool groat__trust_has(const groat__trust *trust,
                      const uint8_t signer[GROAT__SIGNER_BYTES])
{
    for (size_t i = 0; i < trust->count; i++)
        if (memcmp(trust->keys[i], signer, GROAT__SIGNER_BYTES) == 0)
            return true;
    return false;
}

groat_status groat__trust_check(const groat__trust *trust,
                                const groat__bundle *bundle, groat_error *error)
{
    char signer[KEY_DIGITS + 1];

    if (!bundle->is_signed)
        return groat__fail(error, GROAT_IO,
                           "bundle %s is not signed; sign it with groat cache "
                           "sign, or allow unsigned bundles",
                           bundle->path);
    if (groat__trust_has(trust, bundle->signer))
        return GROAT_OK;
    groat__hex(signer, bundle->signer, GROAT__SIGNER_BYTES);
    if (trust->count == 0)
        return groat__fail(error, GROAT_IO,
                           "bundle %s is signed by %s, and no key is trusted; "
                           "name a file of public keys with --trust or "
                           "GROAT_TRUST",
                           bundle->path, signer);
    return groat__fail(error, GROAT_IO,
                       "bundle %s is signed by %s, which is none of the %zu "
                       "trusted keys",
                       bundle->path, signer, trust->count);
}
