#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat demo: each kernel compiled, from disk in a new process, and from memory.
. "$(dirname "$0")/common.sh"

expect "demo" 0 demo --target cpu:gfx950 --json
json "demo is JSON"
rows=$(grep -c '"model": ' "$out")
for member in cold_verified disk_verified memory_verified; do
    right=$(grep -c "\"$member\": true" "$out")
    if [ "$rows" -ge 8 ] && [ "$right" -eq "$rows" ]; then
        pass "$member in all $rows rows"
    else
        fail "$member in all $rows rows" "$right"
    fi
done
keys=$(grep '"key": ' "$out" | sort -u | grep -c .)
[ "$keys" -eq "$rows" ] && pass "each row is another kernel" ||
    fail "each row is another kernel" "$keys keys, $rows rows"
if ls -d "$work/tmp/groat-demo-"* >/dev/null 2>&1; then
    fail "nothing is left behind" "$(ls "$work/tmp")"
else
    pass "nothing is left behind"
fi
if [ -e "$HOME/cache/groat" ]; then
    fail "the user's store is left alone"
else
    pass "the user's store is left alone"
fi

# The output ends with that of cache stat.  A closed store has no journal, and
# each process counts its own hits and misses.
same() {
    sed -e 's/\(file_bytes\|hits\|misses\)[": ]*[0-9]*/\1/' -e 's/^ *//' \
        -e 's/  */ /g' "$1" >"$1.plain"
}
for form in "" --json; do
    # shellcheck disable=SC2086
    expect "demo in a store of one's own $form" 0 demo --target cpu:gfx950 \
        --cache-dir "$work/own" $form
    mv "$out" "$work/demo"
    # shellcheck disable=SC2086
    expect "its cache stat $form" 0 cache stat --cache-dir "$work/own" $form
    # Without the first lines and the last of the enclosing object.
    case $form in
    --json) sed -n '/"path"/,$p' "$out" | sed '/^ *}/d' ;;
    *) cat "$out" ;;
    esac >"$work/stat"
    case $form in
    --json) sed -n '/^  "store": {/,$p' "$work/demo" | sed '1d' |
        sed '/^ *}/d' >"$work/end" ;;
    *) tail -n "$(grep -c . "$work/stat")" "$work/demo" >"$work/end" ;;
    esac
    same "$work/stat"
    same "$work/end"
    if [ -s "$work/stat" ] && cmp -s "$work/stat.plain" "$work/end.plain"; then
        pass "demo ends with what cache stat prints $form"
    else
        fail "demo ends with what cache stat prints $form" \
            "$(diff "$work/stat.plain" "$work/end.plain" | head -c 300)"
    fi
done
[ -f "$work/own/groat.sqlite" ] && pass "that store is kept" ||
    fail "that store is kept"

# An error that affects every row is reported once, before any work.
: >"$work/file"
expect "a word too many" 2 demo some --target cpu:gfx950
expect "an unknown target" 2 demo --target tpu:v5
[ "$(grep -c . "$err")" -eq 1 ] && [ ! -s "$out" ] &&
    pass "an unknown target is told once" ||
    fail "an unknown target is told once" "$(head -c 300 "$err")"
expect "no place for a store" 1 demo --target cpu:gfx950 \
    --cache-dir "$work/file" --json
json "no place for a store is JSON"
says "no place for a store: it is named" "$work/file"
run devices --json
if grep -q '"target": "cuda:' "$out"; then
    skip "demo without its device: there is one here"
else
    expect "demo without its device" 3 demo --target cuda:sm_90a
    [ -s "$out" ] && fail "demo without its device: no table" ||
        pass "demo without its device: no table"
fi

TMPDIR=$work/none
export TMPDIR
expect "no folder for temporary files" 1 demo --target cpu:gfx950
says "the folder is named" "$work/none"
finish
