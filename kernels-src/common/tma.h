// SPDX-License-Identifier: Apache-2.0
// NVIDIA's copy engine, arch::tma.  `bar` is the shared-memory address of an
// 8-byte mbarrier.  Functions that take `issue` do nothing if it is false, by
// predication, without a branch:
//
//   tensor_map                   TMA descriptor; a launch argument, passed by
//                                reference (a copy of it is not a descriptor)
//   warp_index                   thread_index / 32, uniform in a warp; lanes.h
//                                has lane_index
//   elect()                      true in one lane of a converged warp, in the
//                                same one each time
//   warp_barrier()               syncs all lanes of the warp, memory included
//   cluster_rank()               rank of this block in its cluster
//   cluster_barrier()            syncs all threads of the cluster
//   cluster_load8/16(address, rank)  from a block's shared memory, aligned;
//                                between two cluster_barriers
//   mbarrier_init(bar, count)    count arrivals complete a phase
//   mbarrier_init_fence()        makes own inits visible to the cluster and the
//                                engine once a barrier has followed
//   mbarrier_arrive(bar)         one arrival
//   mbarrier_arrive_peer(bar, rank)  one at the same address of another block
//   mbarrier_expect(bar, bytes)  one arrival that also expects bytes of copies
//   mbarrier_wait(bar, parity)   waits until the phase of that parity completes
//   async_proxy_fence()          orders shared-memory stores seen here before
//                                later accesses by wgmma and the engine
//   tma_load<policy>(map, to, bar, at, issue)  copies a box of the tensor from
//                                coordinates `at` on; `to` is 128-byte aligned,
//                                at[0] elements a multiple of 16 bytes
//   tma_load_multicast<policy>(map, to, bar, at, ctas, issue)  copies to the
//                                blocks of a mask, which count on their own bar
//   tma_load_pair<policy>(...)   (arch::cta_group) the bytes count at the even
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
