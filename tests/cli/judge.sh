#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge, on kernels of plain CUDA C++ (tests/kernels/cuda): each fault is
# found at its line with its cause, correct kernels run silently and write the
# right output, and unsupported code is refused by name and line.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}" addr2line
kernels=$top_srcdir/tests/kernels/cuda/kernels.cu

# finds KERNEL WORDS OPTION...: checks for a finding at the first marked line
# after the kernel's name.
finds() {
    kernel=$1 words=$2
    shift 2
    line=$(sed -n "/void $kernel(/,\$p" "$kernels" | grep -n "// fault\$" |
        head -n 1 | cut -d: -f1)
    first=$(grep -n "void $kernel(" "$kernels" | cut -d: -f1)
    expect "$kernel" 1 judge "$kernels" --entry "$kernel" "$@"
    says "$kernel in words" "$words"
    says "$kernel at its line" "kernels.cu:$((first + line - 1))"
}

# passes KERNEL OPTION...
passes() {
    kernel=$1
    shift
    for seed in 0 7; do
        expect "$kernel" 0 judge "$kernels" --entry "$kernel" --seed $seed "$@"
    done
    answers "$kernel broke no rule" "no rule broken"
}

# agrees NAME FILE: the python program on stdin finds the file's numbers right.
agrees() {
    if ! command -v python3 >/dev/null; then
        skip "$1: there is no python3"
    elif python3 - "$2"; then
        pass "$1"
    else
        fail "$1"
    fi
}

passes right_warps --block 128 --buffer x=128 --buffer y=4
passes right_transpose --block 32,8 --grid 2,2 --buffer in=64,64 \
    --buffer out=n,n --arg n=64
passes right_pipeline --block 64 --buffer in=1024 --buffer out=1024
passes right_histogram --block 64 --shared 512 --buffer x=n --arg n=1000 \
    --buffer "bins=128:inout zeros none"
passes right_stencil --block 64 --grid 3 --buffer x=n --buffer y=n --arg n=130

passes right_masks --block 256 --buffer x=256 --buffer y=1 \
    --buffer "votes=256:inout zeros none"
expect "lanes of masks" 0 judge "$kernels" --entry right_masks --block 256 \
    --buffer "x=256:i32 in zeros" --buffer y=1 --output votes=votes.npy \
    --buffer "votes=256:inout zeros none"
agrees "what they vote" votes.npy <<'END'
import sys
votes = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("I")
third = sum(1 << lane for lane in range(8, 32) if lane % 3 == 2)
assert list(votes) == [0] * 8 + [third] * 24 + [496] * 224, list(votes)[:40]
END
echo "__global__ void args(int *x) {}" >args.cu
expect "a kernel called args" 2 judge args.cu --entry args --block 1 \
    --buffer x=1
says "it is told why" "which groat's file of arguments is called"
# What the loader would run, outside of the watch.
for line in 'struct s { s() { for (;;) asm volatile(""); } int i; }; __device__ s one;' \
    '__device__ int f(volatile int x) { return x; } __device__ int one = f(7);' \
    'struct s { ~s() { one = 2; } int one; }; __device__ s one;'; do
    echo "$line __global__ void code(int *x) { *x = sizeof(one); }" >code.cu
    expect "code outside of the kernel" 4 judge code.cu --entry code --block 1 \
        --buffer x=1 --timeout 5
    says "that no GPU runs" "an initial value that is computed"
done
echo "__global__ void keep(int *x) {}" >keep.cu
expect "random whole numbers" 0 judge keep.cu --entry keep --block 1 \
    --buffer "x=1000:inout random(5, 9) none" --output x=kept.npy
agrees "each of them comes" kept.npy <<'END'
import sys
x = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("i")
assert set(x) == {5, 6, 7, 8, 9}, sorted(set(x))
END
inlined='__device__ __forceinline__ void'
{
    echo "$inlined f0(float *p) { p[1 << 20] = 1; }"
    for i in $(seq 20); do
        echo "$inlined f$i(float *p) { f$((i - 1))(p); }"
    done
    echo "__global__ void deep(float *p) { f20(p); }"
} >deep.cu
expect "a fault below 20 inlined calls" 1 judge deep.cu --entry deep --block 1 \
    --buffer p=4:f32
