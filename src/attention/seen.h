/* SPDX-License-Identifier: Apache-2.0
 *
 * seen.h - which keys of a sequence its queries see; for library and tool.
 */
#ifndef GROAT_ATTENTION_SEEN_H
#define GROAT_ATTENTION_SEEN_H

#include "groat_attention.h"

/* Returns the first key of a sequence of `length` keys that one of its queries
 * sees, which is what its first query sees; 0 if that one sees none. */
static inline uint32_t groat__decode_first_seen(const groat_decode_shape *s,
                                                uint32_t length)
{
    int64_t at = (int64_t)length - s->q_len, seen = s->seen;

    if (s->mask == GROAT_DECODE_WINDOW && at >= seen)
        return (uint32_t)(at + 1 - seen);
    return s->mask == GROAT_DECODE_CHUNK && at > 0
               ? (uint32_t)(at / seen * seen)
               : 0;
}

#endif
