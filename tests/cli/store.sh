#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat build and groat cache: what is kept, shown, checked and dropped.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds

entries() {
    "$groat" cache stat --json | sed -n 's/^  "entries": \([0-9]*\),*$/\1/p'
}
count() {
    have=$(entries)
    [ "$have" = "$2" ] && pass "$1" || fail "$1" "$have entries, not $2"
}

count "an empty store" 0
expect "build for two targets" 0 build $loader --target cpu:gfx950 \
    --target cpu:sm_90a
answers "tells the one" cpu:gfx950
answers "tells the other" cpu:sm_90a
count "both are kept" 2
expect "build again" 0 build $loader --target cpu:gfx950
count "nothing is kept twice" 2
expect "build without store" 0 build $loader:tile_rows=32 \
    --target cpu:gfx950 --no-cache
count "nothing is kept" 2
expect "run" 0 run $loader --target cpu:gfx950 --json
answers "finds what build kept" '"origin": "disk"'

expect "build into a file" 0 build $loader --target cpu:gfx950 \
    --output "$work/binary"
if [ "$(head -c 4 "$work/binary" | tail -c 3)" = ELF ]; then
    pass "the file is the plain binary"
else
    fail "the file is the plain binary"
fi
expect "build into no folder" 1 build $loader --output "$work/no/binary"
expect "one bad spec of two" 2 build $loader:tile_rows=16 $loader:tile_rows=7
count "keeps the good one from being built" 2

expect "explain a hit" 0 explain $loader --target cpu:gfx950
answers "says where it is" "hit: it is in the store"
expect "explain a miss" 1 explain $loader:tile_rows=32 --target cpu:gfx950
answers "names the nearest" "nearest is entry $("$groat" key $loader \
    --target cpu:gfx950)"
answers "names the field" "param tile_rows is 64 there, 32 here"
expect "explain a miss by two fields" 1 explain --json \
    $loader:tile_rows=32,num_warps=8 --target cpu:gfx950
if [ "$(grep -c '"field": "param ' "$out")" -eq 2 ]; then
    pass "names both"
else
    fail "names both" "$(cat "$out")"
fi
expect "explain what has no like" 1 explain subtile_loader --target cpu:gfx950
answers "says so" "neither memory nor the store has a kernel of its family"

expect "list" 0 cache list
lines=$(grep -c . "$out")
[ "$lines" -eq 2 ] && pass "one line each" || fail "one line each" "$lines"
key=$("$groat" key $loader --target cpu:gfx950)
answers "with the key" "$key"
answers "with the target" "cpu:gfx950 "
expect "show by prefix" 0 cache show "$(echo "$key" | cut -c 1-8)"
answers "tells the identity" "family tile_loader_lds"
answers "tells the facts" " B of code"
expect "show a key that is not there" 1 cache show ffffffffffff0000
says "says so" ffffffffffff0000

db=$("$groat" cache path)
[ -f "$db" ] && pass "path is a file" || fail "path is a file" "$db"
expect "verify" 0 cache verify
answers "two checked" "2 entries checked"
expect "gc under a large bound" 0 cache gc --max-bytes 1G
count "drops nothing" 2
expect "gc under a small bound" 0 cache gc --max-bytes 1
count "drops all" 0
expect "build once more" 0 build $loader --target cpu:gfx950
expect "clear" 0 cache clear
count "clear drops all" 0

expect "a folder of one's own" 0 build $loader --cache-dir "$work/own" \
    --target cpu:gfx950
if [ -d "$work/own" ] && [ "$(entries)" = 0 ]; then
    pass "is used alone"
else
    fail "is used alone"
fi
mkdir "$work/shared"
chmod 2770 "$work/shared"
expect "a group's folder without the word" 1 cache path \
    --cache-dir "$work/shared"
says "what to do" "run: chmod 700 $work/shared"
expect "a group's folder" 0 build $loader --cache-dir "$work/shared" \
    --share-group --target cpu:gfx950
expect "its path" 0 cache path --cache-dir "$work/shared" --share-group
answers "names it" "$work/shared/groat.sqlite"
echo "{\"spec\": \"$loader:tile_rows=16\", \"target\": \"cpu:gfx950\"}" \
    >"$work/list.jsonl"
expect "prewarm it" 0 prewarm "$work/list.jsonl" \
    --cache-dir "$work/shared" --share-group
expect "workers were told" 0 prewarm "$work/list.jsonl" --check \
    --cache-dir "$work/shared" --share-group
# slip CODE COMMAND...: looks at a folder that is not there.
slip() {
    code=$1
    shift
    rm -rf "$work/onw"
    expect "$1 of a folder by a slip" "$code" "$@" --cache-dir "$work/onw"
    says "$1: it is told" "warning: --cache-dir $work/onw: there was no store; an empty one was made"
}
slip 1 explain $loader --target cpu:gfx950
slip 0 doctor
slip 1 prewarm "$work/list.jsonl" --check
expect "a folder that cannot be made" 0 doctor --cache-dir /proc/none
lacks "is not said to be made" "was made"
printf 'this is no database, but it has its name' >"$db"
expect "a foreign file in the store's place" 0 run $loader \
    --target cpu:gfx950 --json
answers "keeps no kernel from running" '"verified": true'

# ---- a copy of a store that is in use
expect "build for a backup" 0 build $loader --target cpu:gfx950
had=$(entries)
expect "backup" 0 cache backup "$work/copy"
answers "tells where" "$work/copy"
expect "backup onto a file" 1 cache backup "$work/copy"
says "it replaces nothing" "exists; a backup replaces no file"
expect "backup into no folder" 1 cache backup "$work/no/copy"
expect "backup without a name" 2 cache backup
mkdir -m 700 "$work/restored"
mv "$work/copy" "$work/restored/groat.sqlite"
expect "a backup is a store" 0 cache stat --json --cache-dir "$work/restored"
has "that can be read" entries
have=$(sed -n 's/^  "entries": \([0-9]*\),*$/\1/p' "$out")
[ "$have" = "$had" ] && pass "all is in it" || fail "all is in it" "$have of $had"
expect "and whole" 0 cache verify --cache-dir "$work/restored"
expect "export onto the store" 1 cache export --output "$("$groat" cache path)"
says "the store is named" "is a store"
expect "export onto a device" 1 cache export --output /dev/null
says "it is no file" "no regular file"
finish