says "it is at its line" "deep.cu:1"
says "a caller is named" "deep.cu:2 in f1"
lacks "the entry is not taken for the function" "deep.cu:1 in deep"
expect "votes of a block" 0 judge "$kernels" --entry right_count --block 128 \
    --buffer "x=128:i32 in ramp" --buffer y=128 --output y=count.npy
agrees "what it votes" count.npy <<'END'
import sys
y = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("i")
assert list(y) == [100 * 124 + 11] * 128, list(y)[:4]
END
for threads in 5 6 7 15; do
    command -v python3 >/dev/null || {
        skip "counters of $threads threads: there is no python3"
        continue
    }
    python3 - $threads <<'END'
import sys
def npy(name, values):
    head = "{'descr': '<u4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head = head.ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") +
                   head.encode() + b"".join(v.to_bytes(4, "little") for v in values))
n, down, far = int(sys.argv[1]), 0, 9
for i in range(n):
    down = 5 if down == 0 or down > 5 else down - 1
    far = 5 if far == 0 or far > 5 else far - 1
npy("ups.npy", [n % 10])
npy("downs.npy", [down, far, 2**32 - 5 * n])
npy("from.npy", [0, 9, 0])
END
    expect "counters of $threads threads" 0 judge "$kernels" \
        --entry right_counters --block "$threads" \
        --buffer "up=1:inout zeros exact" --expect up=ups.npy \
        --buffer "down=3:inout zeros exact" --input down=from.npy \
        --expect down=downs.npy
    answers "what they come to" "verified  yes"
done
# A whole program: what is for the host is left out, and lines stay.
program=$top_srcdir/tests/kernels/cuda/program.cu
expect "a kernel of a program" 0 judge "$program" --entry add --block 32 \
    --grid 4 --buffer a=n --buffer b=n --buffer c=n --arg n=100
lacks "a kernel of a program is compiled silently" warn
expect "another kernel of it" 1 judge "$program" --entry other --block 32 \
    --buffer c=32
says "its line" "here at program.cu:$(grep -n "// fault" "$program" |
    cut -d: -f1))"
# An output that is no number is the worst, before and behind one that is wrong.
cat >worst.cu <<'END'
__global__ void worst(float *a, float *b, float *c) {
    a[threadIdx.x] = c[threadIdx.x] = 3;
    b[threadIdx.x] = 0.0f / a[threadIdx.x] * INFINITY;
}
END
expect "numbers" 0 judge worst.cu --entry worst --block 4 --output a=ones.npy \
    --output c=same.npy \
    --buffer "a=4:f32 out none" --buffer "b=4:f32 out none" \
    --buffer "c=4:f32 out none"
cmp -s ones.npy same.npy && pass "both outputs are written" ||
    fail "both outputs are written"
for twice in a=ones.raw c=ones.npy; do
    expect "$twice in addition" 2 judge worst.cu --entry worst --block 4 \
        --output a=ones.npy --output $twice --buffer "a=4:f32 out none" \
        --buffer "b=4:f32 out none" --buffer "c=4:f32 out none"
    says "$twice: where it goes" "buffer a already goes to ones.npy"
done
[ -s ones.npy ] && pass "a refusal leaves the file" ||
    fail "a refusal leaves the file"
expected=
for output in a b c; do
    expected="$expected --expect $output=ones.npy"
    # shellcheck disable=SC2086
    expect "expected of $output" "$([ $output = a ]; echo $?)" judge worst.cu \
        --entry worst --block 4 --buffer "a=4:f32 out relative(1e-3)" \
        --buffer "b=4:f32 out relative(1e-3)" \
        --buffer "c=4:f32 out relative(1e-3)" $expected
    [ $output = a ] ||
        answers "the error is that of b" "error     nan of the expected norm of b"
done
# numpy's bool is a byte.
cat >mask.cu <<'END'
__global__ void mask(const bool *keep, int *out) {
    out[threadIdx.x] = keep[threadIdx.x] ? 7 : 2;
}
END
{
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"
    printf '\001\000\000\001'
} >keep.npy
expect "a file of bools" 0 judge mask.cu --entry mask --block 4 \
    --buffer keep=4 --input keep=keep.npy --buffer "out=4:i32 out none" \
    --output out=out.raw
[ "$(od -An -t d4 out.raw | tr -s ' ')" = " 7 2 2 7" ] && pass "its bools" ||
    fail "its bools" "$(od -An -t d4 out.raw)"
