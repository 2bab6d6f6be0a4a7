// SPDX-License-Identifier: Apache-2.0
// Kernels of one fault each.  Where a line ends in "// N", the finding of fault
// N is there; the comment in front of a case says what is wrong and, behind the
// colon, words that the finding has.
#include "params.h"

#include "../common/tma.h"
#include "args.h"

namespace groat
{
namespace faults
{

using namespace params;

constexpr u32 threads = 128;
constexpr u32 bar = 4088; // an mbarrier's address

struct kernel {
    const faults_args &args;
    u32 base;
    u32 t;
    u32 sum;

    GROAT_DEVICE u32 at(u32 index) const
    {
        return base + index * 4;
    }

    GROAT_DEVICE void meet()
    {
        shared_fence();
        block_barrier();
    }

    // Every thread's word is there.
    GROAT_DEVICE void fill()
    {
        shared_store4(at(t), t);
        meet();
    }

    GROAT_DEVICE buffer source() const
    {
        return make_buffer(args.x, args.words * 4);
    }

    GROAT_DEVICE void copy(u32 slot, u32 step) const
    {
        async_copy<4>(source(), base + slot * 512 + t / 32 * 128, t % 32,
                      t % 128 * 4, step * 512);
    }

    GROAT_DEVICE u32 slot_word(u32 slot) const
    {
        return base + slot * 512 + t * 4;
    }

    GROAT_DEVICE void init_barrier(u32 count)
    {
        if (t == 0) {
            mbarrier_init(base + bar, count);
            mbarrier_init_fence();
        }
        block_barrier();
    }

    GROAT_DEVICE void sharing()
    {
        // no barrier between a store and another thread's load: has written
        if constexpr (fault == 1) {
            shared_store4(at(t), t);
            if (!wrong)
                meet();
            sum += shared_load4(at((t + 33) % threads)); // 1
        }
        // no barrier between a load and another thread's store: read
        if constexpr (fault == 2) {
            fill();
            sum += shared_load4(at((t + 33) % threads));
            if (!wrong)
                meet();
            shared_store4(at(t), t + 1); // 2
        }
        // two threads store to one word: wrote
        if constexpr (fault == 3)
            shared_store4(at(wrong ? t / 2 : t), t); // 3
        // a wave stays away from a loop's barrier: ended
        if constexpr (fault == 4)
            for (u32 i = 0; i < 3; i++)
                if (!wrong || t / 32 != 2)
                    block_barrier(); // 4
        // half of the threads return before the barrier: ended
        if constexpr (fault == 5) {
            if (wrong && t >= threads / 2)
                return;
            block_barrier(); // 5
        }
        // a load right behind the block's shared memory: the block has
        if constexpr (fault == 6)
            sum += wrong ? shared_load4(at(1024)) : 0; // 6
        // a store right behind it: the block has
        if constexpr (fault == 7)
            shared_store4(at(wrong ? 1024 - 127 + t : t), t); // 7
        // a load in front of it: the block has
        if constexpr (fault == 8) {
            fill();
            sum += shared_load4(at(wrong ? t - 1 : t)); // 8
        }
        // nobody wrote the word: nobody has written
        if constexpr (fault == 9) {
            if (!wrong)
                fill();
            sum += shared_load4(at(t)); // 9
        }
        // half of the words were written: nobody has written
        if constexpr (fault == 10) {
            if (!wrong || t < threads / 2)
                shared_store4(at(t), t);
            meet();
            sum += shared_load4(at(threads - 1 - t)); // 10
        }
    }

