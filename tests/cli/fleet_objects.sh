#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat fleet and prewarm on a folder of objects of which some are wrong, on a
# store that is damaged, and on hosts without a compiler.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
needs "${GROAT_CXX:-c++}"
command -v sqlite3 >/dev/null || { skip "there is no sqlite3"; finish; }

"$groat" cache keygen key >trust || exit 1
"$groat" cache keygen other >/dev/null || exit 1
mkdir a b c d e f
target=cpu:sm_90a
for unroll in 1 2 4; do
    echo "{\"spec\": \"plain_read:unroll=$unroll\", \"target\": \"$target\"}"
done >three.jsonl
head -n 1 three.jsonl >one.jsonl
sed "s/$target/cpu:gfx950/" one.jsonl >amd.jsonl
cat three.jsonl amd.jsonl >four.jsonl

# prewarmed HOST MANIFEST WORDS...: the store of a host
prewarmed() {
    host=$1 manifest=$2
    shift 2
    expect "$host: prewarm" 0 prewarm "$manifest" --cache-dir "$host" "$@"
}

# count FOLDER: the objects there
count() {
    find "$1" -type f 2>/dev/null | wc -l
}

# damage HOST: changes a byte of the entry that is none of one.jsonl's
damage() {
    id=$(sqlite3 "$1/groat.sqlite" "SELECT id FROM entry
        WHERE identity LIKE '%unroll 2%' OR identity LIKE '%unroll=2%' LIMIT 1")
    sqlite3 "$1/groat.sqlite" "UPDATE entry SET binary = zeroblob(bytes)
        WHERE id = $id; PRAGMA wal_checkpoint(truncate)" >/dev/null
}

# ---- a damaged entry among good ones

prewarmed whole four.jsonl
expect "a bundle" 0 cache export --output four.bundle --cache-dir whole
cp -r whole damaged
damage damaged
expect "push of another kernel" 0 fleet push one.jsonl --remote "file://$work/a" \
    --remote-key key --cache-dir damaged
answers "it is sent" '2 of 2 objects sent'
expect "push of all" 1 fleet push --remote "file://$work/b" --remote-key key \
    --cache-dir damaged
answers "the others are sent" '6 of 7 objects sent, 0 not there, 1 not good'
answers "and the damaged one is told" "the store's entry is damaged"
expect "export of another target" 0 cache export --target cpu:gfx950 \
    --output amd.bundle --cache-dir damaged
expect "export of all" 1 cache export --output all.bundle --cache-dir damaged
says "says so" "damaged/groat.sqlite is damaged"

# ---- what is chosen

expect "push of a bundle's target" 0 fleet push --from four.bundle \
    --target cpu:gfx950 --remote "file://$work/c" --remote-key key --cache-dir whole
answers "those alone" '2 of 2 objects sent'
GROAT_REMOTE=file://$work/c expect "a list without a store" 0 fleet ls \
    --cache-dir nowhere
answers "needs none" '2 objects of '
expect "push of a bundle without a store" 0 fleet push --from four.bundle \
    --remote "file://$work/c" --remote-key key --cache-dir nowhere
[ ! -e nowhere ] && pass "none is made" || fail "nowhere was made"
cat one.jsonl one.jsonl one.jsonl >thrice.jsonl
expect "a kernel that a manifest names three times" 0 fleet pull thrice.jsonl \
    --remote "file://$work/a" --trust trust --cache-dir puller --json
answers "is fetched once" '"objects": 1'
answers "into an empty store" '"there": 0'
expect "push of a kernel that is not there" 1 fleet push three.jsonl \
    --remote "file://$work/d" --remote-key key --cache-dir puller --json
answers "is named" '"problem": "there is no such kernel here"'

# ---- hosts without a compiler

expect "push of all that is good" 0 fleet push --remote "file://$work/d" \
    --remote-key key --cache-dir whole
export GROAT_TRUST=$work/trust
GROAT_CXX=$work/none
export GROAT_CXX
expect "check" 1 prewarm one.jsonl --check --remote "file://$work/a" --cache-dir bare
answers "fetches nothing" '0 fetched, 0 compiled, 0 failed, 1 missing'
expect "explain" 0 explain plain_read:unroll=1 --target $target \
    --remote "file://$work/a" --cache-dir bare
expect "list" 0 cache list --cache-dir bare
lacks_out=$(grep -c plain_read "$out")
[ "$lacks_out" = 0 ] && pass "nothing was stored" || fail "stored" "$(cat "$out")"
expect "prewarm" 0 prewarm one.jsonl --remote "file://$work/a" --cache-dir bare --json
answers "fetches it" '"fetched": 1'
GROAT_CACHE_MAX_BYTES=64K
export GROAT_CACHE_MAX_BYTES
expect "with room for one" 1 prewarm three.jsonl --remote "file://$work/d" \
    --cache-dir narrow
says "is told" "does not have it"
unset GROAT_CACHE_MAX_BYTES GROAT_CXX

# ---- objects in the way

expect "another signer" 0 fleet push one.jsonl --remote "file://$work/e" \
    --remote-key other --cache-dir whole
expect "an object that is not trusted is in the way" 1 prewarm one.jsonl \
    --remote "file://$work/e" --remote-key key --cache-dir blocked --json
answers "counts as unsent" '"unsent": 1'
GROAT_REMOTE_KEY=$work/nothing
export GROAT_REMOTE_KEY
expect "the variable names a key, too" 1 prewarm one.jsonl \
    --remote "file://$work/f" --cache-dir keyless
says "is told" "nothing would be sent"
unset GROAT_REMOTE_KEY

# ---- gc of a host whose store was lost

find a -type f -exec touch -d '100 days ago' {} +
cp -r whole lost
head -c 100000 /dev/urandom >lost/groat.sqlite
rm -f lost/groat.sqlite-wal lost/groat.sqlite-shm
for round in first second; do
    expect "gc, $round" 1 fleet gc --older-than 90 --remote "file://$work/a" \
        --cache-dir lost
done
says "names the file" "groat.sqlite.damaged-"
[ "$(count a)" = 2 ] && pass "nothing is removed" || fail "removed" "$(count a)"
rm lost/groat.sqlite.damaged-*
expect "gc without that file" 0 fleet gc --older-than 90 \
    --remote "file://$work/a" --cache-dir lost
[ "$(count a)" = 0 ] && pass "all is removed" || fail "left" "$(count a)"
finish