# The tolerance of a buffer holds for a file, too.
cat >near.cu <<'END'
__global__ void near(float *a, float s) { a[threadIdx.x] = 3 * s; }
END
for s in 1.0001 1.01; do
    expect "a number times $s" "$([ $s = 1.0001 ]; echo $?)" judge near.cu \
        --entry near --block 4 --arg s=$s --expect a=ones.npy \
        --buffer "a=4:f32 out relative(1e-3)"
done
answers "all bytes of wrong numbers are counted" "NO: 16 of 16 bytes"
expect "a kernel without parameters" 0 judge "$kernels" \
    --entry takes_nothing --block 32
expect "min and max of values" 0 judge "$kernels" --entry lesser --block 2 \
    --buffer "out=4:inout zeros exact" --arg n=4
lacks "min and max give no references" dangling
mkdir "$work/pipes"
{
    code=0
    TMPDIR=$work/pipes "$groat" judge "$kernels" --entry takes_nothing \
        --block 32 2>"$err" || code=$?
    echo "$code" >"$work/code"
} | :
sleep 0.2
[ "$(cat "$work/code")" -ne 0 ] && [ -z "$(ls "$work/pipes")" ] &&
    pass "a closed pipe leaves no folder" ||
    fail "a closed pipe leaves no folder" "$(cat "$work/code") $(ls "$work/pipes")"
finds wrong_masks "at a shuffle or vote for other lanes (16 came)" --block 32 \
    --buffer x=32 --buffer y=32
finds wrong_two_masks "(1 came of the mask 0x1ffff); thread 16-31 at a shuffle" \
    --block 32 --buffer x=32 --buffer y=32
finds wrong_never "which nobody has written" --block 64 --buffer y=64
finds wrong_mask_not_read "which nobody has written" --block 64 --buffer y=64 \
    --arg n=1
says "with the wait behind it" "thread 0 waits for ever behind it at kernels.cu:"
for compiler in g++ clang++; do
    command -v $compiler >/dev/null 2>&1 || continue
    GROAT_CXX=$compiler
    export GROAT_CXX
    expect "masks within masks, by $compiler" 0 judge "$kernels" \
        --entry right_nested --block 40 --buffer "x=40:i32 in ramp" \
        --buffer y=40 --output y=nested.npy
    agrees "what they give" nested.npy <<'END'
import sys
x = list(range(40))
v = x[:]
even = [v[i] + v[i ^ 2] if i < 16 and i % 2 == 0 else v[i] for i in range(40)]
v = [even[i] + even[i ^ 1] if i < 16 else even[i] for i in range(40)]
v[32:] = [sum(x[32:])] * 8
y = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("i")
assert list(y) == [i + 7 for i in v], list(y)
END
    unset GROAT_CXX
done
expect "a structure by value" 4 judge "$kernels" --entry wrong_structure \
    --block 32 --arg p=1
says "is refused" "groat judge takes its members"
says "at its line" "kernels.cu:$(grep -n 'wrong_structure(' "$kernels" | cut -d: -f1):"
expect "a wrong word of a buffer" 2 judge "$kernels" --entry wrong_never \
    --block 64 --buffer "y=64:f32 inn"
says "is the option's" "--buffer y=64:f32 inn: in, out or inout expected, at 'inn'"
expect "a wrong shape of a buffer" 2 judge "$kernels" --entry wrong_never \
    --block 64 --buffer y=m
says "is the option's, too" "--buffer y=m: expression 'm', column 1: unknown name"
expect "two lines for a buffer" 2 judge "$kernels" --entry wrong_never \
    --block 64 --buffer "y=64
grid 2"
says "are refused" "--buffer y has a line break"
echo 'extern "C" __global__ void wide(size_t n, int *y) { y[0] = n > 5; }' >wide.cu
expect "a size" 0 judge wide.cu --entry wide --block 1 --buffer y=1 --arg n=6
expect "a negative size" 2 judge wide.cu --entry wide --block 1 --buffer y=1 --arg n=-1
says "is refused" "allowed are 0 to 9223372036854775807"
cat >skipped.cu <<'END'
#if 0
#  if 1
#endif
extern "C" __global__ void skipped(float *other, int n) {}
#endif
extern "C" __global__ void skipped(int *y) { y[0] = 1; }
END
expect "code that is skipped" 0 judge skipped.cu --entry skipped --block 1 --buffer y=1
expect "no block" 2 judge wide.cu --entry wide --buffer y=1 --arg n=1
says "is missing" "--block is not given"
expect "the only kernel" 0 judge wide.cu --block 1 --buffer y=1 --arg n=1
expect "a long name" 1 judge "$kernels" --entry wrong_names --block 32 \
    --buffer y=8
