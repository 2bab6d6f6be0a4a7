#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on inline PTX of sm_90: mbarriers, the bulk copies that they count,
# barriers of a part of the block, and what is found of protocols with a fault.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/judge_common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# broken NAME EDIT TEXT: the kernel of ./sound.cu with an edit is told with the
# text; what launches it is in $launch.
broken() {
    broken_name=$1
    sed "$2" sound.cu >broken.cu
    cmp -s sound.cu broken.cu && fail "$broken_name: is an edit" "$2"
    # shellcheck disable=SC2086 # a list of words
    expect "$broken_name" 1 judge broken.cu $launch
    says "$broken_name: is told" "$3"
}

# ---- a ring of two slots: one warp fills them, the other reads them

cat >sound.cu <<'END'
#include <cstdint>
__device__ uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void wait(uint32_t bar, int parity)
{
    asm volatile("{\n"
                 ".reg .pred                P1;\n"
                 "LAB_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
                 "@P1                       bra.uni DONE;\n"
                 "bra.uni                   LAB_WAIT;\n"
                 "DONE:\n"
                 "}\n" ::"r"(bar), "r"(parity) : "memory");
}

__device__ bool leads()
{
    uint32_t is = 0;
    asm volatile("{\n.reg .b32 %%rx;\n.reg .pred %%px;\n"
                 "     elect.sync %%rx|%%px, %1;\n"
                 "@%%px mov.s32 %0, 1;\n}\n" : "+r"(is) : "r"(0xffffffff));
    return is;
}

__device__ void copy(float *to, const float *from, uint64_t *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(at(bar)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], 512, [%2];"
                 ::"r"(at(to)), "l"(from), "r"(at(bar)) : "memory");
}

__global__ void k(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) float slot[2][128];
    __shared__ uint64_t full[2], empty[2];
    const int lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&full[i])), "r"(1));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&empty[i])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (leads())
            for (int t = 0; t < tiles; t++) {
                wait(at(&empty[t % 2]), t / 2 % 2 ^ 1);
                copy(slot[t % 2], x + 128 * t, &full[t % 2], 512);
            }
    } else {
        float sum = 0;
        for (int t = 0; t < tiles; t++) {
            wait(at(&full[t % 2]), t / 2 % 2);
            for (int i = 0; i < 4; i++)
                sum += slot[t % 2][lane + 32 * i];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty[t % 2])) : "memory");
        }
        y[lane] = sum;
    }
}
END
launch="--block 64 --buffer x=1024 --buffer y=32 --arg tiles=8"
expect "a ring with mbarriers and bulk copies" 0 judge sound.cu --block 64 \
    --buffer "x=1024:f32 in ramp" --buffer y=32 --arg tiles=8 --output y=y.raw
od -An -v -tf4 -w4 y.raw | awk '$1 != 32 * (NR - 1) + 15872 { bad = 1 } END { exit bad || NR != 32 }' &&
    pass "adds up what was copied" || fail "adds up what was copied" "$(od -An -tf4 y.raw)"

broken "a try that is not repeated" 's/@P1  .*bra.uni DONE/bra.uni DONE/' \
    "arrives on the mbarrier at byte 16, of which phase 0 has had all of its 1 arrivals"
broken "a consumer that does not wait" 's/wait(at(&full.*/;/' \
    "while a bulk copy of thread 0 into it is in flight"
broken "a producer that waits for the wrong parity" 's/ ^ 1);/);/' \
    "the wait should be for parity 1, which a new mbarrier has behind it"
callers "at its line" "thread 32 waits at broken.cu:6)"
broken "fewer bytes expected than come" 's/t % 2\], 512);/t % 2], 256);/' \
    "512 of 256 expected bytes"
broken "more bytes expected than come" 's/t % 2\], 512);/t % 2], 1024);/' \
    "512 of 1024 expected bytes (bytes are expected that no copy brings)"
