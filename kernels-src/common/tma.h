// SPDX-License-Identifier: Apache-2.0
// NVIDIA's copy engine, arch::tma.  `bar` is the shared-memory address of an
// mbarrier, 8 bytes; whatever takes `issue` does nothing where it is false, and
// is no branch:
//
//   tensor_map                   TMA descriptor; of the launch arguments, by
//                                reference (a copy of it is not one)
//   warp_index                   thread_index / 32 (the same in a warp); of
//                                lanes.h, lane_index
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
//                                coordinates `at` on; `to` is a multiple of 128,
//                                at[0] elements one of 16 bytes
//   tma_load_multicast<policy>(map, to, bar, at, ctas, issue)  to the blocks of
//                                a mask, each on its own barrier
//   tma_load_pair<policy>(...)   (arch::cta_group) bytes count at the even
//                                block of the pair
//   bulk_load(to, from, bytes, bar, issue)  16-byte multiples, no descriptor
//   tma_prefetch(map)
#pragma once

#include "lanes.h"
#include "tensor_map.h"
#include "vendor.h"

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "tma_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#include "tma_hip.h"
#else
#include "tma_cpu.h"
#endif
