// SPDX-License-Identifier: Apache-2.0
// Atomic operations on 4-byte words; they return the word's old value.  They
// order no other access (relaxed); a barrier or an mbarrier does.
//
//   shared_atomic<op>(address, x)         at a shared-memory byte address
//   global_atomic<op, scope>(address, x)  at a device address
//   shared_cas(address, expected, x)      stores x if the word is `expected`
//   global_cas<scope>(address, expected, x)
//   device_fence()                        orders own device-memory accesses
//                                         above before those below, device-wide
//
// Addresses are multiples of 4.  Floats are passed as their bits.  `scope`
// names the other threads that change the word: those of the block, of the
// device (the default), or of other devices and the host.
#pragma once

#include "vendor.h"

namespace groat {

enum atomic_op {
    atomic_add,
    atomic_min, // of unsigned numbers
    atomic_max,
    atomic_min_signed,
    atomic_max_signed,
    atomic_exchange,
    atomic_add_float
};

enum atomic_scope { block_scope, device_scope, system_scope };

} // namespace groat

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "atomics_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#include "atomics_hip.h"
#else
#include "atomics_cpu.h"
#endif
