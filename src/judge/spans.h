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

/* Who made the first access of a span, and what to add to the fiber's number
 * for each other one. */
typedef struct groat__span_use {
    uint32_t fiber;
    uint32_t step;
    int32_t site;
} groat__span_use;

/* Accesses of a cluster to [start, end): loads, or stores. */
typedef struct groat__span {
    uint64_t start;
    uint64_t end;
    uint64_t cluster;
    uint64_t reach; /* once sorted: the largest end of it and stores before */
    size_t value;   /* of a store: place of its bytes in the values */
    uint32_t unit;  /* bytes of an access */
    groat__span_use first; /* loads or plain stores of each unit */
    groat__span_use last;
    bool load;
    bool early;  /* before the cluster's first atomic or volatile access */
    bool late;   /* after its last */
    bool plain;  /* stores that are not atomic */
    bool atomic; /* atomic ones */
    bool atomic_first; /* the first of these is there */
    bool changed;      /* plain stores that did not store what was there */
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
/* What groat__spans_compare() found. */
typedef struct groat__spans_found {
    bool order;          /* matters: a cluster's accesses depend on another's */
    bool race;           /* of these: */
    groat__span earlier; /* of the lower cluster */
    groat__span later;
    groat__span_use before; /* who made them, and where */
    groat__span_use after;
    uint64_t address;
} groat__spans_found;

/* Looks for a race; of several takes the one whose later cluster is the lowest,
 * and its lowest address.  Sorts the list. */
void groat__spans_compare(groat__spans *spans, groat__spans_found *found);
void groat__spans_drop(groat__spans *spans);

#endif