line=$(grep -n 'y\[n + size()\] = 1; // fault' "$kernels" | cut -d: -f1)
says "a long name: its line" "here at kernels.cu:$line)"
says "and its function" "kernels.cu:$line in put"
finds wrong_divergent_shuffle "at a shuffle or vote for other lanes" \
    --block 128 --buffer x=128 --buffer y=128
finds wrong_transpose "nobody has written" --block 32,8 --grid 2,2 \
    --buffer in=64,64 --buffer out=64,64 --arg n=64
finds wrong_pipeline "a wait is missing or counts too much" --block 64 \
    --target cpu:sm_80 --buffer in=1024 --buffer out=1024
finds wrong_histogram "a barrier is missing" --block 64 --shared 512 \
    --buffer x=n --arg n=1000 --buffer "bins=128:inout zeros none"
finds wrong_uninitialised "which nobody has written" --block 64 --shared 512 \
    --buffer bins=128
finds wrong_barrier "a barrier that thread 0 does not come to" --block 64 \
    --buffer y=64
finds wrong_alignment "no multiple of 16 (here at kernels.cu:" --block 64 --buffer x=1024 \
    --buffer y=1024
finds wrong_assert "breaks its assertion: n > 5" --block 64 --arg n=4
says "printf goes to stderr" "n is 4"
finds wrong_loop "has not ended in 1 s" --block 32 --timeout 1 \
    --buffer "flag=1:inout zeros none"
finds wrong_end "that is x[1000], 1 element past the end of x[1000]" --block 256 --grid 4 \
    --buffer x=n --buffer y=1024 --arg n=1000 --arg a=2.5
expect "a finding as JSON" 1 judge "$kernels" --entry wrong_end --block 256 \
    --grid 4 --buffer x=n --buffer y=1024 --arg n=1000 --arg a=2.5 --json
answers "its buffer" '"buffer": "x"'
answers "and where in it" '"place": "x[1000], 1 element past the end of x[1000]"'
answers "its line's text" '"text": "y[i] = a * x[i] + y[i]; // fault"'
expect "a race as JSON" 1 judge "$kernels" --entry wrong_transpose \
    --block 32,8 --grid 2,2 --buffer in=64,64 --buffer out=64,64 --arg n=64 --json
answers "has its place" '"what": "here"'
answers "the file" '"file": "kernels.cu"'
answers "the function" '"function": "wrong_transpose"'
finds wrong_dynamic "the block has 128 bytes" --block 64 --shared 128 \
    --buffer y=64
finds wrong_mask "the mask 0xffff, which lacks its own lane" --block 32 --buffer x=32 \
    --buffer y=32
finds wrong_stack "of an array 'int" --block 64 \
    --buffer x=64 --buffer y=64
says "and what is wrong" "[4]', outside its bounds"

# Kernels by their names.
cat >spaces.cu <<'END'
namespace first { inline namespace v1 {
__global__ void same(float *y) { y[threadIdx.x] = 1; }
} }
namespace second::inner {
struct pair { int a, b; };
__global__ void same(float *y, int shift) { y[threadIdx.x + shift] = 2; }
template <int N> __global__ void many(float *y) { y[threadIdx.x] = N; }
}
namespace alias = first;
namespace first {
__global__ void both(float *y) { y[threadIdx.x] = 1; }
#ifdef NEVER
__device__ float one(double x) {
#else
__device__ float one(float x) {
#endif
    return x;
}
}
__global__ void both(float *y) { y[threadIdx.x + 1000] = first::one(2); }
#define BEGIN namespace hidden {
BEGIN __global__ void mine(float *y) { y[threadIdx.x] = 1; } }
__global__ void last(float *y, int n) { y[threadIdx.x] = n; }
END
names() {
    expect "$1" 0 judge spaces.cu --entry "$@" --block 32 --buffer y=32:out
}
for words in "inout zeros" "inout random(0, 1)" out; do
    expect "without a tolerance: $words" 0 judge spaces.cu --entry first::both \
        --block 32 --buffer "y=32:$words"
