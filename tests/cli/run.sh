#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat run on the cpu judge: origins, input and output files, seeds, devices.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
on="--target cpu:gfx950"

# shellcheck disable=SC2086
{
    expect "the first run" 0 run $loader $on --json
    answers "compiles" '"origin": "compiled"'
    answers "is verified" '"verified": true'
    key=$(sed -n 's/^ *"key": "\(.*\)",$/\1/p' "$out")
    expect "the second run" 0 run $loader $on --json
    answers "comes from disk" '"origin": "disk"'
    answers "has the same key" "$key"
    expect "a third without store" 0 run $loader $on --json --no-cache
    answers "compiles again" '"origin": "compiled"'
    expect "the same spec twice in one process" 0 run $loader $loader $on --json
    answers "is in memory" '"origin": "memory"'
    expect "key" 0 key $loader $on
    answers "is what run says" "$key"

    expect "for people" 0 run $loader $on
    answers "tells verified" "verified"
    answers "tells units" "GB/s"
    expect "repeat" 0 run $loader $on --repeat 3 --json
    answers "repeat is timed by the host's clock" '"clock": "host"'
    expect "time" 0 run $loader $on --time --json
    answers "time is, too" '"clock": "host"'
    expect "options with =" 0 run --seed=0x10 $loader --repeat=2 $on
    expect "a run-time argument" 0 run $loader $on --first-row 0
    expect "the same with underscore" 0 run $loader $on --first_row=0
    for step in 1 3 9; do
        expect "every $step. of 4 tiles to a block" 0 run $loader:entry=stream \
            $on --row-step $step --col-tiles 1
    done
    expect "no valid row" 0 run $loader $on --valid-rows 0
    expect "a first column between two vectors" 2 run $loader $on --first-col 4
    says "the step is named" "must be a multiple of 8"
    expect "a first column too far" 2 run $loader $on --first-col 1024
    says "the last one is named" "first_col is 1024; the last that a tile may \
start at is 960"
    expect "a column of tiles too many" 2 run $loader $on --col-tiles 17
    says "the columns there are" "src_cols, which is 1024"
    expect "more tiles than a grid has" 2 run $loader $on --row-tiles 2147483647

    expect "output" 0 run $loader $on --json --output "$work/o1" --seed 1
    bytes=$(sed -n 's/^  "bytes": \([0-9]*\),$/\1/p' "$out")
    size=$(wc -c <"$work/o1")
    if [ "$((size))" -eq "${bytes:-0}" ] && [ "$((size))" -gt 0 ]; then
        pass "output has all bytes"
    else
        fail "output has all bytes" "$size, not ${bytes:-none}"
    fi
    expect "output again" 0 run $loader $on --output "$work/o2" --seed 1
    cmp -s "$work/o1" "$work/o2" && pass "one seed, one output" ||
        fail "one seed, one output"
    expect "output of another seed" 0 run $loader $on --output "$work/o3" \
        --seed 2
    cmp -s "$work/o1" "$work/o3" && fail "another seed, another output" ||
        pass "another seed, another output"

    printf 123 >"$work/short"
    expect "input of the wrong size" 2 run $loader $on --input "$work/short"
    says "names the size it has" "3 bytes"
    need=$(sed -n 's/.* has \([0-9]*\) bytes$/\1/p' "$err")
    expect "an endless input" 2 run $loader $on --input /dev/zero
    says "says that it is too long" "more than"
    head -c "${need:-1}" /dev/zero >"$work/zeros"
    expect "input of zeros" 0 run $loader $on --input "$work/zeros" \
        --output "$work/o4"
    if [ -s "$work/o4" ] && [ "$(tr -d '\0' <"$work/o4" | wc -c)" -eq 0 ]; then
        pass "zeros give zeros"
    else
        fail "zeros give zeros"
    fi
    expect "missing input" 1 run $loader $on --input "$work/none"
    says "names the file" "$work/none"
    [ -w /dev/full ] && expect "a full disk under --output" 1 \
        run $loader $on --output /dev/full
}

# An unusable file is reported before anything is compiled or printed.
early() {
    name=$1
    file=$2
    shift 2
    expect "$name" 1 "$@"
    says "$name: the file is named" "$file"
    if [ -s "$out" ] || [ "$(stored)" != "$before" ]; then
        fail "$name: nothing was made"
    else
        pass "$name: nothing was made"
    fi
}
stored() {
    "$groat" cache list | grep -c cpu:
}
before=$(stored)
new=$loader:tile_rows=80
early "a folder as input" "$work" run $new $on --input "$work"
early "a folder as output" "$work" run $new $on --output "$work"
early "output into no folder" "$work/no/o" run $new $on --output "$work/no/o"
early "a folder as the binary" "$work" build $new $on --output "$work"
early "the binary into no folder" "$work/no/o" build $new $on \
    --output "$work/no/o"

