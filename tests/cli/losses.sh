#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Losses are reported, and no command claims work that it has not done.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
export GROAT_CACHE_DIR="$work/store"
store=$GROAT_CACHE_DIR/groat.sqlite

# A file that is no store is set aside; its contents were not checked.
expect "build" 0 build $loader --target cpu:gfx950
expect "export" 0 cache export --output "$work/good.bundle"
cp "$work/good.bundle" "$work/kept"
for damage in "junk" "cut" "empty"; do
    rm -f "$store"*
    expect "build before $damage" 0 build $loader --target cpu:gfx950
    case $damage in
    junk) echo junk >"$store" ;;
    cut) head -c 20000 "$store" >"$work/cut" && cp "$work/cut" "$store" ;;
    empty) : >"$store" ;;
    esac
    expect "verify of one that is $damage" 1 cache verify
    expect "verify of the new one after it" 0 cache verify
    expect "build again" 0 build $loader --target cpu:gfx950
    case $damage in
    junk) echo junk >"$store" ;;
    cut) cp "$work/cut" "$store" ;;
    empty) : >"$store" ;;
    esac
    expect "export of one that is $damage" 1 cache export \
        --output "$work/good.bundle"
    if cmp -s "$work/kept" "$work/good.bundle"; then
        pass "the bundle from before stays"
    else
        fail "the bundle from before stays"
    fi
done

# Kernels that were compiled but are not kept.
for rows in 16 32 48 64 80 96 112 128; do
    printf '{"spec": "%s:tile_rows=%s", "target": "cpu:gfx950"}\n' $loader $rows
done >"$work/manifest"
GROAT_CACHE_MAX_BYTES=100K
export GROAT_CACHE_MAX_BYTES
expect "prewarm of more than the bound" 1 prewarm "$work/manifest" \
    --cache-dir "$work/small" --json
answers "says that the store does not hold it" "does not have it"
expect "prewarm --check of it" 1 prewarm "$work/manifest" --check \
    --cache-dir "$work/small"
unset GROAT_CACHE_MAX_BYTES

# Another store as a source.
mkdir -m 700 "$work/other"
echo junk >"$work/other/groat.sqlite"
expect "prewarm from a store that is junk" 1 prewarm --cache-dir "$work/new" \
    --from-store "$work/other/groat.sqlite"
says "names it" "other/groat.sqlite"

# A compiler's message that is not UTF-8 is reported anyway.
printf '#!/bin/sh\n[ "$1" = --version ] && exec echo latin\nprintf "caf\\351 is shut\\n" >&2\nexit 1\n' >"$work/latin"
chmod +x "$work/latin"
head -n 1 "$work/manifest" >"$work/one"
GROAT_CXX=$work/latin
export GROAT_CXX
expect "prewarm with a compiler in another code" 4 prewarm "$work/one" \
    --cache-dir "$work/words"
says "its words are told" "caf? is shut"
unset GROAT_CXX

# A file that cannot be written keeps its content; one just created is removed.
echo "what was there" >"$work/held"
limited() {
    name=$1
    shift
    (ulimit -f 1 && "$groat" "$@") >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 1 ] && pass "$name" || fail "$name" "exit $status"
}
limited "build into a file with no room" build $loader --target cpu:gfx950 \
    --output "$work/held"
[ "$(cat "$work/held")" = "what was there" ] && pass "what it held stays" ||
    fail "what it held stays" "$(wc -c <"$work/held") bytes"
limited "build into a new file with no room" build $loader \
    --target cpu:gfx950 --output "$work/made"
[ -e "$work/made" ] && fail "it is taken away" || pass "it is taken away"
finish