done
expect "a name that two kernels have" 2 judge spaces.cu --entry same \
    --block 32 --buffer y=32
says "is not enough" "spaces.cu has several kernels 'same'"
expect "one without a namespace" 1 judge spaces.cu --entry both --block 32 \
    --buffer y=32
says "goes before others" "that is y[1000]"
names first::both
names hidden::mine
names first::same
names inner::same --arg shift=0
names ::second::inner::same --arg shift=0
names 'many<3>'
names last --arg n=1
expect "a template" 2 judge spaces.cu --entry many --block 32 --buffer y=32
says "is told how" "spaces.cu:7: second::inner::many is a template: give its arguments, as in --entry 'second::inner::many<...>'"
expect "no kernel" 2 judge spaces.cu --entry other --block 32 --buffer y=32
says "tells those that are" "first::same, second::inner::same, second::inner::many, first::both, both, mine, last"
expect "a buffer for a number" 2 judge spaces.cu --entry last --block 32 \
    --buffer y=32 --buffer n=1
says "is refused" "--buffer is 'n=1'; expected NAME=SHAPE of a pointer of last(float * y, int n)"

# Output data: reversing twice restores the input.
reverse() {
    expect "$1" "$2" judge "$kernels" --entry 'right_reverse<64>' --block 64 \
        --grid 2 --buffer "in=128:i32 in ramp" --buffer "out=128:out exact" \
        "$3" "$4" "$5" "$6"
}
reverse "reversed" 0 --output out=once.npy --seed 1
reverse "and once more" 0 --input in=once.npy --output out=twice.npy
reverse "that is a ramp" 0 --input in=once.npy --expect out=twice.npy
answers "all of it" "verified  yes"
reverse "once is not twice" 1 --expect out=twice.npy --seed 1
answers "the first wrong one" "out[0], expected 0, got 127"
[ -z "$(ls "$TMPDIR")" ] || fail "no folder is left" "$(ls "$TMPDIR")"

# Faults that the processor raises are still reported in an answer.
finds wrong_null "address 0x0, a null pointer" --block 32 --buffer y=32
expect "a division by 0" 1 judge "$kernels" --entry wrong_division --block 32 \
    --buffer y=32 --arg z=0
says "is told, with its line" "thread 0 (wave 0 lane 0) divides by 0, or the least number by -1 (here at kernels.cu:343)"
expect "recursion without end" 1 judge "$kernels" --entry wrong_recursion \
    --block 32 --buffer y=32 --json
answers "is told, too" "recurses without end, or needs more local memory than there is (here at kernels.cu:34"
expect "a loop that touches nothing" 1 judge "$kernels" --entry wrong_spin \
    --block 32 --timeout 1 --arg n=1
says "is told by its line" "thread 1-31 did not begin (here at kernels.cu:36"
[ -z "$(ls "$TMPDIR")" ] || fail "and no folder is left" "$(ls "$TMPDIR")"
passes spelled::right_spellings --block 48 --buffer x=48 --buffer y=48
expect "in JSON" 1 judge "$kernels" --entry wrong_barrier --block 64 \
    --buffer y=64 --json
answers "with the finding" '"status": "judged wrong"'

# ---- copies ---------------------------------------------------------------------

for bytes in 12 9; do
    passes right_copies --block 32 --buffer "in=96:in ramp" \
        --buffer "out=32:out none" --arg bytes=$bytes --output out=out.npy
    agrees "copies of $bytes bytes" out.npy <<END
import sys
out = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("f")
for t in range(32):
    # The lowest byte of a small whole number's float is 0.
    last = 3 * (31 - t) + 2 if $bytes == 12 else 0
    assert out[t] == 3 * (31 - t) + last + (31 - t) / 4, (t, out[t])
END
done
finds wrong_copy_length "reads 8 bytes at device address" --block 32 \
    --buffer in=32 --buffer out=32 --arg bytes=8
finds wrong_fill_length "writes 132 bytes at byte 0 of shared memory; the block has 128" \
    --block 32 --shared 128 --buffer out=32 --arg bytes=132