broken "an arrival too few" 's/asm volatile("mbarrier.arrive.shared.*/;/' \
    "which has 0 of 32 arrivals"
broken "a count that is too small" 's/b64 \[%0\], 32;/b64 [%0], 31;/' \
    "and has not released: an arrival or a wait is missing"
broken "mbarriers that the engine cannot see" 's/fence.mbarrier_init.release.cluster/membar.gl/' \
    "did not make visible to the engine: fence.mbarrier_init, fence.proxy.async or a barrier is missing"
broken "mbarriers that others cannot see" 's/    __syncthreads();/    ;/' \
    "waits for the mbarrier at byte 16, which thread 0 made and did not make visible"
broken "a slot between 16 bytes" 's/slot\[t % 2\], x/slot[t % 2] + 1, x/' \
    "byte 132 of shared memory, which is no multiple of 16"
broken "a tile past the end" 's/x + 128 \* t/x + 132 * t/' \
    "that is x[924] of x[1024]"

# ---- copies from shared to device memory, of bytes and of boxes

cat >sound.cu <<'END'
#include <cuda.h>
#include <cstdint>
__device__ uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__global__ void k(const float *x, const __grid_constant__ CUtensorMap y, float *z, int n)
{
    __shared__ alignas(128) float tile[2][64];
    const int t = threadIdx.x;

    for (int i = 0; i < n; i++) {
        if (t == 0)
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        __syncthreads();
        tile[i % 2][t] = 2 * x[64 * i + t];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads(); // of the tile
        if (t == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                         " [%0, {%2, %3}], [%1];" ::"l"(&y), "r"(at(tile[i % 2])),
                         "r"(0), "r"(4 * i) : "memory");
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                         ::"l"(z + 64 * i), "r"(at(tile[i % 2])), "r"(256) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (t == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
END
# stores FILE CODE NAME: judges a file of this kernel.
stores() {
    expect "$3" "$2" judge "$1" --block 64 --buffer "x=512:f32 in ramp" --arg n=8 \
        --buffer "y=32,16:f32 out box(4, 16)" --buffer "z=512:f32 out" --output y=y.raw \
        --output z=z.raw
}
stores sound.cu 0 "copies to device memory"
od -An -v -tf4 -w4 y.raw | awk '$1 != 2 * (NR - 1) { bad = 1 } END { exit bad || NR != 512 }' &&
    cmp -s y.raw z.raw && pass "bring what was stored" ||
    fail "bring what was stored" "$(od -An -tf4 y.raw | head -n 3)"
# broken_store NAME EDIT TEXT: as broken, of this kernel.
broken_store() {
    sed "$2" sound.cu >broken.cu
    cmp -s sound.cu broken.cu && fail "$1: is an edit" "$2"
    stores broken.cu 1 "$1"
    says "$1: is told" "$3"
}
reads="which a copy of thread 0 to device memory still reads: its wait, or a release behind it, is missing"
broken_store "a wait for a group too few" 's/read 1;/read 2;/' "$reads"
broken_store "no group" 's/asm volatile("cp.async.bulk.commit_group.*/;/' "$reads"
broken_store "no wait at the end" 's/wait_group 0/wait_group 1/' \
    "ends with a copy to device memory that it did not wait for"
broken_store "no fence" 's/fence.proxy.async.shared::cta/membar.cta/' \
    "copies byte 0 of shared memory to device memory, which thread 0 stored: fence.proxy.async between is missing"
broken_store "no barrier" 's/__syncthreads(); \/\/.*/;/' "which nobody has written yet"
broken_store "no multiple of 16 bytes" 's/"r"(256)/"r"(250)/' "multiples of 16 are possible"
broken_store "bytes past the end" 's/z + 64/z + 68/' "whose end it runs past"

right "lanes of a warp with groups of their own" --buffer y=256:f32 --buffer z=256:f32 <<'END'
#include <cstdint>
__global__ void k(float *y, float *z)
{
    __shared__ alignas(128) float a[2][32], b[32];
    const int t = threadIdx.x;

    for (int i = 0; i < 8; i++) {
        if (t == 0)
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        if (t == 16)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        __syncthreads();
        a[i % 2][t] = b[t] = i;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0 || t == 16) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(
                             (t == 0 ? y : z) + 32 * i),
                         "r"((uint32_t)__cvta_generic_to_shared(t == 0 ? a[i % 2] : b)) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
END

# ---- cuda::barrier and its copies, as CUDA's guide has them

cat >sound.cu <<'END'
#include <cuda.h>
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

__global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int n)
{
    __shared__ alignas(128) int tile[8][16];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;

    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    for (int i = 0; i < n; i++) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &in, 0, 8 * i, bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
        } else {
            token = bar.arrive();
        }
        bar.wait(std::move(token));
        for (int j = threadIdx.x; j < 128; j += blockDim.x)
            tile[j / 16][j % 16] += i;
        cde::fence_proxy_async_shared_cta();
        __syncthreads();
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_shared_to_global(&out, 0, 8 * i, &tile);
            cde::cp_async_bulk_commit_group();
            cde::cp_async_bulk_wait_group_read<0>();
        }
        __syncthreads();
    }
}
END
# boxes FILE CODE NAME: judges a file of this kernel.
boxes() {
    expect "$3" "$2" judge "$1" --block 32 --buffer "in=32,16:i32 in ramp box(8, 16)" --arg n=4 \
        --buffer "out=32,16:i32 out box(8, 16)" --output out=y.raw
}
boxes sound.cu 0 "cuda::barrier"
od -An -v -td4 -w4 y.raw | awk '$1 != NR - 1 + int((NR - 1) / 128) { bad = 1 } END { exit bad || NR != 512 }' &&
    pass "brings boxes" || fail "brings boxes" "$(od -An -td4 y.raw | head -n 3)"
