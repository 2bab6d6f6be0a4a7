#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on accesses to device memory by several threads and blocks.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"

# finding: the last run's, without addresses.
finding() {
    sed -n 's/device address 0x[0-9a-f]*/device address/;s/^  verified  NO: //p' "$out"
}

# wrong NAME LINE TEXT ARGUMENT...: the kernel on stdin has a race whose later
# access is in that line; one and three host threads find the same.
wrong() {
    wrong_name=$1 wrong_line=$2 wrong_text=$3
    shift 3
    cat >k.cu
    expect "$wrong_name" 1 judge k.cu --entry k "$@" --jobs 3
    answers "$wrong_name: is told" "$wrong_text"
    answers "$wrong_name: where" "(here at k.cu:$wrong_line"
    finding >several
    run judge k.cu --entry k "$@" --jobs 1
    if [ "$(finding)" = "$(cat several)" ]; then
        pass "$wrong_name: with one host thread"
    else
        fail "$wrong_name: with one host thread" "$(finding)"
    fi
}

right() {
    right_name=$1
    shift
    cat >k.cu
    expect "$right_name" 0 judge k.cu --entry k "$@" --jobs 3
}

# ---- threads of a block

wrong "a load of what another thread stores" 5 "thread 0 wrote since the last barrier: a barrier is missing" \
    --block 64 --buffer y=64 --buffer z=64 <<'END'
__global__ void k(float *y, float *z)
{
    const int i = threadIdx.x;
    z[i] = i;
    y[i] = z[i > 0 ? i - 1 : 0];
}
END
wrong "a store in front of a load of as many bytes" 3 "the other write at k.cu:3" \
    --block 64 --buffer y=64 --buffer z=128 <<'END'
__global__ void k(float *y, float *z)
{
    y[0] = threadIdx.x;
    z[threadIdx.x] = z[threadIdx.x + 64];
}
END
wrong "a store to what another thread loads" 6 "thread 0 read since the last barrier: a barrier is missing" \
    --block 64 --buffer y=65:inout\ ramp <<'END'
__global__ void k(float *y)
{
    const int i = threadIdx.x;
    const float next = y[i + 1];
    if (i > 0)
        y[i] = next;
}
END
wrong "two stores to one place" 3 "thread 0 wrote since the last barrier: a barrier is missing, or two" \
    --block 64 --buffer y=32 <<'END'
__global__ void k(float *y)
{
    y[threadIdx.x / 32] = threadIdx.x;
}
END
wrong "a store of one byte" 3 "writes 1 bytes at device address" \
    --block 64 --buffer y=64:u8 <<'END'
__global__ void k(unsigned char *y)
{
    y[threadIdx.x & 62] = threadIdx.x;
}
END
wrong "an atomic operation on what is not initialized yet" 5 "thread 0 wrote them without one" \
    --block 32 --buffer y=1:i32 <<'END'
__global__ void k(int *y)
{
    if (threadIdx.x == 0)
        *y = 0;
    atomicAdd(y, 1);
}
END
right "barriers, and bytes beside each other" --block 64 --grid 3 --buffer y=192 --buffer z=192:u8 <<'END'
__global__ void k(float *y, unsigned char *z)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    z[i] = i;
    y[i] = i;
    __syncthreads();
    const float other = y[i ^ 63] + z[i ^ 1];
    __syncthreads();
    y[i] = other;
    if (threadIdx.x < 32) {
        __syncwarp();
        const float more = y[i ^ 1];
        __syncwarp();
        y[i] += more;
    }
}
END
right "the same value by all threads" --block 64 --grid 4 --buffer y=64 --buffer any=1:i32 <<'END'
__global__ void k(float *y, int *any)
{
    y[threadIdx.x] = threadIdx.x;
    *any = 1;
}
END

# branches CONDITION: a kernel whose threads wait at one barrier or at the other.
branches() {
    cat <<END
__global__ void k(int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if ($1) {
        __syncthreads();
        y[threadIdx.x] = s[threadIdx.x ^ 1];
    } else {
        __syncthreads();
        y[threadIdx.x] = s[threadIdx.x ^ 2];
    }
}
END
}
branches 'threadIdx.x % 32 < 16' |
    wrong "barriers of one warp in two branches" 9 \
        "waits at another barrier than thread 0 of its wave" --block 64 --buffer y=64:out
