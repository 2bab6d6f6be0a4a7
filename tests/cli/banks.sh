#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat run --report banks: the counts, and launches without anything to count.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
one="--row-tiles 1 --col-tiles 1"

# The JSON of one kind of access, on one line.
kind() {
    tr -d '\n' <"$out" | grep -o "\"access\": \"$1\", *\"bytes\": $2,[^}]*" |
        tr -s ' '
}

# counts NAME ACCESS BYTES TEXT
counts() {
    got=$(kind "$2" "$3")
    case $got in
    *"$4"*) pass "$1" ;;
    *) fail "$1" "${got:-no $2 of $3 bytes}" ;;
    esac
}

# A tile of 8 KiB: 8 instructions of 1 KiB each, 16 lanes at once.
# shellcheck disable=SC2086
{
    expect "64 banks" 0 run $loader --target cpu:gfx950 $one --report banks \
        --json
    json "is JSON"
    all='"lanes_at_once": 16, "passes": 32, "passes_min": 32, "worst": 1'
    counts "copies of 16 bytes" copy 16 "\"instructions\": 8, $all"
    counts "the poison, apart" write 16 "\"instructions\": 8, $all"
    counts "the reads" read 16 "\"instructions\": 8, $all"
    answers "all of them" '"instructions": 24,'
    answers "the banks" '"banks": 64,'
    expect "32 banks" 0 run $loader --target cpu:gfx90a $one --report banks \
        --json
    counts "copies of 4 bytes" copy 4 \
        '"instructions": 32, "lanes_at_once": 32, "passes": 64,'
    counts "reads by 8 lanes" read 16 \
        '"instructions": 8, "lanes_at_once": 8, "passes": 64,'
    expect "warps" 0 run $loader --target cpu:sm_90a $one --report banks --json
    counts "twice as many" copy 16 \
        '"instructions": 16, "lanes_at_once": 8, "passes": 64,'

    # The timed launches after the first are not counted.
    expect "repeat" 0 run $loader --target cpu:gfx950 $one --report banks \
        --repeat 3 --json
    counts "counts one launch" read 16 '"instructions": 8,'
    expect "two runs" 0 run $loader $loader:tile_rows=128 \
        --target cpu:gfx950 $one --report banks --json
    case $(kind read 16 | tr '\n' ' ') in
    *'"instructions": 8,'*'"instructions": 16,'*) pass "are counted apart" ;;
    *) fail "are counted apart" "$(kind read 16)" ;;
    esac

    expect "for people" 0 run $loader --target cpu:gfx950 $one --report banks
    answers "names the banks" "  banks     64 of 4 bytes"
    answers "a line per kind" "  copy of 16 B "
    grep -q '^  *read of 16 B  *8  *16  *32  *32  *1-way  *1.00$' "$out" &&
        pass "with its figures" || fail "with its figures"
    grep -q '^  *all  *24  *96  *96  *1-way  *1.00$' "$out" &&
        pass "and the sum" || fail "and the sum"
    expect "without it" 0 run $loader --target cpu:gfx950 $one --json
    answers "no figures" '"banks": null'
    expect "a kernel without shared memory" 0 run plain_read \
        --target cpu:gfx950 --report banks
    answers "says so" "touches no shared memory"
}

expect "a report that there is none of" 2 run $loader --target cpu:gfx950 \
    --report banana
says "names those that there are" "the reports are: banks"
for target in cuda:sm_90a hip:gfx950; do
    expect "$target" 2 run $loader --target $target --report banks
    says "$target: says why" "--report banks is for cpu targets"
    says "$target: names it" "$target"
    expect "$target --json" 2 run $loader --target $target --report banks --json
    json "$target is JSON"
done
mkdir -p "$work/own/mine"
for file in args.h params.def; do
    sed "s/$loader/mine/g" "$tree/kernels-src/$loader/$file" \
        >"$work/own/mine/$file"
done
sed "s/$loader/mine/g" "$tree/kernels-src/$loader/$loader.h" \
    >"$work/own/mine/mine.h"
expect "a family without driver" 2 run mine --target cpu:gfx950 \
    --family-path "$work/own" --report banks
says "says that it is not run" "no run.def"
expect "a report without its name" 2 run $loader --target cpu:gfx950 --report
says "the value is missing" "--report needs a value"
finish
