/* SPDX-License-Identifier: Apache-2.0
 *
 * tuned.h - choices that were measured, kept in the store and in bundles.
 */
#ifndef GROAT_ATTENTION_TUNED_H
#define GROAT_ATTENTION_TUNED_H

#include <stdbool.h>

#include "attention/choose.h"
#include "spec/arch.h"

/* Describes the device of a target.  Errors: NO_DEVICE, and others of the
 * driver. */
groat_status groat__decode_device_of(groat_context *context,
                                     const groat__target *target,
                                     groat__decode_device *out,
                                     groat_error *error);

/* Takes the choice that was recorded for a checked shape on a device of that
 * name from the store, else from a bundle.  False: there is none that can be
 * used. */
bool groat__decode_find_tuned(groat_context *context,
                              const groat__target *target, const char *device,
                              const groat_decode_shape *shape,
                              groat_decode_choice *choice);

#endif
