/* SPDX-License-Identifier: Apache-2.0
 *
 * spans.h - what each cluster of a launch did to device memory, and accesses of
 * different clusters that race.
 *
 * Clusters run in any order on hardware.  What one did before its last atomic
 * or volatile access to device memory comes before what a later one does after
 * its first, so that flags, tickets and counters are no race.
 */
#ifndef GROAT_JUDGE_SPANS_H
#define GROAT_JUDGE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Accesses of a cluster to [start, end): loads, or stores. */
typedef struct groat__span {
    uint64_t start;
    uint64_t end;
    uint64_t cluster;
    uint64_t reach; /* once sorted: the largest end of it and stores before */
    size_t value;   /* of a store: place of its bytes in the values */
    uint32_t unit;  /* bytes of an access */
    uint32_t fiber; /* that made the first of them */
    uint32_t step;  /* what to add to it for each other one */
    int32_t site;   /* where all were made */
    bool load;
    bool early;   /* before the cluster's first atomic or volatile access */
    bool late;    /* after its last */
    bool first;   /* of a store: the first of these is there */
    bool plain;   /* a store that is not atomic */
    bool changed; /* one that did not store what was there */
    bool unknown; /* one whose value is not known */
} groat__span;

typedef struct groat__spans {
    groat__span *items;
    size_t count;
    size_t cap;
    uint8_t *values;
    size_t value_count;
    size_t value_cap;
    size_t most; /* that the running cluster may make of `count` */
} groat__spans;

/* Starts a cluster; false if its accesses are not compared: it is the only one
 * of the launch, or there are too many. */
bool groat__spans_start(groat__spans *spans, uint64_t cluster,
                        uint64_t clusters);
/* Adds a span in order of loads, after stores, and addresses; value has the
 * bytes of a store.  A cluster may have some thousands, the others are left
 * out.  False: no memory. */
bool groat__spans_add(groat__spans *spans, const groat__span *span,
                      const void *value);
/* Moves all spans of `from`.  False: no memory. */
bool groat__spans_join(groat__spans *spans, groat__spans *from);
/* Finds a race; of several the one whose later cluster is the lowest, and its
 * lowest address, whose fibers the spans then name; `earlier` is of the lower
 * cluster.  Sorts the list. */
bool groat__spans_race(groat__spans *spans, groat__span *earlier,
                       groat__span *later, uint64_t *address);
void groat__spans_drop(groat__spans *spans);

#endif
