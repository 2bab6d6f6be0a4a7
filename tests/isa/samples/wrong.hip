// SPDX-License-Identifier: Apache-2.0
// Kernels that are wrong in one way each, for the machine and the checks to
// find, and beside them what is right.  256 bytes of `in` per wave go to shared
// memory by a copy, and out again; the block has two waves.
typedef unsigned u32;
typedef unsigned long long u64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
#define LDS __attribute__((address_space(3)))
#define WAIT(text) asm volatile("s_waitcnt " text ::: "memory")
#define BARRIER asm volatile("s_barrier" ::: "memory")

#define DEVICE __attribute__((device)) __attribute__((always_inline)) inline

DEVICE u32x4 view(const u32 *p, u32 records)
{
    return u32x4{(u32)(u64)p, (u32)((u64)p >> 32) & 0xffff, records, 0x20000};
}

DEVICE void copy(u32x4 from, u32 to, u32 voffset)
{
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 3\n\t"
                 "buffer_load_dword %1, %2, 0 offen lds" ::"s"(to),
                 "v"(voffset), "s"(from)
                 : "memory");
}

DEVICE void copy_at_once(u32x4 from, u32 to, u32 voffset)
{
    asm volatile("s_mov_b32 m0, %0\n\t"
                 "buffer_load_dword %1, %2, 0 offen lds" ::"s"(to),
                 "v"(voffset), "s"(from)
                 : "memory");
}

DEVICE void copy_with_offset(u32x4 from, u32 to, u32 voffset)
{
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 3\n\t"
                 "buffer_load_dword %1, %2, 0 offen offset:4 lds" ::"s"(to),
                 "v"(voffset), "s"(from)
                 : "memory");
}

