/* SPDX-License-Identifier: Apache-2.0
 *
 * places.h - what a finding of the judge says of places, for people.
 */
#ifndef GROAT_CLI_PLACES_H
#define GROAT_CLI_PLACES_H

#include "cli/run/trial.h"

/* Adds to the log of a finding the text of each line that it names, and to its
 * text the buffer that an address is in or next to, by name and element.  Does
 * nothing where there is no memory. */
void groat__places_tell(groat__trial *trial, groat_error *error);

/* "finding": {"buffer", "place", "places": [{"what", "calls": [{"file", "line",
 * "function", "text"}]}]}, the call where it is first; null for an error that
 * is no finding. */
void groat__places_json(groat__json *json, const groat__trial *trial,
                        const groat_error *error);

#endif
