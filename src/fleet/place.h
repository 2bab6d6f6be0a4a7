/* SPDX-License-Identifier: Apache-2.0
 *
 * place.h - where a fleet's objects are kept: a URL, read.
 */
#ifndef GROAT_FLEET_PLACE_H
#define GROAT_FLEET_PLACE_H

#include "groat.h"

/* What the usual variables say of an S3 server; NULL: nothing. */
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
    char *base;    /* URL or path before "/" and a name       */
    char *listing; /* S3: the URL of the bucket               */
    char *prefix;  /* S3: what keys of it begin with, or ""   */
    char *shown;   /* for messages: no password               */
    char *login;   /* S3: "access:secret", or NULL            */
    char *sigv4;   /* S3: what libcurl signs for              */
    char *token;   /* S3: a header line, or NULL              */
    char *bearer;  /* a registry's token, instead of a login; or NULL */
    char *ca;      /* file of certificates; NULL: libcurl's   */
} groat__place;

/* Reads http://, https://, s3://BUCKET/PREFIX or file:///FOLDER.  Errors:
 * INVALID, which says what is allowed; NO_MEMORY.  Free with
 * groat__place_free(). */
groat_status groat__place_read(const char *url, const groat__s3 *s3,
                               groat__place *out, groat_error *error);
void groat__place_free(groat__place *place);

#endif
