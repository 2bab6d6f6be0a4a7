/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_suite.h - the tests of a family whose tiles and entries are those of
 * common/kv_entries.h, however it brings the tiles into shared memory.
 */
#ifndef GROAT_TESTS_KV_SUITE_H
#define GROAT_TESTS_KV_SUITE_H

#include "tests/kernels/kv_rig.h"

/* What the test program is about. */
extern const char *const kv_family;
extern const groat_driver *const kv_family_driver;

/* Known tiles: KV-A, KV-B, KV-C and KV-V of the layout's definition. */
typedef struct kv_known {
    const char *name;
    kv_case t;
    uint32_t crc;
    uint64_t fnv;
    struct {
        int at, value;
    } bytes[14];
    struct {
        int burst, lane, m0, soffset, voffset;
    } bursts[8];
} kv_known;

enum { KV_KNOWN = 4 };

extern const kv_known kv_known_tiles[KV_KNOWN];

/* The case with an instruction that the target has. */
kv_case kv_on(const kv_case *t, const char *target);

extern const char *const kv_targets[3];

/* Adds the tests to a suite; they open and close contexts themselves.  Without
 * `readers`, fewer of those of what all families have in common. */
void kv_add_tests(Suite *suite, bool readers);

/* Runs a suite that has them, and says what did not run. */
int kv_main(Suite *suite);

#endif
