#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat bench: each figure is there where it can be measured; otherwise the
# reason is reported.  The values themselves are not tested.
. "$(dirname "$0")/common.sh"

expect "bench" 0 bench --target cpu:gfx950 --json
json "bench is JSON"
for figure in "lookup by spec, 1 thread" "lookup by spec, each of 16 threads" \
    "first get, compiled and loaded" "get from disk"; do
    answers "has $figure" "\"name\": \"$figure\""
done
answers "names the raw side" '"reference": "raw compile, empty"'
if grep -q -e '": -' -e '"groat": null' "$out"; then
    fail "no figure is negative or none" "$(grep -e '": -' -e null "$out")"
else
    pass "no figure is negative or none"
fi
ratios=$(grep -c '"ratio": [0-9]' "$out")
raws=$(grep -c '"reference": "' "$out")
[ "$ratios" -eq "$raws" ] && [ "$raws" -gt 0 ] && pass "a ratio to each raw" ||
    fail "a ratio to each raw" "$ratios ratios, $raws references"
[ -e "$HOME/cache/groat" ] && fail "the user's store is left alone" ||
    pass "the user's store is left alone"

# On a cpu target the bandwidth is the judge's, of any family's kernels.
expect "a family of one's own" 0 new "$work/sums" --from reduce
dd if=/dev/zero of="$work/x" bs=16384 count=2 2>/dev/null
dd if=/dev/zero of="$work/y" bs=4 count=2 2>/dev/null
expect "its bandwidth" 0 bench stream "$work/sums" --target cpu:sm_90a --json \
    --arg rows=2 --grid 2 --buffer x="$work/x" --expect y="$work/y"
json "bandwidth as JSON"
answers "bandwidth: of the family" '"name": "sums:cols=4096,threads=256"'
answers "bandwidth: against a plain read" '"reference": "plain read"'
answers "bandwidth: its unit" '"unit": "MB/s"'
printf 'x' | dd of="$work/y" conv=notrunc 2>/dev/null
expect "the bandwidth of a kernel that is wrong" 1 bench stream "$work/sums" \
    --target cpu:sm_90a --arg rows=2 --input x="$work/x" --expect y="$work/y"
says "a kernel that is wrong: is said" "an output of 'sums:"
sed -i 's/run->y\[row\] = /&1 + /' "$work/sums/reference.c"
expect "without files" 1 bench stream "$work/sums" --target cpu:sm_90a --arg rows=2
says "without files: is said" "an output of 'sums:"
printf '\377\377\377\017' >"$work/block"
for block in $(seq 64); do cat "$work/block"; done >"$work/table"
expect "a page table that lies" 2 bench stream paged_row_indices \
    --target cpu:sm_90a --input page_table="$work/table"
says "a page table that lies: is said" "a block of the page table is"
expect "an argument of no family" 2 bench stream "$work/sums" \
    --target cpu:sm_90a --arg rws=2
says "an argument of no family: is named" rws
expect "an argument without its bench" 2 bench hit --arg rows=2
says "an argument without its bench: whose it is" "bench stream SPEC"
expect "a spec without its bench" 2 bench hit plain_read:unroll=1 \
    --target cpu:gfx950

expect "the compile time of a spec" 0 bench build plain_read:unroll=1 \
    --target cpu:gfx950 --json
answers "compile time: of the spec" '"name": "plain_read:unroll=1"'
answers "compile time: against an empty kernel" \
    '"reference": "raw compile, empty"'
expect "the compile time of a family's defaults" 0 bench build plain_read \
    --target cpu:gfx950 --json
answers "compile time: of the family" '"name": "plain_read"'
expect "the compile time of no family" 2 bench build plain_rea \
    --target cpu:gfx950
says "the families are named" plain_read
expect "the compile time of what there is not" 2 bench build plain_read:unrol=1 \
    --target cpu:gfx950

# NVRTC compiles without a device: groat's sources and the empty one.
run build plain_read: --target cuda:sm_90a --no-cache
if [ "$code" -eq 0 ]; then
    expect "the compile time of a GPU's spec" 0 bench build plain_read: \
        --target cuda:sm_90a --json
    answers "compile time of a GPU's spec: against an empty kernel" \
        '"reference": "raw compile, empty"'
    expect "cold for a GPU, here or not" 0 bench cold --target cuda:sm_90a
    answers "cold for a GPU: a compile" "first "
else
    skip "the compile time of a GPU's spec: no NVRTC"
fi

# A figure measures what its name says.
expect "cold in a store of one's own" 0 bench cold --target cpu:gfx950 \
    --cache-dir "$work/own"
expect "cold in a store that has the kernels" 1 bench cold --target cpu:gfx950 \
    --cache-dir "$work/own"
says "cold in a store that has the kernels: says so" "from disk, not compiled"
: >"$work/file"
expect "disk without a store" 1 bench disk --target cpu:gfx950 \
    --cache-dir "$work/file"
says "disk without a store: says so" "not disk"

expect "an unknown target" 2 bench hit --target tpu:v5
says "the target is named" tpu:v5
run devices --json
if grep -q '"target": "cuda:' "$out"; then
    skip "a bench without its device: there is one here"
else
    expect "a bench without its device" 3 bench hit --target cuda:sm_90a
    expect "another" 3 bench disk --target cuda:sm_90a --json
    json "another is JSON"
    has "another says so" error
    run bench --target cuda:sm_90a
    says "of all, those without a device are left out" "hit is not measured"
fi

# A compiler that fails fails what builds, before anything is timed.
cat >"$work/broken" <<'END'
#!/bin/sh
[ "$1" = --version ] && exec echo a compiler
exit 1
END
chmod +x "$work/broken"
GROAT_CXX=$work/broken
export GROAT_CXX
for what in hit disk cold; do
    expect "a compiler that fails: $what" 4 bench $what --target cpu:gfx950 \
        --cache-dir "$work/fresh"
    says "a compiler that fails: $what: is named" "refused the source (exit 1)"
done
unset GROAT_CXX

# The raw compiler of cpu targets may be missing even if the library has one.
if [ -x /usr/bin/g++ ]; then
    mkdir "$work/bin"
    ln -s /usr/bin/* "$work/bin" 2>/dev/null
    rm -f "$work/bin/c++"
    code=0
    PATH=$work/bin "$groat" bench cold --target cpu:gfx950 >"$out" 2>"$err" ||
        code=$?
    [ "$code" -eq 0 ] && pass "cold without c++" ||
        fail "cold without c++" "exit code $code: $(head -c 300 "$err")"
    answers "cold without c++: has no ratio" "first get"
    if grep -q ratio "$out"; then
        fail "cold without c++: and says none" "$(cat "$out")"
    else
        pass "cold without c++: and says none"
    fi
else
    skip "cold without c++: there is no /usr/bin/g++"
fi
finish