branches 'threadIdx.x < 32' |
    right "barriers of two warps in two branches" --block 64 --buffer y=64:out
wrong "votes of one warp in two branches" 4 "the barrier of thread 0 at k.cu:6" \
    --block 64 --buffer y=64:out <<'END'
__global__ void k(int *y)
{
    if (threadIdx.x % 2)
        y[threadIdx.x] = __syncthreads_or(1);
    else
        y[threadIdx.x] = __syncthreads_and(0);
}
END
right "barriers that are not aligned, in two branches" --block 64 --buffer y=64:out <<'END'
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y)
{
    __shared__ int s[64];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group all = block;
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 2) {
        block.sync();
        y[threadIdx.x] = s[threadIdx.x ^ 1];
    } else {
        all.sync();
        y[threadIdx.x] = s[threadIdx.x ^ 2];
    }
}
END

# ---- blocks

wrong "blocks that store to one place" 4 "which thread 0 of block 0,0,0 writes: blocks run in any order" \
    --block 32 --grid 40 --buffer y=32 <<'END'
__global__ void k(float *y)
{
    if (threadIdx.x == 0)
        y[3] = blockIdx.x;
}
END
answers "blocks that store to one place: both lines" "the other write at k.cu:4"
answers "blocks that store to one place: the element" "that is y[3] of y[32]"
wrong "a stencil in place" 4 "which thread 31 of block 0,0,0 writes: blocks run in any order" \
    --block 32 --grid 40 --buffer y=1280:inout\ ramp <<'END'
__global__ void k(float *y)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    const float left = threadIdx.x > 0 || i == 0 ? 0 : y[i - 1];
    y[i] = y[i] / 2 + left;
}
END
wrong "a stencil in place, to the right" 5 "which thread 31 of block 0,0,0 reads: blocks run in any order" \
    --block 32 --grid 40 --buffer y=1281:inout\ ramp <<'END'
__global__ void k(float *y)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    const float right = threadIdx.x < 31 ? 0 : y[i + 1];
    y[i] = y[i] / 2 + right;
}
END
wrong "what one block initializes" 5 "changes by an atomic operation 4 bytes at device address" \
    --block 32 --grid 4 --buffer y=1:i32 <<'END'
__global__ void k(int *y)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *y = 0;
    __syncthreads();
    atomicAdd(y, 1);
}
END
wrong "a variable of the kernel" 5 "writes 4 bytes of a variable of the kernel, which thread 0 of block" \
    --block 32 --grid 4 --buffer y=128 <<'END'
__device__ int kept;
__global__ void k(int *y)
{
    if (threadIdx.x == 0)
        kept = blockIdx.x + 1;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = kept;
}
END
right "the last block, by a variable of the kernel" --block 32 --grid 40 --buffer y=1 \
    --buffer part=40:out <<'END'
__device__ unsigned count;
__constant__ float scale = 2;
__global__ void k(float *y, float *part)
{
    __shared__ bool last;
    part[blockIdx.x] = scale;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0)
        for (int i = 0; i < gridDim.x; i++)
            *y += part[i];
}
END
right "the last block adds up" --block 32 --grid 40 --buffer y=1 --buffer part=40:out \
    --buffer count=1:"i32 inout zeros" <<'END'
__global__ void k(float *y, float *part, int *count)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    float sum = part[threadIdx.x] + (threadIdx.x < 8 ? part[32 + threadIdx.x] : 0);
    for (int o = 16; o > 0; o /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (threadIdx.x == 0)
        *y = sum, *count = 0;
}
END
right "look-back by volatile flags" --block 32 --grid 20 --buffer y=640 \
    --buffer sum=20:out --buffer flag=20:"i32 inout zeros" <<'END'
__global__ void k(float *y, float *sum, volatile int *flag)
{
    __shared__ float before;
    if (threadIdx.x == 0) {
        before = 0;
        if (blockIdx.x > 0) {
            while (flag[blockIdx.x - 1] == 0)
                ;
            before = sum[blockIdx.x - 1];
        }
        sum[blockIdx.x] = before + 1;
        __threadfence();
        flag[blockIdx.x] = 1;
    }
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = before;
}
END
right "a maximum by compare and swap, tiles by a ticket" --block 32 --grid 8 \
    --buffer y=32 --buffer most=1:"i32 inout zeros" --buffer ticket=1:"i32 inout zeros" <<'END'
