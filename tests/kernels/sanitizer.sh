#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sanitizer.sh [--write]: what compute-sanitizer's tools say about the 80 kernels
# of tests/kernels/faults, on a CUDA device: compares that with the table of
# doc/judge.md, or writes it there.  Takes minutes, so it is run by hand.
set -u
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
groat=${GROAT:-./groat}
family=$top_srcdir/tests/kernels/faults
page=$top_srcdir/doc/judge.md
target=${GROAT_TEST_TARGET:-cuda:sm_90a}
limit=45
. "$top_srcdir/tests/table.sh"

# sanitizer.sh --one FAULT WRONG TOOL FOLDER: runs a kernel once, and prints a
# word for what came of it.
if [ "${1-}" = --one ]; then
    out=$5/$2.$3.$4
    set -- "$2" "$3" "$4"
    tool="compute-sanitizer --tool $3"
    [ "$3" != alone ] || tool=
    # shellcheck disable=SC2086
    timeout -k 2 $limit $tool "$groat" run "$family:fault=$1,wrong=$2" \
        --target "$target" >"$out" 2>&1
    case $? in
    124 | 137) word=hangs ;;
    *)
        if [ "$3" != alone ]; then
            grep -q 'SUMMARY: ' "$out" || word='no summary'
            grep -Eq 'SUMMARY: [1-9]' "$out" && word=found
            : "${word:=–}"
        elif grep -Eq 'verified +(yes|NO)' "$out"; then
            word=ends
        else
            word='launch fails'
        fi
        ;;
    esac
    echo "$1 $2 $3 $word"
    exit
fi

command -v compute-sanitizer >/dev/null 2>&1 &&
    "$groat" devices | grep -q "$target" || {
    echo "SKIP: there is no compute-sanitizer, or no device of $target"
    exit 77
}
. "$(dirname "$0")/../scratch.sh"
export top_srcdir GROAT GROAT_TEST_TARGET

# The tools come after the kernels are in the store.
for tools in alone 'memcheck racecheck initcheck synccheck'; do
    for fault in $(seq 40); do
        for wrong in true false; do
            for tool in $tools; do
                echo "$fault $wrong $tool"
            done
        done
    done | xargs -P 8 -L 1 sh -c \
        'sh "$0" --one "$2" "$3" "$4" "$1"' "$0" "$scratch" >>"$scratch/words"
done

# word FAULT WRONG TOOL
word() {
    sed -n "s/^$1 $2 $3 //p" "$scratch/words"
}
# count WRONG TOOL: of how many it found something.
count() {
    grep -c "^[0-9]* $1 $2 found\$" "$scratch/words"
}
table_read "$page" faults >"$scratch/old" || exit 1
head -n 2 "$scratch/old" >"$scratch/new"
for fault in $(seq 40); do
    row=$(grep "^| $fault |" "$scratch/old" | cut -d'|' -f1-4)
    for tool in memcheck racecheck initcheck synccheck alone; do
        row="$row| $(word $fault true $tool) "
    done
    echo "$row|"
done >>"$scratch/new"
for wrong in true false; do
    row=$(tail -n 2 "$scratch/old" | cut -d'|' -f1-4 |
        sed -n "$([ $wrong = true ] && echo 1 || echo 2)p")
    for tool in memcheck racecheck initcheck synccheck; do
        row="$row| **$(count $wrong $tool)** "
    done
    echo "$row| |"
done >>"$scratch/new"
grep -v ' false .* ends$' "$scratch/words" | grep ' false ' |
    grep -v ' –$' | sed 's/^/a sound kernel: /'
if [ "${1-}" = --write ]; then
    table_write "$page" faults "$scratch/new" "$scratch/page"
    exit
fi
diff "$scratch/old" "$scratch/new"