    GROAT_DEVICE void reaching()
    {
        // a load right behind a buffer: byte 4096 of a buffer of 4096
        if constexpr (fault == 11)
            sum += global_load4(args.x + (wrong ? 897 + t : t) * 4); // 11
        // a load in front of one: of a buffer of 4096
        if constexpr (fault == 12)
            sum += global_load4(args.x - (wrong && t == 0 ? 4 : 0)); // 12
        // a store right behind one: byte 512 of a buffer of 512
        if constexpr (fault == 13)
            if (block_index() == 0)
                global_store4(args.y + (t + (wrong && t > 126)) * 4, t); // 13
        // a store in front of one: of a buffer of 512
        if constexpr (fault == 14)
            if (block_index() == 0)
                global_store4(args.y + t * 4 - (wrong && t == 0) * 4, t); // 14
        // 16 bytes of shared memory at a multiple of 4: misaligned
        if constexpr (fault == 15) {
            shared_store16(base + t * 16, vec4{1, 2, 3, 4});
            meet();
            sum += shared_load16(base + t % 64 * 16 + (wrong ? 4 : 0)).x; // 15
        }
        // 8 bytes stored at a multiple of 4: misaligned
        if constexpr (fault == 16)
            shared_store8(base + t * 8 + (wrong ? 4 : 0), vec2{1, 2}); // 16
        // 16 bytes of a buffer at a multiple of 4: no multiple of
        if constexpr (fault == 17)
            sum += global_load16(args.x + t * 16 + (wrong ? 4 : 0)).x; // 17
        // 4 bytes stored at an odd address: no multiple of 4
        if constexpr (fault == 18)
            if (block_index() == 0)
                global_store4(args.y + t * 4 + (wrong ? 1 : 0), t); // 18
        // an index that passes an array of registers: of an array
        if constexpr (fault == 19) {
            u32 words[4] = {1, 2, 3, 4};

            sum += words[(t & 3) + (wrong ? args.words >> 10 : 0)]; // 19
        }
        // an index in front of one: of an array
        if constexpr (fault == 20) {
            u32 words[4] = {1, 2, 3, 4};
            const int index = static_cast<int>(t & 3);

            sum += words[index - (wrong ? 1 : 0)]; // 20
        }
    }

    GROAT_DEVICE void copying()
    {
        // no wait for an asynchronous copy: in flight
        if constexpr (fault == 21) {
            copy(0, 0);
            async_commit();
            if (!wrong)
                async_wait<0, 0>();
            sum += shared_load4(slot_word(0)); // 21
            async_wait<0, 0>();
        }
        // a wait that lets one copy too many stay: in flight
        if constexpr (fault == 22) {
            for (u32 i = 0; i < 3; i++) {
                copy(i, i);
                async_commit();
            }
            async_wait<wrong ? 3 : 2, wrong ? 3 : 2>();
            sum += shared_load4(slot_word(0)); // 22
            async_wait<0, 0>();
        }
        // a copy that no group has, waited for as if one had: in flight
        if constexpr (fault == 23) {
            copy(0, 0);
            if (!wrong)
                async_commit();
            async_wait<0, 0>();
            sum += shared_load4(slot_word(0)); // 23
            async_commit();
            async_wait<0, 0>();
        }
        // the thread ends while its copy is in flight: ends with
        if constexpr (fault == 24) {
            copy(0, 0); // 24
            async_commit();
            if (!wrong)
                async_wait<0, 0>();
        }
        // another thread's copy, waited for by that thread alone: has written
        if constexpr (fault == 25) {
            copy(0, 0);
            async_commit();
            async_wait<0, 0>();
            if (!wrong)
                block_barrier();
            sum += shared_load4(base + (t + 33) % threads * 4); // 25
        }
        // a slot is filled while another thread reads it: read
        if constexpr (fault == 26) {
            fill();
            sum += shared_load4(at((t + 33) % threads));
            if (!wrong)
                block_barrier();
            copy(0, 0); // 26
            async_commit();
            async_wait<0, 0>();
        }
        // a store into a slot that is being filled: in flight
        if constexpr (fault == 27) {
            copy(0, 0);
            async_commit();
            if (!wrong)
                async_wait<0, 0>();
            shared_store4(slot_word(0), t); // 27
            async_wait<0, 0>();
        }
        // a view of a buffer that is longer than the buffer: of a buffer of
        if constexpr (fault == 28) {
            const buffer view = make_buffer(args.x, wrong ? 8192 : 4096);

            async_copy<4>(view, base + t / 32 * 128, t % 32, t * 4, // 28
                          3968);
            async_commit();
            async_wait<0, 0>();
        }
        // a ring of two slots that is filled one step too early: read|in flight
        if constexpr (fault == 29) {
            copy(0, 0);
            async_commit();
            for (u32 i = 0; i < 3; i++) {
                if (wrong) {
                    copy((i + 1) % 2, i + 1); // 29
                    async_commit();
                }
                async_wait<wrong ? 1 : 0, wrong ? 1 : 0>();
                block_barrier();
                sum +=
                    shared_load4(base + i % 2 * 512 + (t + 33) % threads * 4);
                if (!wrong) {
                    copy((i + 1) % 2, i + 1);
                    async_commit();
                }
            }
            async_wait<0, 0>();
        }
        // copies into the bytes behind shared memory: the block has
        if constexpr (fault == 30) {
            async_copy<4>(source(), // 30
                          base + (wrong ? 3588 : 3584) + t / 32 * 128, t % 32,
                          t * 4, 0);
            async_commit();
            async_wait<0, 0>();
        }
    }

