/* SPDX-License-Identifier: Apache-2.0
 *
 * places.h - source lines and buffer elements in findings of the judge.
 */
#ifndef GROAT_CLI_PLACES_H
#define GROAT_CLI_PLACES_H

#include "cli/run/trial.h"

/* Adds the text of each source line to the log of a finding, and to its text
 * the buffer and element that its address is in or next to.  Does nothing when
 * out of memory. */
void groat__places_tell(const groat__cli *cli, groat__trial *trial,
                        groat_error *error);

/* Writes "finding": {"buffer", "place", "places": [{"what", "calls": [{"file",
 * "line", "function", "text"}]}]}, innermost call first, or null for an error
 * that is no finding. */
void groat__places_json(groat__json *json, const groat__trial *trial,
                        const groat_error *error);

#endif
