// SPDX-License-Identifier: Apache-2.0
// Selects the compiler's primitives.  Only this file, atomics.h, math.h,
// mma_sync.h, tma.h and wgmma.h have vendor conditionals.  The last two hold
// what only NVIDIA's sm_90 and later have; a kernel that needs it includes
// them.  All three vendors' files define the same names in namespace groat:
//
//   u8 u32 u64 i64               integers
//   vec2 vec4 vec8               8, 16 and 32 bytes that move together: words
//                                x, y, z, w; vec4s low and high
//   thread_index                 x coordinate in the block
//   block_index block_index_y    coordinates in the grid
//   wave_uniform(x)              x, promised equal in all lanes of the wave
//   shared_base()                shared-memory address of the block's memory
//   shared_load1/2/4/8/16        accesses so many bytes at a shared-memory byte
//   shared_store1/2/4/8/16       address aligned to their number; 1 and 2 bytes
//                                are the low bits of a u32
//   transpose_load8/16           (arch::tr_read) 8 bytes; 16 lanes exchange
//                                elements of 8 or 16 bits, see fragment.h
//   global_load1/2/4/8/16        likewise, at a device address
//   global_store1/2/4/8/16
//   buffer, make_buffer          a bounded view of device memory; reads past
//                                num_records bytes give zero, dword by dword
//   buffer_load8/16              8 or 16 bytes of a buffer into registers
//   settle(v)                    waits until the loaded vec4 v is in its
//                                registers, so that no later use of it waits
//   float_bits(x)                the 32 bits of a float
//   bits_float(x)                the float of 32 bits
//   dot4(a, b, sum)              sum plus the products of 4 signed byte pairs
//   dot4_unsigned(a, b, sum)     the same of unsigned ones
//   min max                      of two numbers; global, not in namespace groat
//   e4m3_pair(low, high)         (converts_e4m3) the codes of two floats,
//                                identical to convert.h's float8_of<e4m3>
//   cycles()                     the processor's cycle counter; the judge's has
//                                1,024 more at each call in a cluster
//   async_copy<bytes>            every lane copies 4 or 16 bytes from the
//                                buffer to shared memory, lanes side by side
//   async_commit()               ends a group of copies (NVIDIA counts groups)
//   async_wait<ops, groups>()    waits until all but the last `ops` copies of
//                                this wave (AMD) or `groups` groups of this
//                                thread (NVIDIA) have landed
//   computed_anew(x)             x, opaque to the compiler: values derived from
//                                it are recomputed here, not kept in registers
//   compiler_fence()             the compiler moves no memory access across it
//   shared_fence()               waits for this wave's own accesses to shared
//                                memory, reads too: what it has read may then
//                                be copied over; all lanes of the wave come to
//                                it, or none
//   block_barrier()              syncs all threads of the block; drains nothing
//   launch_wait()                (params.def: launch overlap) waits until the
//                                launches ahead on the stream have ended; what
//                                they write is read after it
//   launch_next()                (launch overlap) lets the next launch start
//   wave_shuffle(x, lane)        x of that lane in the wave; all lanes join in
//   wave_ballot(p)               one bit per lane, its p; all lanes join in
//   accumulator<m>               (AMD) a lane's m * m / 64 floats of a tile
//   zero_accumulator<m>()
//   mfma<number, m, k>           (AMD) acc += A * B, m x m x k, by the wave;
//                                operands are k * m / 64 numbers per lane:
//                                mma_bf16, mma_f16, mma_fp8 (e4m3) or mma_bf8
//                                (e5m2; both fnuz on gfx942)
//
// GROAT_PRINT(format, ...) prints as C's printf() does: on the judge to stderr,
// on NVIDIA through the driver.  On AMD it does nothing.
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