__global__ void k(float *y, int *most, int *ticket)
{
    __shared__ int tile;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            tile = atomicAdd(ticket, 1);
        __syncthreads();
        if (tile >= 16)
            return;
        if (threadIdx.x < 2)
            y[tile * 2 + threadIdx.x] = tile;
        int old = *most, seen = 0;
        while (old < tile + (int)threadIdx.x && seen != old) {
            seen = old;
            old = atomicCAS(most, seen, tile + (int)threadIdx.x);
        }
    }
}
END

# ---- what is no store, and what comes between

right "the same structure by all threads, and bytes that are there" --block 32 --grid 3 \
    --buffer h=16:"i32 inout zeros" --buffer y=96 <<'END'
struct header { int n; int pad[7]; };
__global__ void k(header *h, int *y)
{
    header zero = {};
    *h = zero;
    memset(h + 1, 0, sizeof(header));
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = h->n + h[1].pad[3];
}
END
right "a flag that is set again" --block 32 --buffer flag=1:i32 --buffer y=32:"i32 inout zeros" <<'END'
__global__ void k(int *flag, int *y)
{
    if (threadIdx.x == 0)
        *flag = 1;
    __syncthreads();
    for (int r = 0; r < 2; r++) {
        if (threadIdx.x == 3)
            *flag = 1;
        y[threadIdx.x] += *flag;
        __syncthreads();
    }
}
END
right "a vector of which one part changes" --block 32 --buffer p=128:"f32 inout zeros" --buffer y=32 <<'END'
__global__ void k(float4 *p, float *y)
{
    float4 v = p[threadIdx.x];
    v.x = threadIdx.x;
    p[threadIdx.x] = v;
    y[threadIdx.x] = p[threadIdx.x ^ 1].y;
}
END
right "a lock, and the last warp, in shared memory" --block 64 --buffer sum=1:"f32 inout zeros" \
    --buffer part=2:out --buffer x=64 <<'END'
__global__ void k(float *sum, float *part, const float *x)
{
    __shared__ int lock;
    __shared__ unsigned ended;
    if (threadIdx.x == 0)
        lock = ended = 0;
    __syncthreads();
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            *sum += x[threadIdx.x];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = threadIdx.x;
        __threadfence_block();
        if (atomicAdd(&ended, 1u) == 1)
            *sum += part[0] + part[1];
    }
}
END
wrong "a store of what is there is no excuse for the next" 6 "thread 0 read since the last barrier" \
    --block 64 --buffer in=8 --buffer "out=64:f32 inout zeros" --buffer y=64 <<'END'
__global__ void k(const float *in, float *out, float *y)
{
    const int i = threadIdx.x;
    out[i] = 0;
    for (int j = 0; j < 8; j++)
        out[i] += in[j] + 2;
    y[i] = out[i] + (i + 1 < blockDim.x ? out[i + 1] : 0);
}
END
wrong "loads behind an atomic operation" 9 "thread 0 read since the last barrier" \
    --block 64 --buffer "x=64:f32 inout ramp" --buffer count=1:i32 <<'END'
__global__ void k(float *x, int *count)
{
    float v = x[threadIdx.x];
    if (threadIdx.x == 63)
        atomicAdd(count, 1);
    __syncthreads();
    if (threadIdx.x < 63)
        v += x[threadIdx.x + 1];
    x[threadIdx.x] = v;
}
END
wrong "what an asynchronous copy reads, late" 6 "thread 0 wrote since the last barrier" \
    --block 64 --buffer "x=64:f32 inout ramp" --buffer y=64 <<'END'
#include <cuda_pipeline.h>
__global__ void k(float *x, float *y)
{
    __shared__ float s[64];
    const int i = threadIdx.x;
    __pipeline_memcpy_async(&s[i], &x[i], 4);
    __pipeline_commit();
    __syncthreads();
    x[(i + 1) % 64] = 100;
    __pipeline_wait_prior(0);
    __syncthreads();
    y[i] = s[i];
}
END

# ---- more of blocks

wrong "a store between many others" 4 "which thread 1023 of block 0,0,0 writes: blocks run" \
    --block 1024 --grid 2 --buffer "x=2048:f32 inout ramp" <<'END'