# broken_boxes NAME EDIT TEXT: as broken, of this kernel.
broken_boxes() {
    sed "$2" sound.cu >broken.cu
    cmp -s sound.cu broken.cu && fail "$1: is an edit" "$2"
    boxes broken.cu 1 "$1"
    says "$1: is told" "$3"
}
broken_boxes "a barrier that the engine cannot see" '14d' \
    "fence.mbarrier_init, fence.proxy.async or a barrier is missing"
broken_boxes "no wait for the box" '/bar.wait/d' "while a copy of thread 0"
broken_boxes "no fence of the store" '28d' "fence.proxy.async between is missing"
broken_boxes "no wait for the store" '/wait_group_read/d' "$reads"
broken_boxes "too few bytes" 's/sizeof(tile))/64)/' "512 of 64 expected bytes"

# ---- the state of a phase, and tests that do not wait

right "a state that an arrival gives" --buffer "x=32:f32 in ramp" --buffer y=32 --output y=y.raw <<'END'
#include <cstdint>
__global__ void k(const float *x, float *y)
{
    __shared__ float s[32];
    __shared__ uint64_t bar;
    const uint32_t a = (uint32_t)__cvta_generic_to_shared(&bar);

    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(a));
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        uint64_t state;
        uint32_t done = 0;

        s[threadIdx.x] = x[threadIdx.x] * i;
        asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], 2;"
                     : "=l"(state) : "r"(a) : "memory");
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.test_wait.shared.b64 p, [%1], %2;\n"
                         "selp.b32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(a), "l"(state) : "memory");
        y[threadIdx.x] = s[31 - threadIdx.x];
        __syncthreads();
    }
}
END
od -An -v -tf4 -w4 y.raw | awk '$1 != 3 * (32 - NR) { bad = 1 } END { exit bad || NR != 32 }' &&
    pass "tells when it is complete" || fail "tells when it is complete" "$(od -An -tf4 y.raw)"