# A run that fails neither removes a file nor leaves one.
echo keep >"$work/keep"
cp "$work/keep" "$work/kept"
for file in keep fresh; do
    code=0
    GROAT_CXX=$work/none "$groat" run $loader $on --no-cache \
        --output "$work/$file" >"$out" 2>"$err" || code=$?
    [ $code -eq 3 ] && pass "no compiler, output to $file" ||
        fail "no compiler, output to $file" "exit code $code"
done
cmp -s "$work/keep" "$work/kept" && pass "what was there stays" ||
    fail "what was there stays"
[ -e "$work/fresh" ] && fail "nothing new is left" || pass "nothing new is left"
head -c 1000000 /dev/zero >"$work/o1"
expect "output over a longer file" 0 run $loader $on --output "$work/o1" --seed 1
cmp -s "$work/o1" "$work/o2" && pass "nothing of it is left" ||
    fail "nothing of it is left"
ln -sf "$work/dangling" "$work/link"
expect "output through a link" 0 run $loader $on --output "$work/link"
[ -s "$work/dangling" ] && pass "the link's file is written" ||
    fail "the link's file is written"

# A kernel with the sanitizers: the tool restarts itself for them.
run run $loader --target cpu:gfx950 --sanitize --json
case $code in
0)
    pass "sanitize"
    answers "sanitize is verified" '"verified": true'
    ASAN_OPTIONS=verbosity=1 "$groat" run $loader --target cpu:gfx950 \
        --sanitize >"$out" 2>"$err" &&
        grep -q 'AddressSanitizer Init done' "$err" &&
        pass "sanitize keeps the user's options" ||
        fail "sanitize keeps the user's options" "$(head -c 300 "$err")"
    ;;
3) skip "sanitize: $(head -n 1 "$err")" ;;
*) fail "sanitize" "exit code $code: $(head -c 300 "$err")" ;;
esac
if [ "${GROAT_SANITIZE:-no}" = no ]; then
    code=0
    GROAT_CXX=$work/none "$groat" run $loader --target cpu:gfx950 --sanitize \
        >"$out" 2>"$err" || code=$?
    [ "$code" -eq 3 ] && pass "sanitize without a compiler" ||
        fail "sanitize without a compiler" "exit code $code"
    says "the compiler is named" "by asking $work/none;"
fi

# A user's family: built and loaded only, since it has no driver.
mkdir -p "$work/own/mine"
sed "s/$loader/mine/g" "$tree/kernels-src/$loader/args.h" \
    >"$work/own/mine/args.h"
sed "s/$loader/mine/g" "$tree/kernels-src/$loader/params.def" \
    >"$work/own/mine/params.def"
sed "s/$loader/mine/g" "$tree/kernels-src/$loader/$loader.h" \
    >"$work/own/mine/mine.h"
expect "a family without driver" 0 run mine --target cpu:gfx950 \
    --family-path "$work/own" --json
answers "is not verified" '"verified": null'
has "is loaded" load_ms
expect "the same for people" 0 run mine --target cpu:gfx950 \
    --family-path "$work/own"
answers "says why" "has no run.def"
for option in "--grid 1" "--output $work/none" "--input x=$work/none" \
    "--expect y=$work/none" "--arg n=1"; do
    # shellcheck disable=SC2086
    expect "a family without driver takes no ${option%% *}" 2 run mine $option \
        --target cpu:gfx950 --family-path "$work/own"
    says "${option%% *}: says why" "has no run.def"
done
expect "a mistyped argument" 2 run "$loader" --target cpu:gfx950 \
    --arg valid_row=3
says "the right one is named" "did you mean 'valid_rows'? it has: valid_rows, "
code=0
GROAT_CXX=$work/none "$groat" run mine --target cpu:gfx950 --no-cache \
    --family-path "$work/own" >"$out" 2>"$err" || code=$?
[ $code -eq 3 ] && pass "without driver and compiler" ||
    fail "without driver and compiler" "exit code $code"
answers "says what is missing" "not run: "
if grep -q "loaded" "$out"; then
    fail "and does not say that it is loaded" "$(cat "$out")"
else
    pass "and does not say that it is loaded"
fi
expect "a run-time argument of no driver" 2 run mine --target cpu:gfx950 \
    --family-path "$work/own" --first-row 1
expect "the family is listed" 0 families mine --family-path "$work/own"
answers "says that it is not run" "No run.def"
mkdir "$work/own/broken"
echo 'family broken "x" y' >"$work/own/broken/params.def"
for family in "" tile_loader_lds kv_producer_pipeline paged_attention_decode; do
    expect "families $family" 0 families $family
    wide=$(awk 'length($0) > 80' "$out")
    [ -z "$wide" ] && pass "families $family: 80 columns" || fail "families $family" "$wide"
