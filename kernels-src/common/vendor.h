// SPDX-License-Identifier: Apache-2.0
// The one file with vendor conditionals: it picks the primitives of the
// compiler at hand.  All three files define the same names in namespace groat:
//
//   u8 u32 u64 i64 vec4          integers and 16 bytes that move together
//   thread_index                 x coordinate in the block
//   block_index block_index_y    coordinates in the grid
//   wave_uniform(x)              x, promised equal in all lanes of the wave
//   shared_base()                shared-memory byte address of the block's memory
//   shared_load16/store16        16 bytes at a shared-memory byte address
//   global_load16/store16        16 bytes at a device address
//   buffer, make_buffer          a bounded view of device memory; reads past
//                                num_records bytes give zero, dword by dword
//   async_copy<bytes>            every lane copies 4 or 16 bytes from the
//                                buffer to shared memory, lanes side by side
//   async_commit()               ends a group of copies (NVIDIA counts groups)
//   async_wait<ops, groups>()    until all but the youngest `ops` copies (AMD)
//                                or `groups` groups (NVIDIA) of this wave
//                                (thread) have landed
//   shared_fence()               own shared-memory stores are done
//   block_barrier()              all threads of the block; drains nothing
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
