#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# examples/paged_sum: a family outside the library, and a program that includes
# only public headers, in a user's folder.  The sums must be right on every
# target, the vendors' compilers accept it, and the judge detects removed calls.
. "$(dirname "$0")/common.sh"
build=$(cd "${top_builddir:-$tree/build}" && pwd)
example=$tree/examples/paged_sum
family=$work/mine/paged_sum
mkdir -p "$family" "$work/include"
for file in args.h paged_sum.h params.def; do
    cat "$example/$file" >"$family/$file"
done
for header in "$tree"/include/*.h "$build/include/groat_version.h"; do
    cat "$header" >"$work/include/$(basename "$header")"
done
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# Flags are lists of words.
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
    -I"$work/include" "$example/main.c" "$example/sum.c" -L"$build/.libs" -lgroat \
    -o "$work/sum" 2>"$err"; then
    pass 'the program compiles'
else
    fail 'the program compiles' "$(head -c 600 "$err")"
    finish
fi

# examples/paged_scores.c: a kernel of the library, used by its public headers.
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
    -I"$work/include" -I"$tree/kernels-src" "$tree/examples/paged_scores.c" \
    -L"$build/.libs" -lgroat -o "$work/scores" 2>"$err" &&
    "$work/scores" "${GROAT_TEST_TARGET:-cpu:sm_90a}" >"$out" 2>&1 &&
    grep -qx "0 of 800 scores are wrong" "$out"; then
    pass 'scores out of a paged cache'
else
    fail 'scores out of a paged cache' "$(head -c 600 "$err" "$out")"
fi

# examples/decode.c: attention, compared with the host.
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
    -I"$work/include" "$tree/examples/decode.c" -L"$build/.libs" -lgroat -lm \
    -o "$work/decode" 2>"$err" &&
    "$work/decode" "${GROAT_TEST_TARGET:-cpu:sm_80}" >"$out" 2>&1 &&
    grep -q "^the error is [0-9.]*e-0[3-9] of the output" "$out"; then
    pass 'attention of one query'
else
    fail 'attention of one query' "$(head -c 600 "$err" "$out")"
fi

# The program of doc/kernels.md, with the family that the page makes.
(
    cd "$work" && "$groat" new rmsnorm --from reduce >/dev/null &&
        awk '/^    #include <groat.h>/ { p = 1 } /^    cc launch.c/ { p = 0 } p' \
            "$tree/doc/kernels.md" >launch.c &&
        ${CC:-cc} -std=c11 -Wall -Wextra -Werror ${GROAT_SANITIZE_FLAGS-} \
            launch.c -I. -Iinclude -I"$tree/kernels-src" -L"$build/.libs" \
            -lgroat -o launch && ./launch
) >"$out" 2>"$err"
if grep -qx "3 3 0" "$out"; then
    pass "the authors' guide: launched from C"
else
    fail "the authors' guide: launched from C" "$(head -c 600 "$err" "$out")"
fi

# sums TARGET CONSTANTS COUNT: checks that COUNT sums are all right.
sums() {
    "$work/sum" "$work/mine" "$1" "$2" >"$out" 2>&1 </dev/null
    if grep -qx "paged_sum: 0 of $3 sums are wrong" "$out"; then
        pass "sums on $1, $2"
    else
        fail "sums on $1, $2" "$(head -c 600 "$out")"
    fi
}

# Heads of several chunks, of a partial chunk and of less than one; pages
# smaller and larger than tiles; few slots.
for target in cpu:sm_90a ${GROAT_TEST_TARGET-}; do
    sums "$target" depth=128 1536
    sums "$target" depth=256,page_size=8,BN=128,slots=2 3072
    sums "$target" depth=80,page_size=64,BN=32,slots=3 960
    sums "$target" depth=16,page_size=256,BN=64 192
done
[ -n "${GROAT_TEST_TARGET-}" ] ||
    skip 'no device: GROAT_TEST_TARGET names none, the cpu targets alone ran'

for target in cuda:sm_90a cuda:sm_100a; do
    run build paged_sum --target "$target" --family-path "$work/mine"
    case $code in
    0) pass "it is built for $target" ;;
    3) skip "no NVRTC: nothing was built for $target" ;;
    *) fail "it is built for $target" "exit code $code: $(head -c 600 "$err")" ;;
    esac
done
expect 'a rule of its own' 2 build paged_sum:BN=64,page_size=24 \
    --target cpu:sm_90a --family-path "$work/mine"
says 'a rule of its own says which' 'BN=64 page_size=24 breaks the rule'

# without CALL WORDS: checks the finding when the first CALL is removed.
without() {
    awk -v call="$1" '
    { at = index($0, call) }
    at && !done { done = 1; $0 = substr($0, 1, at - 1) substr($0, at + length(call)) }
    { print }
    END { exit !done }' "$example/paged_sum.h" >"$family/paged_sum.h" ||
        fail "without '$1'" 'the source has none'
    code=0
    "$work/sum" "$work/mine" cpu:sm_90a >"$out" 2>&1 </dev/null || code=$?
    if [ "$code" -eq 1 ] && grep -qF -e "$2" "$out"; then
        pass "without '$1'"
    else
        fail "without '$1'" "exit code $code: $(head -c 600 "$out")"
    fi
}
without 'at.acquire();' 'has had all of its 1 arrivals'
without 'at.expect(bytes, chosen);' 'an expect is missing'
without 'at.step();' 'has had all of its 1 arrivals'
without 'at.wait();' 'which nobody has written'
without 'warp_barrier();' 'which thread 1 read and has not released'
without 'at.release(at.index, elect());' 'waits for ever'
finish