finds wrong_copy_race "a barrier or a wait before this read is missing" --block 32 --buffer in=96 --buffer out=32
finds wrong_fill_race "the other write at" --block 32 --buffer out=32
finds wrong_atomic_place "no multiple of 4" --block 1 --buffer bins=4
finds wrong_global_length "writes 1048576000 bytes of its" --block 1 \
    --buffer out=4 --arg bytes=1048576000
cat >good.cu <<'END'
#ifdef __cplusplus
extern "C" {
#endif
#define SQUARE(x) ((x) * (x))
typedef float real;
using call = void (*)(int);
static_assert(sizeof(int) == 4, "an int");
__device__ int later(int x);
__global__ void k(int *y);
#ifdef __cplusplus
}
#endif
constexpr int tiles = (33 + 31) / 32;
extern "C" __device__ int later(int x)
{
    return SQUARE(x) * tiles;
}
__global__ void k(int *y)
{
    y[threadIdx.x] = later(threadIdx.x);
}
END
expect "declarations of its own" 0 judge good.cu --entry k --block 4 --buffer y=4
expect "an argument that is neither 0 nor 1" 2 judge "$kernels" \
    --entry takes_bool --block 1 --arg flag=7
says "a bool has two" "allowed are 0 to 1"
expect "more static memory than CUDA allows" 2 judge "$kernels" \
    --entry large_static --block 32 --buffer out=32
says "the bound is named" "bytes of static shared memory; 49152 are allowed"
expect "an argument that its type cannot hold" 2 judge "$kernels" \
    --entry wrong_spin --block 1 --arg n=4294967299
says "the type's numbers are named" "allowed are -2147483648 to 2147483647"
# gcc before 12 gives a local variable no value.
if [ "$(c++ -dumpversion | cut -d. -f1)" -ge 12 ]; then
    cat >bad.cu <<'END'
__global__ void k(const float *x, float *y, int n)
{
    float last;
    for (int i = 0; i < n; i++)
        if (x[i] > 2)
            last = x[i];
    y[threadIdx.x] = last;
}
END
    expect "a variable that may be unset" 1 judge bad.cu --entry k --block 1 \
        --buffer x=4 --buffer y=1 --arg n=4
    answers "and decides an output" "a local variable or array that nobody set decides what is in y[0] (the compiler warns: bad.cu:"
    says "the compiler's words are there" "uninitialized"
    cat >bad.cu <<'END'
__global__ void k(const float *x, float *y, int n)
{
    float *at;
    if (x[0] < n)
        at = y;
    if (n < 3)
        at[threadIdx.x] = 1;
    __shared__ int last;
    int index;
    if (n != 4)
        index = n;
    last = n == 4 ? 0 : index;
    y[0] = last;
}
END
    expect "one that may be unset, and is not then used" 0 judge bad.cu --entry k --block 1 \
        --buffer x=4 --buffer y=1 --arg n=4
    cat >bad.cu <<'END'
__global__ void k(const float *x, float *y, int n)
{
    int at;
    if (x[0] > n)
        at = 3;
    if (at < -5)
        return;
    y[at] = 1;
}
END
    expect "one that decides an address" 1 judge bad.cu --entry k --block 1 --buffer x=4 \
        --buffer y=1 --arg n=4
    answers "and the other value" "decides what is in y"
fi

# ---- what is refused ---------------------------------------------------------------

expect "no entry" 2 judge "$kernels" --block 64
says "the entry is asked for" "several kernels: --entry says which"
echo 'template <int N> __global__ void only(int *y) { *y = N; }' >only.cu
expect "a template without arguments" 2 judge only.cu --block 1 --buffer y=1
says "an instance is asked for" "as in --entry 'only<...>'"
echo 'int y;' >only.cu
expect "no kernel" 2 judge only.cu --block 1
says "there is none" "has no kernel; its __global__ functions"
expect "no block" 2 judge "$kernels" --entry right_warps
expect "a block that is none" 2 judge "$kernels" --entry right_warps --block 0
expect "one too large" 2 judge "$kernels" --entry right_warps --block 64,32
expect "a kernel that is none" 2 judge "$kernels" --entry warp_sum --block 64
says "the kernels are listed" "right_warps, wrong_divergent_shuffle"
expect "a buffer left out" 2 judge "$kernels" --entry right_warps --block 64 \
    --buffer x=64
