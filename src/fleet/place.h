/* SPDX-License-Identifier: Apache-2.0
 *
 * place.h - where a fleet's objects are kept, parsed from a URL.
 */
#ifndef GROAT_FLEET_PLACE_H
#define GROAT_FLEET_PLACE_H

#include <stdbool.h>

#include "groat.h"

/* The usual environment variables for an S3 server; NULL: not set. */
typedef struct groat__s3 {
    const char *access;   /* AWS_ACCESS_KEY_ID               */
    const char *secret;   /* AWS_SECRET_ACCESS_KEY           */
    const char *token;    /* AWS_SESSION_TOKEN               */
    const char *region;   /* AWS_REGION, AWS_DEFAULT_REGION  */
    const char *endpoint; /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL */
} groat__s3;

typedef enum groat__place_kind {
    GROAT__PLACE_HTTP,
    GROAT__PLACE_S3,
    GROAT__PLACE_FOLDER
} groat__place_kind;

typedef struct groat__place {
    groat__place_kind kind;
    char *base;    /* URL or path before "/" and a name               */
    char *listing; /* S3: the URL of the bucket                       */
    char *prefix;  /* S3: prefix of the keys, or ""                   */
    char *shown;   /* for messages, without a password                */
    char *login;   /* S3: "access:secret", or NULL                    */
    char *sigv4;   /* S3: libcurl's signing options                   */
    char *token;   /* S3: a header line with the token, or NULL       */
    char *bearer;  /* a registry's token, instead of a login; or NULL */
    char *ca;      /* file of certificates; NULL: libcurl's           */
} groat__place;

/* Parses http://, https://, s3://BUCKET/PREFIX or file:///FOLDER.  Errors:
 * INVALID, with the allowed forms; NO_MEMORY.  Free with groat__place_free().
 */
groat_status groat__place_read(const char *url, const groat__s3 *s3,
                               groat__place *out, groat_error *error);
void groat__place_free(groat__place *place);

/* Replaces each %XX of a text by its byte, as of a password with '/'.  Returns
 * false at another % and at %00. */
bool groat__percent_decode(char *text);

#endif
