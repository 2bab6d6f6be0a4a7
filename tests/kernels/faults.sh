#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# 40 small kernels with one fault each (tests/kernels/faults), on the judge: each
# fault is found, at its line, with its cause in words; the same kernels without
# the fault run in silence.
. "$(dirname "$0")/../scratch.sh"
family=$top_srcdir/tests/kernels/faults
kernel=$family/faults.h
for tool in "${GROAT_CXX:-c++}" addr2line; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "SKIP: there is no $tool"
        exit 77
    }
done
bad=0
fail() {
    echo "FAIL fault $fault: $1"
    bad=1
}

fault=0
while [ $fault -lt 40 ]; do
    fault=$((fault + 1))
    line=$(grep -n "// $fault\$" "$kernel" | cut -d: -f1)
    words=$(sed -n "/if constexpr (fault == $fault)/{x;p;q;};x" "$kernel" |
        sed 's/.*: //')
    if [ -z "$line" ] || [ -z "$words" ]; then
        fail "faults.h has no line or no words of it"
        continue
    fi
    "$groat" run "$family:fault=$fault,wrong=false" --target cpu:sm_90a \
        >"$scratch/out" 2>"$scratch/err" ||
        fail "the sound kernel: $(head -n 1 "$scratch/err")"
    "$groat" run "$family:fault=$fault,wrong=true" --target cpu:sm_90a \
        >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 1 ] || fail "it is not found"
    grep -v "WARNING: ASan" "$scratch/err" >"$scratch/said"
    head -n 1 "$scratch/said" | grep -Eq "$words" ||
        fail "not '$words', but: $(head -n 1 "$scratch/said")"
    grep -Eq "faults/faults.h(:| line )$line\\b" "$scratch/said" ||
        fail "not line $line, but: $(head -n 4 "$scratch/said")"
done
[ $bad -eq 0 ] || exit 1
echo "40 found, 40 silent"