#define ENTRY(name)                                                            \
    extern "C" __attribute__((global)) __attribute__(                          \
        (amdgpu_flat_work_group_size(128, 128))) void                          \
    name(const u32 *in, u32 *out, u32 records)                                 \
    {                                                                          \
        __attribute__((shared)) static u32 memory[256];                        \
        LDS u32 *m = (LDS u32 *)memory;                                        \
        u32 at = (u32)(u64)m;                                                  \
        u32 t = __builtin_amdgcn_workitem_id_x();                              \
        u32 w = __builtin_amdgcn_readfirstlane(t / 64);                        \
        u32x4 from = view(in, records);                                        \
        (void)at;                                                              \
        (void)w;                                                               \
        (void)from;                                                            \
        m[128 + t] = 0;                                                        \
        WAIT("lgkmcnt(0)");                                                    \
        BARRIER;
#define END }

ENTRY(right)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = m[127 - t];
END

// Lanes that are off copy nothing: the others' words stay zero.
ENTRY(right_masked)
    m[t] = 0;
    WAIT("lgkmcnt(0)");
    BARRIER;
    if (t % 3 != 0)
        copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = m[127 - t];
END

// Behind the last barrier nothing is shared, and no run comes to the last wait.
ENTRY(right_ending)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    u32 v = m[127 - t];
    WAIT("lgkmcnt(0)");
    BARRIER;
    out[t] = v;
    if (records == 8)
        WAIT("vmcnt(0)");
END

ENTRY(no_wait)
    copy(from, at + 256 * w, 4 * t);
    BARRIER;
    out[t] = m[127 - t];
END

ENTRY(no_barrier)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = m[127 - t];
END

// The order of wait and barrier is the wrong one.
ENTRY(wait_after_barrier)
    copy(from, at + 256 * w, 4 * t);
    BARRIER;
    WAIT("vmcnt(0)");
    out[t] = m[127 - t];
END

ENTRY(no_second_barrier)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    u32 v = m[127 - t];
    WAIT("lgkmcnt(0)");
    copy(from, at + 256 * w, 4 * t + 512);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = v + m[127 - t];
END

// Own reads may still be under way when the copy is issued.
ENTRY(read_pending)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    u32 v;
    asm volatile("ds_read_b32 %0, %1" : "=v"(v) : "v"(at + 4 * t) : "memory");
    copy(from, at + 256 * w, 4 * t + 512);
    WAIT("vmcnt(0) lgkmcnt(0)");
    out[t] = v + m[t];
END

// A register is used before its value is there.
ENTRY(register_pending)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    u32 v;
    asm volatile("ds_read_b32 %0, %1" : "=v"(v) : "v"(at + 4 * t) : "memory");
    out[t] = v + 1;
END

ENTRY(store_unwaited)
    m[t] = t;
    BARRIER;
    out[t] = m[127 - t];
END

// What a wave read is overwritten behind a barrier for which it did not wait.
ENTRY(read_unwaited)
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    u32 v;
    asm volatile("ds_read_b32 %0, %1"
                 : "=v"(v)
                 : "v"(at + 4 * (127 - t))
                 : "memory");
    BARRIER;
    copy(from, at + 256 * w, 4 * t + 512);
    WAIT("vmcnt(0) lgkmcnt(0)");
    out[t] = v;
END

ENTRY(ends_in_flight)
    copy(from, at + 256 * w, 4 * t);
    out[t] = t;
END

ENTRY(never_written)
    out[t] = m[t];
END

ENTRY(outside_shared)
    copy(from, at + 256 * w + 1024 - 256, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(outside_device)
    out[t + 64] = t;
END

ENTRY(records_too_large)
    copy(view(in, records + 1024), at + 256 * w, 4 * t + 1024);
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(misaligned)
    copy(from, at + 256 * w + 2, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(endless)
    while (1)
        asm volatile("s_nop 0" ::: "memory");
END

// Both waves write the same words.
ENTRY(written_twice)
    out[t % 64] = t % 64;
END

// What the other wave wrote is read without a barrier, then with one.
ENTRY(read_unordered)
    out[t] = t;
    WAIT("vmcnt(0)");
    u32 v = *(volatile u32 *)(out + 127 - t);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = v;
END

ENTRY(right_exchange)
    out[t] = t;
    WAIT("vmcnt(0)");
    BARRIER;
    u32 v = *(volatile u32 *)(out + 127 - t);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = v;
END

// Nobody else reads what is waited for.
ENTRY(read_stored)
    out[t] = t;
    WAIT("vmcnt(0)");
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    BARRIER;
    out[t] = m[127 - t];
END

// ---- for the checks of the listing

ENTRY(m0_at_once)
    copy_at_once(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(scalar_at_once)
    u32 offset;
    asm volatile("v_readfirstlane_b32 %0, %1\n\t"
                 "s_mov_b32 m0, %2\n\ts_nop 2\n\t"
                 "buffer_load_dword %1, %3, %0 offen lds"
                 : "=&s"(offset)
                 : "v"(4 * t), "s"(at + 256 * w), "s"(from)
                 : "memory");
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(offset_on_copy)
    copy_with_offset(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = t;
END

ENTRY(waterfall)
    __amdgpu_buffer_rsrc_t each = __builtin_amdgcn_make_buffer_rsrc(
        (void *)(in + in[t]), 0, records, 0x20000);
    out[t] = __builtin_amdgcn_raw_buffer_load_b32(each, 4 * t, 0, 0);
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
END

ENTRY(scratch)
    volatile u32 table[40];
    for (u32 i = 0; i < 40; i++)
        table[i] = in[i];
    copy(from, at + 256 * w, 4 * t);
    WAIT("vmcnt(0)");
    out[t] = table[in[t] % 40];
END

// A ring whose waits the compiler could spoil: here somebody did.
ENTRY(extra_wait)
    for (u32 i = 0; i < records; i++) {
        copy(from, at + 256 * w, 4 * t);
        WAIT("vmcnt(1)");
        BARRIER;
        WAIT("vmcnt(0)");
        out[t] = i;
    }
END

ENTRY(good_ring)
    for (u32 i = 0; i < records; i++) {
        copy(from, at + 256 * w, 4 * t);
        WAIT("vmcnt(1)");
        BARRIER;
    }
    WAIT("vmcnt(0)");
    out[t] = t;
END