__global__ void k(float *x)
{
    const int i = blockIdx.x * 1024 + threadIdx.x;
    const float left = i > 0 ? x[i - 1] : 0;
    __syncthreads();
    if (i % 2 == 1)
        x[i] = left + 2;
}
END
wrong "each block initializes what all change" 4 "which thread 0 of block 0,0,0 writes: blocks run" \
    --block 32 --grid 4 --buffer count=1:i32 <<'END'
__global__ void k(int *count)
{
    if (threadIdx.x == 0)
        *count = 0;
    __syncthreads();
    atomicAdd(count, 1);
}
END
wrong "one of two loads, behind the ticket" 10 "which thread 0 of block 0,0,0 reads: blocks run" \
    --block 1 --grid 2 --buffer x=1:"f32 inout ramp" --buffer y=2 --buffer ticket=1:i32 <<'END'
__global__ void k(float *x, float *y, int *ticket)
{
    if (blockIdx.x == 0) {
        float a = x[0];
        atomicAdd(ticket, 1);
        y[0] = a + x[0];
        return;
    }
    if (atomicAdd(ticket, 1) >= 0)
        x[0] = 7;
}
END
answers "one of two loads: its line" "the read at k.cu:6"
# Blocks that depend on each other without a race leave what they leave in order.
cat >k.cu <<'END'
__global__ void k(const float *in, int *count, int *out)
{
    float s = 0;
    if (blockIdx.x == 0)
        for (int i = 0; i < 300000; i++)
            s += in[threadIdx.x];
    if (s > -1e30f && *count < 1)
        out[atomicAdd(count, 1)] = blockIdx.x + 1;
    printf("block %d\n", blockIdx.x);
}
END
for jobs in 1 2; do
    expect "a plain load of a counter, $jobs host threads" 0 judge k.cu --block 1 --grid 8 \
        --buffer in=1 --buffer "count=1:i32 inout zeros" --buffer "out=8:i32 inout zeros" \
        --jobs "$jobs" --output "out=counted$jobs"
    grep -h '^block' "$err" "$out" >said$jobs
done
cmp -s counted1 counted2 && cmp -s said1 said2 && [ "$(grep -c . said2)" = 8 ] &&
    pass "the counter is as with one" || fail "the counter is as with one"

# ---- blocks on several host threads

cat >k.cu <<'END'
__device__ unsigned ended;
__global__ void k(const float *x, float *y, volatile int *flag, int *last)
{
    __shared__ float s[32];
    const int i = blockIdx.x * 32 + threadIdx.x;
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[31 - threadIdx.x] + blockIdx.x;
    if (threadIdx.x == 0) {
        while (blockIdx.x > 0 && flag[blockIdx.x - 1] == 0)
            ;
        printf("block %d\n", blockIdx.x);
        flag[blockIdx.x] = 1;
        if (atomicAdd(&ended, 1u) == gridDim.x - 1)
            *last = blockIdx.x;
    }
}
END
for jobs in 1 3; do
    expect "$jobs host threads" 0 judge k.cu --block 32 --grid 40 --buffer x=1280 \
        --buffer y=1280:out --buffer "flag=40:i32 inout zeros" --buffer last=1:out \
        --output y=y$jobs --output last=last$jobs --jobs "$jobs"
    grep -h '^block' "$err" "$out" >printed$jobs
done
for what in y last printed; do
    cmp -s "${what}1" "${what}3" && pass "$what: as with one" || fail "$what: not as with one"
done
printed_lines=$(grep -c '^block' printed3)
[ "$printed_lines" = 40 ] && pass "40 lines" || fail "$printed_lines lines of 40"
cat >k.cu <<'END'
__global__ void k(int *y)
{
    __shared__ int s[32];
    if (blockIdx.x % 7 != 5)
        s[threadIdx.x] = 1;
    else if (threadIdx.x != 0)
        s[threadIdx.x - 1] = 1;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}
END
for jobs in 1 4; do
    expect "$jobs host threads, a fault" 1 judge k.cu --block 32 --grid 40 \
        --buffer y=1280 --jobs "$jobs"
    answers "$jobs host threads: the first block that has one" "block 5,0,0"
done
cat >k.cu <<'END'
__global__ void k(int *y)
{
    __shared__ int s[4] = {1, 2, 3, 4};
    y[threadIdx.x] = s[threadIdx.x];
}
END
expect "an initial value of shared memory" 2 judge k.cu --block 4 --buffer y=4
says "an initial value of shared memory: says so" "in shared memory has an initial value"
finish