says "it is asked for" "say --buffer y=ELEMENTS"
expect "a buffer of another name" 2 judge "$kernels" --entry right_warps \
    --block 64 --buffer z=64
says "the parameters are listed" "const float * x, float * y"
expect "a value for a pointer" 2 judge "$kernels" --entry right_warps \
    --block 64 --arg x=64
expect "a buffer twice" 2 judge "$kernels" --entry right_warps --block 64 \
    --buffer x=64 --buffer x=64
expect "a shape that is none" 2 judge "$kernels" --entry right_warps \
    --block 64 --buffer x=no --buffer y=4
expect "a GPU" 2 judge "$kernels" --entry right_warps --block 64 \
    --target cuda:sm_90a --buffer x=64 --buffer y=4
expect "no file" 1 judge no.cu --entry k --block 64
refuses() {
    printf '%s\n' "$2" >bad.cu
    expect "$1" 2 judge bad.cu --entry k --block 32
    says "$1 at its line" "$3"
}
refuses "lines of another file" '#line 7 "x.cu"' "bad.cu:1: line: #line is refused"
refuses "lines of a preprocessor" '
# 7 "x.cu"' "bad.cu:2: 7: #line is refused"
fails() {
    printf '%s\n' "$2" >bad.cu
    expect "$1" 4 judge bad.cu --entry k --block 32
    says "$1 at its line" "bad.cu:$3:"
    says "$1 in words" "$4"
}
fails "another instruction" '__global__ void k() {
    asm volatile("tcgen05.fence::after_thread_sync;");
}' 2 "'tcgen05_fence_after_thread_sync'"
fails "PTX of an operand that is not there" '__global__ void k() {
    asm volatile("mov.u32 %0, %1;");
}' 2 "asm_that_is_not_read"
fails "PTX behind a text" '__global__ void k() { printf("a"); asm("bra 1+;"); }' 1 \
    "asm_that_is_not_read"
bodiless="a function that the kernel calls has no body"
fails "a function of the host" 'extern "C" int system(const char *);
__global__ void k() { system("true"); }' 1 "$bodiless"
fails "one in a block" 'extern "C" {
__device__ int mine(int);
int puts(const char *);
}
__global__ void k() { puts(""); }' 3 "$bodiless"
fails "one of the device" '__device__ int mine(int);
__global__ void k() { mine(1); }' 1 "$bodiless"
refuses "a launch by a kernel" '__global__ void l() {}
__global__ void k() { l<<<1, 32>>>(); }' "bad.cu:2: <<<: kernels that launch"
refuses "a program without an end" '__global__ void k(
int main() { k<<<1, 32>>>(); ' "bad.cu:"
refuses "host code alone" 'int main() { return 0; }' "has no kernel 'k'"
printf '__global__ void k(int *y, int, const float *) { *y = 1; }\n' >bad.cu
expect "parameters without names" 0 judge bad.cu --block 1 --buffer y=1 \
    --arg unnamed2=3 --buffer unnamed3=4
refuses "an end in the parameters" '__global__ void k(int n' "bad.cu:1: k"
refuses "an end in a comment" '/* __global__ void k() {}' "has no kernel 'k'"
refuses "kernels without a name or a body" '__global__ (int) {}
__global__ void k;
__global__ void m() {}' "macro makes: m"
printf '__global__ void k() {}\n#include' >bad.cu
expect "an include of nothing" 2 judge bad.cu --entry k --block 32
says "is told at its line" "bad.cu:2: "
printf '__global__ void k() {}\n#if 0\n/* "' >bad.cu
expect "an end in dead code" 2 judge bad.cu --entry k --block 32
printf '__global__ void k(int n) {}\n' >bad.cu
expect "a real number for an int" 2 judge bad.cu --entry k --block 32 \
    --arg n=1.5
printf '__global__ void k(int n) { n = m; }\n' >bad.cu
expect "what does not compile" 4 judge bad.cu --entry k --block 32 --arg n=1
says "is told at its line" "bad.cu:1:"
printf '__global__ void k(int *x) {\n    int i;\n    x[i + 1] = 1;\n}\n' >bad.cu
expect "a local that nobody set" 4 judge bad.cu --entry k --block 32 --buffer x=32
says "a local that nobody set, at its line" "bad.cu:3:"
printf '__global__ void k(int *x, int n) {
    int i; if (n > 0) i = n; if (n > 0) x[i %% 32] = 1;\n}\n' >good.cu
