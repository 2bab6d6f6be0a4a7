/* SPDX-License-Identifier: Apache-2.0
 *
 * oci.h - a bundle as an artifact of an OCI registry.
 */
#ifndef GROAT_FLEET_OCI_H
#define GROAT_FLEET_OCI_H

#include <stddef.h>

#include "groat.h"

enum { GROAT__OCI_DIGEST = 72 }; /* "sha256:", 64 hex digits and NUL */

/* Pushes bytes as the only layer of an artifact to
 * oci[+http]://[USER:PASSWORD@]HOST/NAME[:TAG]; returns the digest of its
 * manifest.  ca: file of trusted certificates; NULL: libcurl's.  Errors:
 * INVALID (the URL), IO, NO_DEVICE (no libcurl), NO_MEMORY.
 */
groat_status groat__oci_push(const char *url, const char *ca, const void *data,
                             size_t bytes, char digest[GROAT__OCI_DIGEST],
                             groat_error *error);

/* Pulls the bytes of HOST/NAME@DIGEST or HOST/NAME:TAG; checks every digest.
 * *data is malloc'd.  Errors: as above; IO also if the layer is too large. */
groat_status groat__oci_pull(const char *url, const char *ca, char **data,
                             size_t *bytes, groat_error *error);

#endif
