#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# CUDA's functions of whole numbers, bits, conversions and lanes give on the
# judge what they give on a device: the rows of tests/kernels/cuda/names.cu have
# the checksums in names.txt, those of an H200's output for the same input.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}" python3
cuda=$top_srcdir/tests/kernels/cuda

python3 - "$cuda/names.txt" <<'END'
import struct, sys
words = open(sys.argv[1]).readline().split()[1:]
head = "{'descr': '<u4', 'fortran_order': False, 'shape': (32,), }".ljust(117) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + head.encode() +
                          struct.pack("<32I", *(int(word, 16) for word in words)))
END
rows=$(grep -c 'r\.put(' "$cuda/names.cu")
expect "names" 0 judge "$cuda/names.cu" --entry names --block 32 \
    --buffer "x=32:in" --input x=x.npy \
    --buffer "y=$rows,32:inout zeros none" --output y=y.npy
lacks "no warning" warning
if python3 - "$cuda/names.txt" "$cuda/names.cu" y.npy >"$out" <<'END'
import sys, zlib
wanted = [line.rstrip("\n").split(" ", 1) for line in open(sys.argv[1])][1:]
names = [line.strip()[6:-2] for line in open(sys.argv[2]) if "r.put(" in line]
rows = open(sys.argv[3], "rb").read()[128:]
seen = [(f"{zlib.crc32(rows[256 * i:256 * i + 256]):08x}", name)
        for i, name in enumerate(names)]
wrong = [name for one, (_, name) in zip(wanted, seen) if one != list((_, name))]
print("\n".join(wrong))
sys.exit(wrong != [] or len(wanted) != len(seen))
END
then
    pass "each gives what a device gives"
else
    fail "each gives what a device gives" "$(cat "$out")"
fi
finish