    GROAT_DEVICE void phases()
    {
        // an mbarrier that nobody has made: mbarrier
        if constexpr (fault == 31) {
            if (!wrong)
                init_barrier(threads);
            mbarrier_arrive(base + bar); // 31
        }
        // more arrivals are expected than come: waits for ever
        if constexpr (fault == 32) {
            init_barrier(wrong ? threads + 1 : threads);
            mbarrier_arrive(base + bar);
            mbarrier_wait(base + bar, 0); // 32
        }
        // the parity of the phase to come: the wait is for a phase too late
        if constexpr (fault == 33) {
            init_barrier(threads);
            mbarrier_arrive(base + bar);
            mbarrier_wait(base + bar, 0);
            mbarrier_wait(base + bar, wrong ? 1 : 0); // 33
        }
        // no wait for a bulk copy: in flight
        if constexpr (fault == 34) {
            init_barrier(1);
            mbarrier_expect(base + bar, 512, t == 0);
            bulk_load(base, args.x, 512, base + bar, t == 0);
            if (!wrong)
                mbarrier_wait(base + bar, 0);
            sum += shared_load4(at(t)); // 34
            mbarrier_wait(base + bar, 0);
        }
        // fewer bytes are expected than the copy brings: waits for ever
        if constexpr (fault == 35) {
            init_barrier(1);
            mbarrier_expect(base + bar, wrong ? 256 : 512, t == 0);
            bulk_load(base, args.x, 512, base + bar, t == 0);
            mbarrier_wait(base + bar, 0); // 35
        }
        // stores, then the copy engine, without a fence: async_proxy_fence
        if constexpr (fault == 36) {
            init_barrier(1);
            shared_store4(at(t), t);
            if (!wrong)
                async_proxy_fence();
            block_barrier();
            mbarrier_expect(base + bar, 512, t == 0);
            bulk_load(base, args.x, 512, base + bar, t == 0); // 36
            mbarrier_wait(base + bar, 0);
        }
        // the init is not fenced before the engine counts on it: fence
        if constexpr (fault == 37) {
            if (t == 0) {
                mbarrier_init(base + bar, 1);
                if (!wrong)
                    mbarrier_init_fence();
            }
            block_barrier();
            mbarrier_expect(base + bar, 512, t == 0);
            bulk_load(base, args.x, 512, base + bar, t == 0); // 37
            mbarrier_wait(base + bar, 0);
        }
        // lanes of a warp exchange words without its barrier: has written
        if constexpr (fault == 38) {
            shared_store4(at(t), t);
            if (!wrong)
                warp_barrier();
            sum += shared_load4(at(t ^ 1)); // 38
        }
        // a shuffle that half of the lanes come to: waits for ever|lanes
        if constexpr (fault == 39) {
            if (!wrong || t % 32 < 16)
                sum += wave_shuffle(t, (t + 1) % 32); // 39
        }
        // a slot is released before it is read: read|in flight
        if constexpr (fault == 40) {
            init_barrier(threads);
            fill();
            if (wrong)
                mbarrier_arrive(base + bar);
            sum += shared_load4(at((t + 33) % threads));
            if (!wrong)
                mbarrier_arrive(base + bar);
            mbarrier_wait(base + bar, 0);
            shared_store4(at(t), t + 1); // 40
        }
    }

    GROAT_DEVICE void run()
    {
        if constexpr (fault <= 10)
            sharing();
        else if constexpr (fault <= 20)
            reaching();
        else if constexpr (fault <= 30)
            copying();
        else
            phases();
        if (block_index() == 0)
            global_store4(args.y + t * 4, sum);
    }
};

} // namespace faults
} // namespace groat

GROAT_KERNEL(faults_args)
{
    groat::faults::kernel k = {args, groat::shared_base(),
                               groat::thread_index(), 0};

    k.run();
}
