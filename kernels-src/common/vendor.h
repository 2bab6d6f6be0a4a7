// SPDX-License-Identifier: Apache-2.0
// Picks the primitives of the compiler at hand; this file, atomics.h, math.h,
// mma_sync.h, tma.h and wgmma.h alone have vendor conditionals.  What only NVIDIA's sm_90 and later have is in
// those two, for whoever needs it: each kernel is compiled with what it includes.
// All three vendors' files define the same names in namespace groat:
//
//   u8 u32 u64 i64               integers
//   vec2 vec4 vec8               8, 16 and 32 bytes that move together
//   thread_index                 x coordinate in the block
//   block_index block_index_y    coordinates in the grid
//   wave_uniform(x)              x, promised equal in all lanes of the wave
//   shared_base()                shared-memory byte address of the block's memory
//   shared_load1/2/4/8/16        bytes at a shared-memory byte address, which is
//   shared_store1/2/4/8/16       a multiple of their number; 1 and 2 of them are
//                                the low bits of a u32
//   transpose_load8/16           (arch::tr_read) 8 bytes; lanes of 16 exchange
//                                elements of 8 or 16 bits, see fragment.h
//   global_load1/2/4/8/16        likewise, at a device address
//   global_store1/2/4/8/16
//   buffer, make_buffer          a bounded view of device memory; reads past
//                                num_records bytes give zero, dword by dword
//   buffer_load8/16              8 or 16 bytes of a buffer into registers
//   settle(v)                    v, a vec4 that was loaded, is in its registers
//                                from here on: no later use of it waits
//   float_bits(x)                the 32 bits of a float
//   bits_float(x)                the float of 32 bits
//   dot4(a, b, sum)              sum and the products of 4 signed bytes of each
//   e4m3_pair(low, high)         (converts_e4m3) the codes of two floats, as convert.h's
//                                float8_of<e4m3> has them
//   cycles()                     the processor's counter of cycles; 0 on the judge
//   async_copy<bytes>            every lane copies 4 or 16 bytes from the
//                                buffer to shared memory, lanes side by side
//   async_commit()               ends a group of copies (NVIDIA counts groups)
//   async_wait<ops, groups>()    until all but the youngest `ops` copies (AMD)
//                                or `groups` groups (NVIDIA) of this wave
//                                (thread) have landed
//   computed_anew(x)             x; what is computed of it is computed here, not
//                                kept in registers from before
//   compiler_fence()             accesses above are issued above those below
//   shared_fence()               own shared-memory stores are done
//   block_barrier()              all threads of the block; drains nothing
//   wave_shuffle(x, lane)        x of that lane of the wave; all lanes take part
//   wave_ballot(p)               a bit per lane: whether its p holds; likewise
//   accumulator<m>               (AMD) a lane's m * m / 64 floats of a tile
//   zero_accumulator<m>()
//   mfma<number, m, k>           (AMD) acc += A * B, m x m x k, by the wave;
//                                operands are k * m / 64 numbers per lane
//
// GROAT_PRINT(format, ...) prints as C's printf() does: on the judge to stderr, on
// NVIDIA through the driver; on AMD nothing.
//
// A kernel is GROAT_KERNEL(args_type) { ... uses `args` ... }.
#pragma once

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "vendor_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#include "vendor_hip.h"
#else
#include "vendor_cpu.h"
#endif
