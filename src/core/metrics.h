/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_METRICS_H
#define GROAT_CORE_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The stages whose times are measured. */
typedef enum groat__stage {
    GROAT__STAGE_LOOKUP,  /* a get that memory answers; 1 in 256         */
    GROAT__STAGE_READ,    /* from store or bundle, without verifying     */
    GROAT__STAGE_VERIFY,  /* comparing identity, checksum and signature  */
    GROAT__STAGE_REMOTE,  /* asking for the entry of another host        */
    GROAT__STAGE_LEASE,   /* asking which host compiles, waiting for it  */
    GROAT__STAGE_COMPILE, /* rendering the source included               */
    GROAT__STAGE_PUT,     /* writing to the store                        */
    GROAT__STAGE_LOAD,    /* loading the module, resolving its functions */
    GROAT__STAGE_LAUNCH,  /* a kernel's first launch, host time          */
    GROAT__STAGES
} groat__stage;

enum { GROAT__BUCKETS = 15, GROAT__SAMPLED = 256 };

typedef struct groat__histogram {
    /* Bucket i counts up to 100 ns * 4^i; the last one, all above. */
    atomic_uint_fast64_t bucket[GROAT__BUCKETS + 1];
    atomic_uint_fast64_t sum_ns;
} groat__histogram;

/* The metrics of one context; start as zeros. */
typedef struct groat__metrics {
    groat__histogram stage[GROAT__STAGES];
    atomic_uint_fast64_t compile_failures;
    atomic_uint_fast64_t compilerless;
} groat__metrics;

/* Adds a time from start_ns to now.  Any thread, no lock. */
void groat__metrics_add(groat__metrics *metrics, groat__stage stage,
                        uint64_t start_ns);
/* Adds a time of spent ns. */
void groat__metrics_spent(groat__metrics *metrics, groat__stage stage,
                          uint64_t spent);

#endif
