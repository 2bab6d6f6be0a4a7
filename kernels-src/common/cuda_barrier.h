// SPDX-License-Identifier: Apache-2.0
// cuda::barrier of a block, and the copies of cuda::device::experimental that it
// counts, as CUDA's guide uses them: groat judge puts this file in front of a
// kernel whose file includes cuda/barrier.  They are mbarriers and bulk copies
// (PTX ISA), so their rules are those of common/cuda_async.h.
#pragma once

#include "cuda_async.h"

namespace cuda {

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread
};

// Without a constructor, as a variable of shared memory has none; init() or
// cuda::barrier's friend makes it.
template <thread_scope scope, class completion = void> class barrier
{
    unsigned long long word_;

    static_assert(scope == thread_scope_block,
                  "groat judge has the barrier of a block: "
                  "cuda::barrier<cuda::thread_scope_block>");

public:
    struct arrival_token {
        unsigned parity;
    };

    GROAT_MEMBER unsigned long long address() const
    {
        return (unsigned long long)&word_;
    }

    GROAT_MEMBER arrival_token arrive(long count = 1)
    {
        return {groat_ptx::arrive(groat_ptx::in_shared(address()),
                                  (unsigned)count)};
    }

    GROAT_MEMBER void wait_parity(bool parity) const
    {
        groat::cpu_env->ops->mbarrier_wait(
            groat::cpu_env, groat_ptx::in_shared(address()), parity);
    }

    GROAT_MEMBER void wait(const arrival_token &token) const
    {
        wait_parity(token.parity != 0);
    }

    GROAT_MEMBER void arrive_and_wait()
    {
        wait(arrive());
    }

    GROAT_MEMBER bool try_wait_parity(bool parity) const
    {
        return groat::cpu_env->ops->mbarrier_try(
                   groat::cpu_env, groat_ptx::in_shared(address()), parity) != 0;
    }

    GROAT_MEMBER bool try_wait(const arrival_token &token) const
    {
        return try_wait_parity(token.parity != 0);
    }
};

template <thread_scope scope>
GROAT_LANES void init(barrier<scope> *bar, long count)
{
    groat_ptx::make_mbarrier(groat_ptx::in_shared(bar->address()),
                             (unsigned)count);
}

namespace device {

template <thread_scope scope>
GROAT_LANES unsigned long long *barrier_native_handle(barrier<scope> &bar)
{
    return (unsigned long long *)bar.address();
}

template <thread_scope scope>
GROAT_LANES void barrier_expect_tx(barrier<scope> &bar, long bytes)
{
    groat_ptx::expect(groat_ptx::in_shared(bar.address()), (unsigned)bytes);
}

template <thread_scope scope>
GROAT_LANES typename barrier<scope>::arrival_token
barrier_arrive_tx(barrier<scope> &bar, long count, long bytes)
{
    barrier_expect_tx(bar, bytes);
    return bar.arrive(count);
}

namespace experimental {

GROAT_LANES void fence_proxy_async_shared_cta()
{
    groat_ptx::fence_proxy_async_shared_cta();
}

GROAT_LANES void cp_async_bulk_commit_group()
{
    groat_ptx::cp_async_bulk_commit_group();
}

template <int groups> GROAT_LANES void cp_async_bulk_wait_group()
{
    groat_ptx::cp_async_bulk_wait_group(groups);
}

template <int groups> GROAT_LANES void cp_async_bulk_wait_group_read()
{
    groat_ptx::cp_async_bulk_wait_group_read(groups);
}

template <thread_scope scope>
GROAT_LANES void cp_async_bulk_global_to_shared(void *to, const void *from,
                                                unsigned bytes,
                                                barrier<scope> &bar)
{
    groat_ptx::cp_async_bulk_shared_cta_global_mbarrier_complete_tx_bytes(
        groat_ptx::in_shared((unsigned long long)to), (unsigned long long)from,
        bytes, groat_ptx::in_shared(bar.address()));
}

GROAT_LANES void cp_async_bulk_shared_to_global(void *to, const void *from,
                                                unsigned bytes)
{
    groat_ptx::cp_async_bulk_global_shared_cta_bulk_group(
        (unsigned long long)to, groat_ptx::in_shared((unsigned long long)from),
        bytes);
}

#define GROAT_CUDA_COORDINATES_1 int a
#define GROAT_CUDA_COORDINATES_2 int a, int b
#define GROAT_CUDA_COORDINATES_3 int a, int b, int c
#define GROAT_CUDA_COORDINATES_4 int a, int b, int c, int d
#define GROAT_CUDA_COORDINATES_5 int a, int b, int c, int d, int e

#define GROAT_CUDA_BOX(rank, ...) \
    template <thread_scope scope> \
    GROAT_LANES void cp_async_bulk_tensor_##rank##d_global_to_shared( \
        void *to, const CUtensorMap *map, GROAT_CUDA_COORDINATES_##rank, \
        barrier<scope> &bar) \
    { \
        groat_ptx::load_box<rank>( \
            groat_ptx::in_shared((unsigned long long)to), \
            (unsigned long long)map, __VA_ARGS__, \
            groat_ptx::in_shared(bar.address())); \
    } \
    GROAT_LANES void cp_async_bulk_tensor_##rank##d_shared_to_global( \
        const CUtensorMap *map, GROAT_CUDA_COORDINATES_##rank, \
        const void *from) \
    { \
        groat_ptx::store_box<rank>( \
            (unsigned long long)map, __VA_ARGS__, \
            groat_ptx::in_shared((unsigned long long)from)); \
    }

GROAT_CUDA_BOX(1, a)
GROAT_CUDA_BOX(2, a, b)
GROAT_CUDA_BOX(3, a, b, c)
GROAT_CUDA_BOX(4, a, b, c, d)
GROAT_CUDA_BOX(5, a, b, c, d, e)

} // namespace experimental
} // namespace device
} // namespace cuda
