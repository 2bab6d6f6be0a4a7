#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat judge on kernels with floats of 16 bits and with cooperative groups:
# outputs equal those of a reference here, faults are found at their lines.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}" python3
half=$top_srcdir/tests/kernels/cuda/half.cu

# line TEXT: its number in half.cu.
line() {
    grep -n -F "$1" "$half" | cut -d: -f1
}

python3 - <<'END_OF_INPUTS'
import random, struct

def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]

def brain(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16

def value(code):
    return struct.unpack("<f", struct.pack("<I", code << 16))[0]

def write(name, form, numbers):
    with open(name, "wb") as file:
        file.write(struct.pack(f"<{len(numbers)}{form}", *numbers))

random.seed(11)
x = [half(random.uniform(-2, 2)) for _ in range(256)]
y = [half(random.uniform(-2, 2)) for _ in range(256)]
write("x", "e", x)
write("y", "e", y)
write("axpy", "e", [half(half(1.7) * a) + b for a, b in zip(x, y)])
write("twice", "e", [2 * a for a in x])
write("most", "f", [max(map(abs, x))])
transposed = [x[16 * r + c] for c in range(16) for r in range(16)]
write("transposed", "e", transposed)
n = 200
rows = [brain(random.uniform(-2, 2)) for _ in range(3 * n)]
weights = [brain(random.uniform(0, 2)) for _ in range(n)]
write("rows", "H", rows)
write("weights", "H", weights)
norms = []
for r in range(3):
    row = [value(code) for code in rows[r * n:r * n + n]]
    scale = (sum(v * v for v in row) / n + 1e-6) ** -0.5
    norms += [brain(v * scale * value(w)) for v, w in zip(row, weights)]
write("norms", "H", norms)
mine = [random.randrange(100) for _ in range(64)]
write("mine", "i", mine)
write("mine.32", "i", mine[:32])
tiles = [mine[t:t + 8] for t in range(0, 64, 8)]
flat = lambda of: [of(tile, lane) for tile in tiles for lane in range(8)]

def product(name, a, b, columns, depth, turned, form):
    """2 a b of 64 rows, all of small whole numbers."""
    write(name, form,
          [2 * sum(a[depth * r + k] *
                   (b[depth * c + k] if turned else b[columns * k + c])
                   for k in range(depth)) for r in range(64) for c in range(columns)])

a = [random.randrange(-4, 5) for _ in range(64 * 48)]
b = [random.randrange(-4, 5) for _ in range(48 * 32)]
write("a", "e", a)
write("b", "e", b)
write("a.brain", "H", [brain(v) for v in a])
write("b.brain", "H", [brain(v) for v in b])
product("floats", a, b, 32, 48, False, "f")
product("turned", a, b, 32, 48, True, "f")
product("halves", a, b, 16, 32, False, "e")
write("a.32", "e", a[:64 * 32])
write("b.32", "e", b[:32 * 16])
odd = [v for v in mine[:32] if v & 1]
write("odd", "i", [len(odd)] + odd + [0] * (32 - len(odd)))
write("tiles", "i",
      flat(lambda t, i: max(t)) + flat(lambda t, i: sum(t[:i + 1])) +
      flat(lambda t, i: t[3]) + flat(lambda t, i: t[i + 2] if i < 6 else t[i]) +
      flat(lambda t, i: sum((v & 1) << k for k, v in enumerate(t))) +
      [100 * t + i for t in range(8) for i in range(8)] +
      flat(lambda t, i: any(v > 90 for v in t) + 2) +
      flat(lambda t, i: sum(t[:i])))
END_OF_INPUTS

pairs="--buffer x=256 --buffer y=256 --input x=x --input y=y --expect y=axpy"
expect "numbers" 0 judge "$half" --entry axpy --block 128 --grid 2 $pairs \
    --arg n=256 --arg alpha=1.7
answers "are those of the reference" "verified  yes, all 512 bytes"
lacks "no warning" warning
expect "pairs" 0 judge "$half" --entry axpy_pairs --block 64 --grid 2 $pairs \
    --arg n=256 --arg alpha=1.7
answers "are those of the reference" "verified  yes, all 512 bytes"
expect "brain floats and groups" 0 judge "$half" --entry rmsnorm --block 96 --grid 3 \
    --buffer "x=3,n" --buffer w=n --buffer "y=3,n" --arg n=200 --arg eps=1e-6 \
    --input x=rows --input w=weights --expect y=norms
answers "are those of the reference" "verified  yes"
expect "bytes in a union" 0 judge "$half" --entry twice --block 32 --buffer x=256 \
    --buffer y=256 --buffer most=1 --input x=x --expect y=twice --expect most=most
answers "are those of the reference" "verified  yes"
expect "a template of the type" 0 judge "$half" --entry 'transpose<half, 16>' \
    --block 16,16 --buffer x=256:f16 --buffer y=256:f16 --arg rows=16 --arg cols=16 \
    --input x=x --expect y=transposed
answers "are those of the reference" "verified  yes"
expect "atomic sums" 0 judge "$half" --entry sums --block 32 --buffer x=32 \
    --buffer "sum=1:inout zeros none" --buffer "both=2:inout zeros none"
expect "tiles of eight" 0 judge "$half" --entry tiles --block 64 --buffer x=64 \
    --buffer y=8,64 --input x=mine --expect y=tiles
answers "are those of the reference" "verified  yes"

expect "lanes that come together" 0 judge "$half" --entry odd_numbers --block 32 \
    --buffer x=32 --buffer "y=33:inout zeros exact" --input x=mine.32 --expect y=odd
answers "are those of the reference" "verified  yes"

for way in "half, float, 16, 16, false|4|a|b|floats" "half, float, 16, 16, true|4|a|b|turned" \
    "__nv_bfloat16, float, 32, 8, true|2|a.brain|b.brain|turned"; do
    rest=${way#*|}
    tall=${rest%%|*} rest=${rest#*|}
    left=${rest%%|*} rest=${rest#*|}
    case $way in half*) type=f16 wide=2 ;; *) type=bf16 wide=4 ;; esac
    expect "a product of ${way%%|*}" 0 judge "$half" --entry "product<${way%%|*}>" \
        --block 32 --grid $wide,$tall --buffer a=64,48:$type --buffer b=48,32:$type \
        --buffer c=64,32:f32 --arg columns=32 --arg depth=48 --input a="$left" \
        --input b="${rest%%|*}" --expect c="${rest#*|}"
    answers "is that of the reference" "verified  yes, all 8192 bytes"
done
expect "a product of halves" 0 judge "$half" --entry "product<half, half, 16, 16, false>" \
    --block 32 --grid 1,4 --buffer a=64,32:f16 --buffer b=32,16:f16 --buffer c=64,16:f16 \
    --arg columns=16 --arg depth=32 --input a=a.32 --input b=b.32 --expect c=halves
answers "is that of the reference" "verified  yes, all 2048 bytes"
expect "a tile that other lanes write" 1 judge "$half" --entry wrong_product --block 32 \
    --buffer a=256 --buffer c=256
answers "is found at its line" "half.cu:$(line 'load_matrix_sync(left, tile')"
expect "rows that are too near" 1 judge "$half" --entry wrong_rows --block 32 \
    --buffer a=320 --buffer c=256
answers "is told at its line" \
    "rows whose distance is no multiple of 16 bytes (here at half.cu:$(line 'left, a, 20'))"

expect "a missing barrier" 1 judge "$half" --entry wrong_gemm --block 16,16 \
    --buffer a=16,n --buffer b=n,16 --buffer c=16,16 --arg n=48
answers "is found at its line" \
    "half.cu:$(line 'sum += left[row][i]')"
expect "half of a tile" 1 judge "$half" --entry wrong_tile --block 32 --buffer x=32 \
    --buffer y=32
answers "is found at its line" "half.cu:$(line 'warp.shfl_xor(x')"
cat >none.cu <<'END_OF_KERNEL'
__global__ void k(__half *y)
{
    y[threadIdx.x] = 1;
}
END_OF_KERNEL
expect "a type whose header is not included" 4 judge none.cu --entry k --block 32 \
    --buffer y=32
says "is refused with its line" "none.cu:1"
finish