right "a thread that polls two mbarriers" --buffer y=1 <<'END'
#include <cstdint>
__device__ bool done(uint32_t bar)
{
    uint32_t is;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                 "selp.b32 %0, 1, 0, p; }" : "=r"(is) : "r"(bar) : "memory");
    return is;
}
__global__ void k(int *y)
{
    __shared__ uint64_t bars[2];
    const uint32_t a = (uint32_t)__cvta_generic_to_shared(bars);

    if (threadIdx.x < 2)
        asm volatile("mbarrier.init.shared.b64 [%0], 3;" ::"r"(a + 8 * threadIdx.x));
    __syncthreads();
    if (threadIdx.x == 0) {
        while (!done(a) && !done(a + 8)) // each poll of the first brings the second on
            asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(a + 8));
        y[0] = done(a + 8);
    }
}
END
wrong "more arrivals than are missing" \
    "arrives 20 times on the mbarrier at byte 0, of which phase 0 lacks 12 of its 32 arrivals" \
    --buffer y=1 <<'END'
#include <cstdint>
__global__ void k(int *y)
{
    __shared__ uint64_t bar;
    const uint32_t a = (uint32_t)__cvta_generic_to_shared(&bar);

    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(a));
        asm volatile("mbarrier.arrive.shared.b64 _, [%0], 20;" ::"r"(a));
        asm volatile("mbarrier.arrive.shared.b64 _, [%0], 20;" ::"r"(a));
    }
}
END

# ---- addresses: a pointer is aligned as the address in shared memory is

right "memory that a kernel aligns itself" --shared 4K --buffer y=32 --output y=y.raw <<'END'
#include <cstdint>
struct alignas(1024) slots { float s[256]; };
__global__ void k(float *y)
{
    extern __shared__ __align__(1024) char raw[];
    __shared__ uint64_t bar;
    slots &own = *reinterpret_cast<slots *>(raw);
    char *const next = (char *)(((uintptr_t)raw + 1025 + 1023) & ~(uintptr_t)1023);
    const unsigned a = (unsigned)__cvta_generic_to_shared(next);

    own.s[threadIdx.x] = 1;
    y[threadIdx.x] = a % 1024 + (unsigned)(next - raw) + (unsigned)(uintptr_t)&bar % 8;
}
END
od -An -v -tf4 -w4 y.raw | awk '$1 != 2048 { bad = 1 } END { exit bad || NR != 32 }' &&
    pass "is aligned in both" || fail "is aligned in both" "$(od -An -tf4 y.raw | head -n 2)"

right "an mbarrier that is made again" --buffer y=1 <<'END'
#include <cstdint>
__global__ void k(int *y)
{
    __shared__ uint64_t bar;
    const uint32_t a = (uint32_t)__cvta_generic_to_shared(&bar);

    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(a));
        __syncthreads();
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(a) : "memory");
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(a) : "memory");
        __syncthreads();
    }
}
END
cat >k.cu <<'END'
#include <cstdint>
__global__ void k(int *y) // gives up after 40 polls of a phase that never ends
{
    __shared__ uint64_t bar;
    const uint32_t a = (uint32_t)__cvta_generic_to_shared(&bar);
    uint32_t is = 0;

    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(a));
        for (int i = 0; i < 40 && !is; i++)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                         "selp.b32 %0, 1, 0, p; }" : "=r"(is) : "r"(a) : "memory");
        y[blockIdx.x] = is;
    }
}
END
expect "polls of each block by themselves" 0 judge k.cu --block 32 --grid 4 --jobs 1 --buffer y=4:out
wrong "a leader who reads what its warp wrote" "a barrier is missing" --buffer y=1 <<'END'
#include <cstdint>
__global__ void k(int *y)
{
    __shared__ int s[32];
    uint32_t leads = 0;

    s[threadIdx.x] = 1;
    asm volatile("{ .reg .b32 r; .reg .pred p; elect.sync r|p, %1; @p mov.s32 %0, 1; }"
                 : "+r"(leads) : "r"(0xffffffff));
    if (leads)
        y[0] = s[0] + s[31];
}
END

