#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# CUDA's functions of whole numbers, bits, conversions, lanes, roundings and small
# floats, and inline PTX, give on the judge what they give on a device:
# tests/kernels/cuda/names.cu, floats.cu, rounded.cu and ptx.cu write a row for each;
# names.txt and ptx.txt have the input and the checksums of what an H200 wrote,
# floats.txt and rounded.txt an H100's.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}" python3

cat >input.py <<'END_OF_INPUT'
import struct, sys
words = open(sys.argv[1]).readline().split()[1:]
head = "{'descr': '<u4', 'fortran_order': False, 'shape': (32,), }".ljust(117) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + head.encode() +
                          struct.pack("<32I", *(int(word, 16) for word in words)))
END_OF_INPUT
cat >compare.py <<'END_OF_COMPARE'
import sys, zlib
wanted = [line.rstrip("\n").split(" ", 1) for line in open(sys.argv[1])][1:]
names = [line.strip()[6:-2] for line in open(sys.argv[2]) if "r.put(" in line]
rows = open(sys.argv[3], "rb").read()[128:]
seen = [(f"{zlib.crc32(rows[256 * i:256 * i + 256]):08x}", name)
        for i, name in enumerate(names)]
wrong = [name for one, (_, name) in zip(wanted, seen) if one != list((_, name))]
print("\n".join(wrong))
sys.exit(wrong != [] or len(wanted) != len(seen))
END_OF_COMPARE

for file in names floats rounded ptx; do
    cuda=$top_srcdir/tests/kernels/cuda/$file
    python3 input.py "$cuda.txt"
    rows=$(grep -c 'r\.put(' "$cuda.cu")
    cat "$top_srcdir/tests/kernels/cuda/rows.cu" "$cuda.cu" >$file.cu
    expect "$file" 0 judge $file.cu --entry $file --block 32 \
        --buffer "x=32:in" --input x=x.npy \
        --buffer "y=$rows,32:inout zeros none" --output y=y.npy
    lacks "no warning" warning
    if python3 compare.py "$cuda.txt" "$cuda.cu" y.npy >"$out"; then
        pass "each gives what a device gives"
    else
        fail "each gives what a device gives" "$(cat "$out")"
    fi
done
finish
