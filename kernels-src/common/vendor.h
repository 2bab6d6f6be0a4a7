// SPDX-License-Identifier: Apache-2.0
// The one file with vendor conditionals: it picks the primitives of the
// compiler at hand.  All three files define the same names in namespace groat:
//
//   u8 u32 u64 i64               integers
//   vec2 vec4 vec8               8, 16 and 32 bytes that move together
//   thread_index                 x coordinate in the block
//   block_index block_index_y    coordinates in the grid
//   wave_uniform(x)              x, promised equal in all lanes of the wave
//   shared_base()                shared-memory byte address of the block's memory
//   shared_load16/store16        16 bytes at a shared-memory byte address
//   shared_load1/2               one byte or halfword, zero-extended
//   transpose_load8/16           (arch::tr_read) 8 bytes; lanes of 16 exchange
//                                elements of 8 or 16 bits, see fragment.h
//   global_load4/8/16            4, 8 or 16 bytes at a device address
//   global_store4/16
//   buffer, make_buffer          a bounded view of device memory; reads past
//                                num_records bytes give zero, dword by dword
//   buffer_load8/16              8 or 16 bytes of a buffer into registers
//   settle(v)                    v, a vec4 that was loaded, is in its registers
//                                from here on: no later use of it waits
//   float_bits(x)                the 32 bits of a float
//   async_copy<bytes>            every lane copies 4 or 16 bytes from the
//                                buffer to shared memory, lanes side by side
//   async_commit()               ends a group of copies (NVIDIA counts groups)
//   async_wait<ops, groups>()    until all but the youngest `ops` copies (AMD)
//                                or `groups` groups (NVIDIA) of this wave
//                                (thread) have landed
//   compiler_fence()             accesses above are issued above those below
//   shared_fence()               own shared-memory stores are done
//   block_barrier()              all threads of the block; drains nothing
//   accumulator<m>               (AMD) a lane's m * m / 64 floats of a tile
//   zero_accumulator<m>()
//   mfma<number, m, k>           (AMD) acc += A * B, m x m x k, by the wave;
//                                operands are k * m / 64 numbers per lane
//
// NVIDIA's copy engine, arch::tma.  `bar` is the shared-memory address of an
// mbarrier, 8 bytes; whatever takes `issue` does nothing where it is false, and
// is no branch:
//
//   tensor_map                   TMA descriptor; of the launch arguments, by
//                                reference (a copy of it is not one)
//   lane_index warp_index        thread_index % 32, / 32 (the same in a warp)
//   elect()                      true in one lane of a converged warp, in the
//                                same one each time
//   warp_barrier()               all lanes of the warp, memory included
//   cluster_rank()               of this block in its cluster
//   cluster_barrier()            all threads of the cluster
//   mbarrier_init(bar, count)    count arrivals complete a phase
//   mbarrier_init_fence()        own inits are seen by the cluster and the
//                                engine, behind a barrier
//   mbarrier_arrive(bar)         one arrival
//   mbarrier_arrive_peer(bar, rank)  one at the same address of another block
//   mbarrier_expect(bar, bytes)  one arrival that also expects bytes of copies
//   mbarrier_wait(bar, parity)   until the phase of that parity has completed
//   async_proxy_fence()          shared-memory stores known here come before
//                                later accesses by wgmma and the engine
//   tma_load<policy>(map, to, bar, at, issue)  a box of the tensor from
//                                coordinates `at` on; `to` is a multiple of 128
//   tma_load_multicast<policy>(map, to, bar, at, ctas, issue)  to the blocks of
//                                a mask, each on its own barrier
//   tma_load_pair<policy>(...)   (arch::cta_group) bytes count at the even
//                                block of the pair
//   bulk_load(to, from, bytes, bar, issue)  16-byte multiples, no descriptor
//   tma_prefetch(map)
//
// Products of a warpgroup (128 threads) on shared memory, arch::wgmma:
//
//   wgmma_fence()                registers and memory are ready for wgmma
//   wgmma<number, n, a, b>(acc, desc_a, desc_b, accumulate)  64 x n x 32 bytes;
//                                n is 16, 32, 64, 128 or 256; a and b are
//                                k_major or mn_major; see wgmma_layout.h
//   wgmma_commit()               ends a group of products
//   wgmma_wait<groups>(accs...)  until all but the youngest groups are done;
//                                names the accumulators that are read next
//
// A kernel is GROAT_KERNEL(args_type) { ... uses `args` ... }.
#pragma once

#include "tensor_map.h"

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "vendor_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#include "vendor_hip.h"
#else
#include "vendor_cpu.h"
#endif

#include "wgmma_layout.h"