# ---- barriers of a part of the block

cat >ahead.cu <<'END'
__device__ void sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void k(int *y) // the second phase of barrier 1 ends before warp 0 runs on
{
    if (threadIdx.x < 32) {
        sync(1, 64);
    } else if (threadIdx.x < 64) {
        sync(1, 64);
        arrive(2, 64);
        arrive(1, 64);
    } else {
        sync(2, 64);
        sync(1, 64);
    }
    y[threadIdx.x] = 1;
}
END
expect "a phase that ends before all have gone on" 0 judge ahead.cu --block 96 --buffer y=96:out
cat >absent.cu <<'END'
__global__ void k(int *y, int n)
{
    if (threadIdx.x >= n)
        return;
    asm volatile("bar.sync 1, 128;" ::: "memory");
    y[threadIdx.x] = 1;
}
END
expect "lanes that have ended count with their warp" 0 judge absent.cu --block 128 --buffer y=128:out --arg n=100
expect "warps that have ended do not" 1 judge absent.cu --block 128 --buffer y=128:out --arg n=96
says "is told" "to which 96 of 128 threads came"

cat >sound.cu <<'END'
__device__ void sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void k(const float *x, float *y, int n)
{
    __shared__ float s[64];
    const int t = threadIdx.x % 64;

    if (threadIdx.x < 64) {
        for (int i = 0; i < n; i++) {
            sync(2, 128);
            s[t] = x[64 * i + t];
            arrive(1, 128);
        }
    } else {
        float sum = 0;

        arrive(2, 128);
        for (int i = 0; i < n; i++) {
            sync(1, 128);
            sum += s[63 - t];
            if (i + 1 < n)
                arrive(2, 128);
        }
        sync(3, 64);
        y[t] = sum;
    }
}
END
launch="--block 128 --buffer x=512 --buffer y=64 --arg n=8"
# shellcheck disable=SC2086 # a list of words
expect "barriers of a part of the block" 0 judge sound.cu $launch
broken "one barrier for two" 's/sync(2, 128)/sync(1, 128)/' "which nobody has written yet"
broken "an arrival that is missing" 's/            arrive(1, 128);/;/' \
    "thread 64-127 at barrier 1 of the block, to which 64 of 128 threads came"
broken "another number of threads" 's/arrive(1, 128)/arrive(1, 96)/' \
    "comes to barrier 1 of 96 threads, to which others have come as to one of 128"
broken "two barriers of one number" 's/sync(3, 64);/__syncthreads();/; s/sync([12], /sync(0, /; s/arrive([12], /arrive(0, /' \
    "barrier 0"
broken "two lines for one warp" 's/sync(3, 64);/if (t % 32 < 16) asm volatile("bar.sync 3, 64;");\
    else asm volatile("bar.sync 3, 64;");/' "or comes to another one"
broken "two lines of another form" 's/sync(3, 64);/if (t % 32 < 16) asm volatile("barrier.cta.sync.aligned 3, 64;");\
    else asm volatile("barrier.cta.sync.aligned 3, 64;");/' "or comes to another one"
broken "a part of the lanes" 's/sync(3, 64);/if (t % 32 < 16) sync(3, 64);/' "for other lanes (16 came)"
broken "a number past the last barrier" 's/sync(3/sync(16/' "comes to barrier 16; 0 to 15 are possible"
broken "a part of a warp" 's/sync(3, 64)/sync(3, 50)/' \
    "comes to barrier 3 of 50 threads; multiples of 32 up to the block's 128 are possible"
broken "an arrival before the read" 's/ sync(1, 128);/& if (i + 1 < n) arrive(2, 128);/
    s/^                arrive(2.*/;/' "which thread 127 read and has not released"
finish
