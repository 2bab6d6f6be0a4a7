/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of judge_probe, and the faults that it can commit.
 */
#pragma once

enum probe_mutant {
    PROBE_SOUND,
    /* the pipeline with one step removed */
    PROBE_NO_WAIT,
    PROBE_SHORT_WAIT,
    PROBE_NO_LAST_WAIT,
    PROBE_NO_BARRIER,
    PROBE_NO_WAR_BARRIER,
    PROBE_NO_COMMIT,
    /* bad accesses to shared memory */
    PROBE_SHARED_LOAD_PAST,
    PROBE_SHARED_STORE_PAST,
    PROBE_SHARED_STORE_STRADDLES,
    PROBE_SHARED_STORE_WRAPS,
    PROBE_SHARED_LOAD_MISALIGNED,
    PROBE_SHARED_STORE_MISALIGNED,
    PROBE_LOAD_UNWRITTEN,
    PROBE_LOAD_LEFTOVER,
    /* bad accesses to device memory */
    PROBE_GLOBAL_LOAD_PAST,
    PROBE_GLOBAL_LOAD_STRADDLES,
    PROBE_GLOBAL_LOAD_BEFORE,
    PROBE_GLOBAL_LOAD_NULL,
    PROBE_GLOBAL_LOAD_OFF_2,
    PROBE_GLOBAL_LOAD_OFF_8,
    PROBE_GLOBAL_STORE_PAST,
    PROBE_GLOBAL_STORE_BEFORE,
    PROBE_GLOBAL_STORE_OFF_2,
    /* bad copies */
    PROBE_COPY_SOURCE_PAST,
    PROBE_COPY_SOURCE_BEFORE,
    PROBE_COPY_SOURCE_OFF_2,
    PROBE_COPY_SHARED_PAST,
    PROBE_COPY_SHARED_OFF_2,
    PROBE_COPY_OFFSET_WRAPS,
    PROBE_COPY_TWO_BYTES,
    PROBE_COPY_SIXTEEN_BYTES,
    PROBE_COPY_WRONG_LANE,
    /* values that must be equal across a wave */
    PROBE_M0_VARIES,
    PROBE_SOFFSET_VARIES,
    PROBE_BASE_VARIES,
    PROBE_RECORDS_VARY,
    PROBE_UNIFORM_VARIES,
    PROBE_COPY_DIVERGES,
    PROBE_END_DIVERGES,
    /* wait counts, fences and the end of a thread */
    PROBE_WAIT_64,
    PROBE_WAIT_63,
    PROBE_NO_FENCE,
    PROBE_ENDS_IN_FLIGHT,
    PROBE_ENDS_UNCOMMITTED,
    /* races: no barrier between two waves */
    PROBE_STORE_STORE,
    PROBE_STORE_LOAD,
    PROBE_LOAD_STORE,
    PROBE_STORE_COPY,
    PROBE_COPY_LOAD,
    PROBE_FILLED_STORE_LOAD,
    PROBE_FILLED_LOAD_STORE,
    PROBE_FILLED_COPY_LOAD,
    PROBE_FILLED_LOAD_COPY,
    PROBE_FILLED_LOADS_STORE,
    /* a thread that accesses the bytes of its own copy */
    PROBE_OWN_COPY_LOAD,
    PROBE_OWN_COPY_STORE,
    PROBE_OWN_COPY_COPY,
    /* lanes of a wave with a fence or a wait between them */
    PROBE_LANES_STORE_LOAD,
    PROBE_LANES_COPY_LOAD,
    /* out-of-bounds indices into a local array */
    PROBE_ARRAY_LOAD_PAST,
    PROBE_ARRAY_STORE_BEFORE,
    PROBE_MUTANTS
};

struct judge_probe_args {
    unsigned long long source; /* tiles of 2048 bytes                   */
    unsigned long long output; /* 16 bytes per thread of the grid       */
    unsigned source_bytes;
    unsigned output_bytes;
    unsigned mutant; /* enum probe_mutant; at run time: one compile for all */
    unsigned reserved;
};
