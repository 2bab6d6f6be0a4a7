// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (128 threads) on shared memory, arch::wgmma:
//
//   wgmma_fence()                orders own register accesses before wgmma
//   wgmma<number, n, a, b>(acc, desc_a, desc_b, accumulate)  64 x n x 32 bytes;
//                                n is 16, 32, 64, 128 or 256; a and b are
//                                k_major or mn_major; see wgmma_layout.h
//   wgmma_commit()               ends a group of products
//   wgmma_wait<groups>(accs...)  waits until all but the last groups are done;
//                                names the accumulators that are read next
//   wgmma_store<cut>(acc, half, address, cols)  stores the thread's part of its
//                                first or second row: pairs of floats, 32 bytes
//                                apart from `address` on.  With `cut` it stores
//                                only the first `cols` columns; else all (none
//                                if cols is 0) and `address` is 8-byte aligned.
//                                Predicated, as so many branches would take the
//                                compiler long
#pragma once

#include "tma.h"

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "wgmma_cuda.h"
#endif

#include "wgmma_layout.h"