expect "a local that may be unset" 0 judge good.cu --entry k --block 1 \
    --buffer x=32 --arg n=40
cat >bad.cu <<'END'
__global__ void k(int *x)
{
    int v = threadIdx.x;
    if (v < 16)
        v = __any_sync(0xffffffffu, v);
    else
        v = __all_sync(0xffffffffu, v);
    x[threadIdx.x] = v;
}
END
expect "a vote that meets another one" 1 judge bad.cu --entry k --block 32 \
    --buffer x=32
says "a vote that meets another one, at its line" "bad.cu:"
cat >good.cu <<'END'
__global__ void k(float *from, int *to)
{
    const float x = from[0] * 3e9f; /* +-1.5e9 to 6e9 */
    const float big = 3e38f * 10, none = big - big;
    to[0] = __float2int_rn(big);
    to[1] = __float2int_rz(-big);
    to[2] = __float2int_rd(none);
    to[3] = (int)__float2uint_rz(-1.5f);
    to[4] = (int)__float2uint_ru(big);
    to[5] = __mul24(0x1000003, -5);
    to[6] = (int)__umul24(0xff000002u, 7);
    to[7] = __float2int_ru(-2.5f) * 10 + __float2int_rn(2.5f);
    to[8] = x != x;
}
END
expect "numbers as the device converts them" 0 judge good.cu --entry k \
    --block 1 --buffer from=1 --buffer "to=9:i32 out none" --output to=to.npy
agrees "they are right" to.npy <<'END'
import sys
to = memoryview(open(sys.argv[1], "rb").read()[128:]).cast("i")
assert list(to) == [2**31 - 1, -2**31, 0, 0, -1, -15, 14, -18, 0], list(to)
END

# A flag that nobody set decides a branch; `half` is a name like others.
cat >own.cu <<'END'
__global__ void flag(float *y, int n) {
    __shared__ int done;
    if (threadIdx.x == 0 && n > 5) done = 1;
    __syncthreads();
    if (done != 1) y[threadIdx.x] = n;
}
__global__ void halves(float *y, int n) {
    for (int half = n / 2; half > 0; half /= 2) y[half] = half;
}
END
expect "a branch on an unset flag" 1 judge own.cu --entry flag --block 32 \
    --buffer y=32 --arg n=3
says "has its line" "which nobody has written yet: it is never written"
says "the branch's" "here at own.cu:5"
cat >compares.cu <<'END'
__global__ void compares(float *y, int n) {
    int last = n - 1;
    if (threadIdx.x == last) y[last] = 2;
}
END
expect "a comparison with threadIdx.x" 0 judge compares.cu --entry compares \
    --block 4 --buffer "y=n:f32 inout zeros none" --arg n=4
lacks "it gives no warning" sign-compare
expect "a variable of the name half" 0 judge own.cu --entry halves --block 1 \
    --buffer y=64 --arg n=64

# Signals leave no folder; the kernel below ends at its time limit alone.
printf '__global__ void k(int *x) { while (x[0] == x[0]) x[1] = 1; }\n' >bad.cu
mkdir "$work/ended"
for signal in HUP INT TERM; do
    TMPDIR=$work/ended env --default-signal=HUP,INT,TERM "$groat" judge bad.cu \
        --entry k --block 1 --buffer x=32 --timeout 60 >"$out" 2>"$err" &
    for _ in $(seq 100); do
        [ -n "$(ls "$work/ended")" ] && break
        sleep 0.1
    done
    sleep 0.3
    # A compiler that is ended leaves files of its own.
    for _ in $(seq 100); do
        grep -qx "PPid:.$!" /proc/[0-9]*/status 2>/dev/null || break
        sleep 0.1
    done
    kill -$signal $!
    code=0
    wait $! || code=$?
    if [ "$code" -gt 128 ] && [ -z "$(ls -A "$work/ended")" ]; then
        pass "$signal leaves no folder"
    else
        fail "$signal leaves no folder" "$code: $(ls "$work/ended")"
    fi
done
printf '__global__ void k(int n) {}\0' >bad.cu
expect "a byte of 0" 2 judge bad.cu --entry k --block 32 --arg n=1
finish