done
run families tile_loader_lds
answers "a name is whole" "  num_loading_warps  "
expect "the constants of a spec" 0 families "tile_loader_lds:tile_rows=32" \
    --target hip:gfx950
answers "the whole spec is told" "tile_rows=32, tile_cols=64"
grep -q '^  tile_bytes  *bytes .* 4096$' "$out" && pass "and the values" ||
    fail "and the values" "$(grep tile_bytes "$out")"
expect "as JSON" 0 families tile_loader_lds --target cuda:sm_90a --json
answers "with values, too" '"value": 8192'
expect "of no spec" 2 families tile_loader_lds:tile_rows=33 --target hip:gfx950
says "is told" "tile_rows=33 is not allowed"
expect "a list with a family that is wrong" 0 families \
    --family-path "$work/own"
answers "it says what is wrong" "broken/params.def:1"
expect "and as JSON" 0 families --family-path "$work/own" --json
answers "it says what is wrong, too" '"problem": "broken/params.def:1'
expect "the family alone" 2 families broken --family-path "$work/own"
expect "a spec of it" 2 run broken --target cpu:gfx950 --no-cache \
    --family-path "$work/own"
expect "one of another" 0 key mine --target cpu:gfx950 \
    --family-path "$work/own"

run devices --json
if grep -q '"target": "cuda:' "$out"; then
    skip "a cuda target without a device: there is one here"
else
    expect "no cuda device" 3 run $loader --target cuda:sm_90a --json
    json "no cuda device is JSON"
    answers "no device: not verified" '"verified": null'
    has "no device: says so" error
fi
if GROAT_CXX=$work/none "$groat" run $loader --target cpu:gfx950 --no-cache \
    >"$out" 2>"$err"; then
    fail "no compiler" "it ran"
else
    code=$?
    [ $code -eq 3 ] && pass "no compiler" ||
        fail "no compiler" "exit code $code"
fi
# ---- every input has a file of its own
sm="--target cpu:sm_90a"
cat >"$work/table.py" <<'END'
import struct, sys
count, last = int(sys.argv[1]), int(sys.argv[2])
sys.stdout.buffer.write(struct.pack("<%dI" % count, *([last] * count)))
END
if command -v python3 >/dev/null 2>&1; then
    expect "an input that is not there" 2 run paged_row_indices $sm \
        --input none="$work/zeros"
    says "the inputs are named" "it has cache, page_table, lengths"
    expect "an input of the wrong size" 2 run paged_row_indices $sm \
        --input page_table="$work/short"
    says "the buffer is named" "buffer page_table has"
    bytes=$(sed -n 's/.*buffer page_table has \([0-9]*\) bytes.*/\1/p' "$err")
    python3 "$work/table.py" $((bytes / 4)) 1 >"$work/ones"
    python3 "$work/table.py" $((bytes / 4)) 1000000 >"$work/outside"
    expect "a page table of one's own" 0 run paged_row_indices $sm --seed 3 \
        --input page_table="$work/ones"
    answers "is used" "verified  yes"
    expect "one that names no block" 2 run paged_row_indices $sm \
        --input page_table="$work/outside"
    says "the block is named" "a block of the page table is 1000000"
    expect "one that is given twice" 2 run paged_row_indices $sm \
        --input page_table="$work/ones" --input page_table="$work/ones"
    says "the buffer is named" "given twice for buffer page_table"
    python3 "$work/table.py" 2 7 >"$work/lengths"
    expect "other lengths" 2 run paged_row_indices $sm \
        --input lengths="$work/lengths"
    says "the length is named" "a length is 7"
    python3 "$work/table.py" 2 1000000 >"$work/lengths"
    expect "lengths beyond the keys" 2 run kv_producer_pipeline $sm \
        --input lengths="$work/lengths"
    says "the bound is named" "a length is 1000000; at most --num-keys,"
else
    skip "inputs: no python3"
fi
# A head has scales even if no sequence has a key.
expect "attention over no keys" 0 run paged_attention_decode:kv_dtype=e4m3,kv_scale=head \
    --target cpu:sm_90a --arg keys=0 --arg sequences=2 --arg kv_heads=1
answers "is right" "verified  yes"
# A compiler is started in the root folder: a relative folder of PATH is no place.
mkdir "$work/bin"
printf '#!/bin/sh\nexit 9\n' >"$work/bin/c++"
chmod +x "$work/bin/c++"
cd "$work" || exit 1
PATH="bin:$PATH" expect "a relative folder of PATH" 0 run $loader \
    --target cpu:gfx950 --no-cache
finish
