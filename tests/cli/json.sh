#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --json: exactly one object with "format": 1 on stdout, in every case; manual.sh
# looks at each command's members.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds

printf '{"format": 1}{"a": 2}' >"$work/two"
printf '{"format": 1, "a": [}' >"$work/broken"
for bad in two broken; do
    if is_json "$work/$bad"; then
        fail "the check of JSON itself refuses $bad"
    else
        pass "the check of JSON itself refuses $bad"
    fi
done

expect "version" 0 --version --json
json "version is JSON"
has "version has its member" version
for command in $("$groat" help --json |
    sed -n 's/^      "name": "\(.*\)",$/\1/p'); do
    expect "$command --help" 0 "$command" --help --json
    json "$command --help is JSON"
    expect "$command: usage error" 2 "$command" --json --no-such-option
    json "$command: usage error is JSON"
    has "$command: usage error has its member" error
    answers "$command: the status is there" '"status": "invalid"'
done
expect "no such command" 2 frobnicate --json
json "no such command is JSON"

expect "run" 0 run $loader --json --target cpu:gfx950
json "run is JSON"
for member in format spec key target name origin compile_ms load_ms get_ms \
    launch_us clock verified mismatches first_mismatch bytes moved_bytes \
    gb_per_s facts registers spill_bytes code_bytes log; do
    has "run has $member" $member
done
answers "run verified" '"verified": true'
answers "no mismatch" '"first_mismatch": null'

expect "two runs" 0 run $loader $loader:tile_rows=32 --json
json "two runs are JSON"
has "two runs have their member" runs
expect "run of a bad spec" 2 run $loader:dtype=f7 --json
json "run of a bad spec is JSON"
has "run of a bad spec has an error" error

run build $loader --json --target cpu:gfx950
key=$(sed -n 's/^ *"key": "\(.*\)",$/\1/p' "$out" | head -n 1)
expect "build without JSON" 0 build $loader --target cpu:gfx950
answers "build tells the key" "cpu:gfx950  $key "
expect "one family" 0 families $loader --json
json "one family is JSON"
answers "a parameter says what it means" '"meaning": "rows of a tile"'
expect "completion data" 0 completion-data --json
json "completion data is JSON"
answers "a datum says of what it is" '"of": "run"'
run devices --json
grep -q 'no GPU found' "$err" && fail "devices in JSON says no more" ||
    pass "devices in JSON says no more"
run devices
if [ -s "$out" ]; then
    grep -q 'no GPU found' "$err" && fail "devices that are there" ||
        pass "devices that are there"
else
    says "no devices" 'no GPU found'
fi
# The vendors' libraries that doctor opens keep allocated memory.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
run doctor --json
case $code in
0 | 3) pass "doctor" ;;
*) fail "doctor" "exit code $code" ;;
esac
json "doctor is JSON"
code=0
GROAT_CXX=$work/none "$groat" doctor --json >"$out" 2>"$err" || code=$?
json "doctor without a compiler is JSON"
grep -q "GROAT_CXX=$work/none" "$out" && pass "doctor says why there is no c++" ||
    fail "doctor says why there is no c++" "$(grep -A2 'c++' "$out" | head -3)"
if [ "$code" -eq 3 ]; then
    has "doctor without a compiler says so" error
else
    pass "doctor: the default target needs no C++ compiler here"
fi
expect "a word with all kinds of bytes" 2 run \
    "$(printf 'a"\\\001\t\n\377\303\251')" --json
json "a word with all kinds of bytes is JSON"
finish
