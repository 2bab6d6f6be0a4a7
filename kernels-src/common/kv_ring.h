// SPDX-License-Identifier: Apache-2.0
// The ring of slots that tiles of K and V share: a producer fills slots in
// turn, consumers empty them, and mbarriers synchronise the two sides.
//
// A slot is cut into pieces.  Each piece has two barriers: "full" completes
// once its producers have arrived and all the bytes that they announced have
// landed, "empty" once every reader has released it.  All full barriers lie
// before all empty ones, 8 bytes each:
//
//   full(i, m)     = barriers + 8 * (pieces * i + m)
//   empty(i, m)    = full(i, m) + 8 * slots * pieces
//   slot_ptr(i, m) = memory + i * slot_bytes + m * piece_bytes
//
// Tiles are numbered in the order in which they enter, K and V alike: tile t is
// in slot t % slots.  With turn = t / slots its producer waits for parity 1 ^
// turn % 2 of "empty" (so the first `slots` tiles wait for nothing), and its
// consumers for parity turn % 2 of "full".
//
//   producer  acquire, expect (one thread), the copies that complete on full(),
//             step (every lane: each keeps the state)
//   consumer  wait, read, release, step; to hold a slot while later ones come
//             and go, remember its index and release that
//
// init() takes the arrival counts: of a "full" (1, or one per thread or warp
// that stores by itself) and of an "empty" (one per reader).  A reader is one
// arrival, made when all threads that it stands for have read: a thread, a warp
// after warp_barrier(), or a warp after its own wait for wgmma.
//
// With ctas == 2 the two blocks of a cluster fill each other's slots
// (multicast): a slot is empty when the readers of both blocks have released
// it, so release() arrives in both blocks and readers count twice.  Neither
// block may exit before the other: both end with cluster_barrier().
#pragma once

#include "tma.h"

namespace groat
{

template <int slot_count, int piece_count, u32 bytes_of_slot, int cta_count = 1>
struct kv_ring {
    static constexpr u32 slots = slot_count;
    static constexpr u32 pieces = piece_count;
    static constexpr u32 ctas = cta_count;
    static constexpr u32 slot_bytes = bytes_of_slot;
    static constexpr u32 piece_bytes = slot_bytes / pieces;
    static constexpr u32 bytes = slots * slot_bytes;
    static constexpr u32 barrier_bytes = 16 * slots * pieces;
    static_assert(slot_count >= 1 && piece_count >= 1 &&
                      slot_bytes % (pieces * 128) == 0,
                  "kv_ring: pieces of whole 128 bytes");
    static_assert(cta_count == 1 || cta_count == 2, "kv_ring: 1 or 2 blocks");

    u32 memory;   // shared address of slot 0, aligned for its swizzle
    u32 barriers; // shared address of full(0, 0)

    GROAT_DEVICE constexpr u32 slot_ptr(u32 index, u32 piece = 0) const
    {
        return memory + index * slot_bytes + piece * piece_bytes;
    }

    GROAT_DEVICE constexpr u32 full(u32 index, u32 piece = 0) const
    {
        return barriers + 8 * (pieces * index + piece);
    }

    GROAT_DEVICE constexpr u32 empty(u32 index, u32 piece = 0) const
    {
        return full(index, piece) + 8 * slots * pieces;
    }

    // Called by one thread.  A barrier of the block, or of the cluster, must
    // follow before first use.
    GROAT_DEVICE void init(u32 fillers, u32 readers) const
    {
        GROAT_ROLLED
        for (u32 i = 0; i < slots * pieces; i++) {
            mbarrier_init(barriers + 8 * i, fillers);
            mbarrier_init(barriers + 8 * (slots * pieces + i), readers * ctas);
        }
        mbarrier_init_fence();
    }
};

// One side's position; a side that waits for "empty" begins with parity 1.
template <typename ring> struct ring_place {
    ring in;
    u32 index;
    u32 parity;

    GROAT_DEVICE void step()
    {
        index++;
        if (index == ring::slots) {
            index = 0;
            parity ^= 1;
        }
    }
};

template <typename ring> struct kv_producer : ring_place<ring> {
    GROAT_DEVICE explicit kv_producer(const ring &in)
        : ring_place<ring>{in, 0, 1}
    {
    }

    template <int piece = 0> GROAT_DEVICE u32 full() const
    {
        return this->in.full(this->index, piece);
    }

    template <int piece = 0> GROAT_DEVICE u32 slot_ptr() const
    {
        return this->in.slot_ptr(this->index, piece);
    }

    // Waits until the readers of the slot's last tile released the piece.
    template <int piece = 0> GROAT_DEVICE void acquire() const
    {
        mbarrier_wait(this->in.empty(this->index, piece), this->parity);
    }

    // One producer's arrival, which announces `bytes` of copies that complete
    // on full(); may come before or after these copies.  Other data that must
    // arrive with the piece is counted here and copied on full() too.
    template <int piece = 0>
    GROAT_DEVICE void expect(u32 bytes, bool issue = true) const
    {
        mbarrier_expect(full<piece>(), bytes, issue);
    }

    // The arrival of a producer that stored by itself, its stores done.
    template <int piece = 0> GROAT_DEVICE void commit(bool issue = true) const
    {
        mbarrier_arrive(full<piece>(), issue);
    }
};

template <typename ring> struct kv_consumer : ring_place<ring> {
    GROAT_DEVICE explicit kv_consumer(const ring &in)
        : ring_place<ring>{in, 0, 0}
    {
    }

    template <int piece = 0> GROAT_DEVICE u32 slot_ptr() const
    {
        return this->in.slot_ptr(this->index, piece);
    }

    // Waits until the piece is full.
    template <int piece = 0> GROAT_DEVICE void wait() const
    {
        mbarrier_wait(this->in.full(this->index, piece), this->parity);
    }

    // One reader is done with a piece of slot `index`; does not step.
    template <int piece = 0>
    GROAT_DEVICE void release(u32 index, bool issue = true) const
    {
        u32 empty = this->in.empty(index, piece);

        if constexpr (ring::ctas == 1) {
            mbarrier_arrive(empty, issue);
        } else {
            mbarrier_arrive_peer(empty, 0, issue);
            mbarrier_arrive_peer(empty, 1, issue);
        }
    }
};

} // namespace groat
