/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_suite.h - the tests of a family whose tiles and entries are those of
 * common/kv_entries.h, however it brings the tiles into shared memory.
 */
#ifndef GROAT_TESTS_KV_SUITE_H
#define GROAT_TESTS_KV_SUITE_H

#include "tests/kernels/kv_rig.h"

/* Known tiles: KV-A, KV-B, KV-C and KV-V of the layout's definition. */
enum { KV_KNOWN = 4 };

extern const kv_case kv_known_tiles[KV_KNOWN];

/* Adds the tests to a suite; they open and close contexts themselves.  Without
 * `readers`, fewer of the tests that all families share. */
void kv_add_tests(Suite *suite, bool readers);

#endif
