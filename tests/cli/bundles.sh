#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bundles on the command line: making, signing, comparing, using, refusing.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
expect "two kernels in the store" 0 build $loader --target cpu:gfx950 \
    --target cpu:sm_90a

# ---- making and comparing
expect "export all" 0 cache export --output "$work/all"
answers "says how many" "2 kernels in $work/all"
expect "export one target" 0 cache export --output "$work/a" \
    --target cpu:gfx950
answers "one kernel" "1 kernel in"
expect "export the other" 0 cache export --output "$work/b" --target cpu:sm_90a
expect "merge" 0 cache merge "$work/a" "$work/b" --output "$work/ab"
expect "merge the other way" 0 cache merge "$work/b" "$work/a" "$work/all" \
    --output "$work/ba"
for file in ab ba; do
    cmp -s "$work/all" "$work/$file" && pass "$file is all, byte for byte" ||
        fail "$file is all, byte for byte"
done
expect "diff of equals" 0 cache diff "$work/all" "$work/ab"
expect "diff of others" 1 cache diff "$work/a" "$work/all"
answers "names the side" second
expect "export to the store itself" 1 cache export --output \
    "$("$groat" cache path)"
says "says so" "is a store"
expect "export of an unknown target" 2 cache export --output "$work/x" \
    --target cpu:gfx1
expect "export to no folder" 1 cache export --output "$work/no/x"
expect "export without a file" 2 cache export
says "names the option" "--output"
expect "export to stdout" 2 cache export --output -
says "is told what to name" "name a file, such as ./-"

# ---- keys
expect "keygen" 0 cache keygen "$work/key"
cp "$out" "$work/trust"
[ "$(stat -c %a "$work/key")" = 600 ] && pass "a key is its owner's alone" ||
    fail "a key is its owner's alone"
expect "keygen never replaces a key" 1 cache keygen "$work/key"
expect "another key" 0 cache keygen "$work/key2"
cp "$out" "$work/trust2"
cp "$work/all" "$work/signed"
expect "sign" 0 cache sign "$work/signed" --key "$work/key"
expect "verify" 0 cache verify "$work/signed" --trust "$work/trust"
answers "names the signer" "$(cat "$work/trust")"
expect "verify against another key" 1 cache verify "$work/signed" \
    --trust "$work/trust2"
says "names the signer again" "$(cat "$work/trust")"
expect "verify an unsigned one" 0 cache verify "$work/all"
answers "says that it is not signed" "not signed"
expect "verify an unsigned one against keys" 1 cache verify "$work/all" \
    --trust "$work/trust"
chmod 644 "$work/key2"
expect "a key that is no file" 1 cache sign "$work/a" --key /dev/null
says "is told as such" "/dev/null is not a regular file"
expect "a list of keys that is no file" 1 cache verify "$work/signed" \
    --trust /dev/null
says "is told as such, too" "/dev/null is not a regular file"
expect "a key that others may read" 1 cache sign "$work/a" --key "$work/key2"
says "the remedy is named" "chmod 600"
printf '%064d\n' 0 | tr 0 f >"$work/secret" # no point of the curve
expect "a trust file that is a secret key" 2 cache verify "$work/signed" \
    --trust "$work/secret"
says "asks for it" "line 1 is no public key of Ed25519: is it a secret key"
echo nonsense >>"$work/trust2"
expect "a trust file with a bad line" 2 cache verify "$work/signed" \
    --trust "$work/trust2"
says "the line is named" "line 2"
expect "sign without a key" 2 cache sign "$work/a"
for file in key trust; do
    cp "$work/$file" "$work/before"
    expect "export over the file $file" 1 cache export --output "$work/$file" \
        --key "$work/key"
    says "is not written over" "exists and is no bundle; name another file"
    cmp -s "$work/$file" "$work/before" && pass "it stays: $file" ||
        fail "it stays: $file"
done
: >"$work/empty"
expect "export over an empty file" 0 cache export --output "$work/empty"
store=$("$groat" cache path)
for file in "$store-wal" "${store%/*}/groat.lock"; do
    : >>"$file"
    expect "export over ${file##*/}" 1 cache export --output "$file"
    says "is not written over" "is a store, or a file of one; name another"
done
expect "sign twice is the same" 0 cache export --output "$work/again" \
    --key "$work/key"
cmp -s "$work/signed" "$work/again" && pass "byte for byte" ||
    fail "byte for byte"

# ---- using
origin() {
    grep -q "\"origin\": \"$2\"" "$out" && pass "$1" ||
        fail "$1" "$(grep origin "$out")"
}
expect "clear" 0 cache clear
for how in "--bundle $work/signed --trust $work/trust" \
    "--bundle $work/a --allow-unsigned" \
    "--bundle $work/none --bundle $work/all --allow-unsigned"; do
    # shellcheck disable=SC2086
    expect "run" 0 run $loader --target cpu:gfx950 --json $how
    origin "from a bundle" bundle
    "$groat" cache stat --json | grep -q '^  "entries": 0' &&
        pass "nothing is copied into the store" ||
        fail "nothing is copied into the store"
done
says "a bundle that is not there is warned of" "$work/none"
GROAT_BUNDLES=$work/none:$work/signed GROAT_TRUST=$work/trust
export GROAT_BUNDLES GROAT_TRUST
expect "run by the environment" 0 run $loader --target cpu:gfx950 --json
origin "from a bundle" bundle
expect "run without disk" 0 run $loader --target cpu:gfx950 --json --no-cache
origin "compiled" compiled
unset GROAT_BUNDLES GROAT_TRUST
expect "stat of bundles" 0 cache stat --bundle "$work/a" --json
has "says what is wrong" problem
for how in "--bundle $work/a" "--bundle $work/a --trust $work/trust" \
    "--bundle $work/signed" "--bundle $work/signed --trust $work/all"; do
    # shellcheck disable=SC2086
    expect "build" 0 build $loader --target cpu:gfx950 --json $how
    origin "compiled, not from a bundle that is not trusted" compiled
    says "and said" "a bundle is not used"
    "$groat" cache clear >/dev/null
done

# ---- import
expect "import an unsigned one" 1 cache import "$work/a"
says "refused in words" "is not signed"
expect "import a trusted one" 0 cache import "$work/signed" \
    --trust "$work/trust"
answers "two" "2 entries imported"
expect "import again" 0 cache import "$work/a" --allow-unsigned
answers "none" "0 entries imported"
expect "run from the store" 0 run $loader --target cpu:gfx950 --json
origin "from disk" disk

# ---- files that are no bundles
head -c 20000 "$work/signed" >"$work/cut"
printf 'plain text' >"$work/text"
: >"$work/empty"
for file in cut text empty none; do
    expect "verify: $file" 1 cache verify "$work/$file"
    says "$file is named" "$work/$file"
    expect "merge: $file" 1 cache merge "$work/all" "$work/$file" \
        --output "$work/m"
    expect "import: $file" 1 cache import "$work/$file" --allow-unsigned
done
expect "verify: the store" 1 cache verify "$("$groat" cache path)"
says "says what it is" "is a store"
[ -e "$work/m" ] && fail "a merge that fails leaves nothing" ||
    pass "a merge that fails leaves nothing"
left=$(find "$work" -maxdepth 1 -name '*.??????' -newer "$work/text" | head -n 1)
[ -z "$left" ] && pass "no half file is left" || fail "no half file is left" \
    "$left"
expect "an option of another action" 2 cache list --output "$work/x"
says "is named" "cache list takes no --output"
expect "diff of one" 2 cache diff "$work/a"
expect "a word too many" 2 cache export more --output "$work/x"
finish
