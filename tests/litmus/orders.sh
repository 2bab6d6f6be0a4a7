#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The lock-free paths of src/core in every execution that C11's memory model
# allows, by GenMC (https://github.com/MPI-SWS/genmc, 0.9 or later; GROAT_GENMC
# names the program), and again with each of their memory orders taken away,
# which must be noticed.
set -u
if [ -z "${top_srcdir-}" ]; then
    top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
fi
: "${top_builddir:=$top_srcdir/build}"
genmc=${GROAT_GENMC-$(command -v genmc)}
[ -x "$genmc" ] || {
    echo "SKIP: no genmc: none in PATH, and GROAT_GENMC names none"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
# Rounds of a loop that are looked at: those of the longest one that ends.
unroll=6

# explore FOLDER SOURCE LITMUS FLAG...: runs it on the source of that name in
# that folder; prints what was found.
explore() {
    sed "s,\"src/core/$2\",\"$1/$2\"," "$top_srcdir/tests/litmus/$3" \
        >"$work/litmus.c"
    shift 3
    "$genmc" --unroll="$unroll" --wb -- -w -D_GNU_SOURCE -I"$top_srcdir" \
        -I"$top_srcdir/src" -I"$top_srcdir/include" -I"$top_builddir/include" \
        "$@" "$work/litmus.c" 2>&1 |
        grep -E 'No errors|Error|Number of complete|BUG|error:'
}

# holds SOURCE LITMUS FLAG...
holds() {
    found=$(explore "$top_srcdir/src/core" "$1" "$2" ${3+"$3"})
    case $found in
    *'No errors'*) echo "ok: $1, $2 ${3-}: $found" ;;
    *) echo "FAIL: $1, $2 ${3-}: $found" && failed=1 ;;
    esac
}

# matters SOURCE LITMUS FLAG NTH BEFORE AFTER: the NTH time that BEFORE stands
# there (counted from 1), AFTER stands there.
matters() {
    mkdir -p "$work/weak"
    awk -v nth="$4" -v before="$5" -v after="$6" '
        { at = index($0, before)
          if (at && ++count == nth) {
              $0 = substr($0, 1, at - 1) after substr($0, at + length(before))
              done = 1
          }
          print }
        END { exit !done }' "$top_srcdir/src/core/$1" >"$work/weak/$1" || {
        echo "FAIL: $1 has no $4. $5" && failed=1
        return
    }
    found=$(explore "$work/weak" "$1" "$2" ${3:+"$3"})
    case $found in
    *Error*) echo "ok: $1 without its $4. $5: ${found%%
*}" ;;
    *) echo "FAIL: $1 without its $4. $5 is the same: $found" && failed=1 ;;
    esac
}

holds table.c lookup.c
for nth in 1 2; do
    for order in acquire release; do
        matters table.c lookup.c '' $nth memory_order_$order \
            memory_order_relaxed
    done
done

holds resident.c counts.c
holds resident.c counts.c -DLOADED_AGAIN
matters resident.c counts.c '' 1 memory_order_release memory_order_relaxed
matters resident.c counts.c '' 1 \
    "compare_exchange_strong(&kernel->refs, &alone, 1 | gone_flag)" \
    "compare_exchange_strong_explicit(&kernel->refs, &alone, 1 | gone_flag,
     memory_order_relaxed, memory_order_relaxed)"
matters resident.c counts.c -DLOADED_AGAIN 1 \
    "atomic_fetch_add(&kernel->refs, 1)" \
    "atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed)"
matters resident.c counts.c -DLOADED_AGAIN 2 \
    "atomic_fetch_and(&kernel->refs, ~gone_flag)" \
    "atomic_fetch_and_explicit(&kernel->refs, ~gone_flag, memory_order_relaxed)"

unroll=10
holds seal.c seal.c -DEPOCH
matters seal.c seal.c -DEPOCH 1 memory_order_acquire memory_order_relaxed
matters seal.c seal.c -DEPOCH 1 memory_order_release memory_order_relaxed

holds seal.c seal.c -DLISTED
matters seal.c seal.c -DLISTED 2 memory_order_acquire memory_order_relaxed
matters seal.c seal.c -DLISTED 2 memory_order_release memory_order_relaxed

holds seal.c seal.c
matters seal.c seal.c '' 1 "atomic_fetch_add(&kernel->refs, 1)" \
    "atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed)"

unroll=50
holds target.c target.c
matters target.c target.c '' 1 memory_order_acquire memory_order_relaxed
matters target.c target.c '' 1 memory_order_release memory_order_relaxed
exit $failed
