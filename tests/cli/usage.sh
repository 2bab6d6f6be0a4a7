#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit codes and messages for every kind of bad input to every command.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
commands=$("$groat" help --json | sed -n 's/^      "name": "\(.*\)",$/\1/p')
[ -n "$commands" ] || fail "the table of commands is not empty"

expect "no command" 2
expect "unknown command" 2 frobnicate
says "the unknown command is named" frobnicate
expect "a slip in a command" 2 rnu
says "the nearest command is named" "did you mean run?"
expect "two slips in three letters" 2 rnx
says "it is named, too" "did you mean run?"
expect "empty command" 2 ""
expect "control characters in a command" 2 "$(printf 'r\033[2Jn')"
if LC_ALL=C grep -q "$(printf '\033')" "$err"; then
    fail "control characters do not reach the terminal"
else
    pass "control characters do not reach the terminal"
fi

for command in $commands; do
    expect "$command: unknown option" 2 "$command" --no-such-option x
    says "$command: the option is named" "--no-such-option"
    says "$command: the way to help is named" "groat help $command"
    expect "$command: unknown short option" 2 "$command" -z
    expect "$command: a value for a flag" 2 "$command" --json=1
    expect "$command: help" 0 "$command" --help
    answers "$command: help shows its options" "--json"
    expect "help $command" 0 help "$command"
done
for command in run build source key explain; do
    expect "$command: no SPEC" 2 "$command"
    expect "$command: empty SPEC" 2 "$command" ""
    expect "$command: unknown family" 2 "$command" no_such_family
    says "$command: the family is named" no_such_family
    expect "$command: colon only" 2 "$command" :
    expect "$command: no value" 2 "$command" "$loader:dtype"
    expect "$command: empty value" 2 "$command" "$loader:dtype="
    expect "$command: unknown parameter" 2 "$command" "$loader:colour=red"
    says "$command: the parameter is named" colour
    expect "$command: duplicate parameter" 2 \
        "$command" "$loader:dtype=bf16,dtype=bf16"
    expect "$command: value not allowed" 2 "$command" "$loader:dtype=f7"
    says "$command: the value is named" f7
    expect "$command: a number out of range" 2 "$command" "$loader:tile_rows=7"
    expect "$command: a huge number" 2 \
        "$command" "$loader:tile_rows=99999999999999999999999999"
    expect "$command: a negative number" 2 "$command" "$loader:tile_rows=-8"
    expect "$command: control characters in a SPEC" 2 \
        "$command" "$loader:dtype=$(printf '\001\033[2J\177')"
    expect "$command: a bad byte" 2 "$command" "$(printf '\377\376')"
    expect "$command: unknown target" 2 "$command" $loader --target tpu:v5
    says "$command: the target is named" tpu:v5
    expect "$command: unknown arch" 2 "$command" $loader --target cpu:gfx1
    expect "$command: half a target" 2 "$command" $loader --target cpu:
    expect "$command: empty target" 2 "$command" $loader --target ""
    expect "$command: option without its value" 2 "$command" $loader --target
    says "$command: says which option lacks a value" "--target"
    expect "$command: a family of a missing folder" 2 \
        "$command" mine --family-path "$work/none"
    says "$command: the folder is told" "folder $work/none cannot be read"
done
for command in source key; do
    expect "$command: two SPECs" 2 "$command" $loader $loader
done
for command in devices doctor demo; do
    expect "$command: a word too many" 2 "$command" word
done

# Linux limits one word of a command line to 128 KiB, so the long spec stays
# below that.
long=$(head -c 120000 /dev/zero | tr '\0' a)
for command in run build source key families; do
    expect "$command: a very long word" 2 "$command" "$long"
    size=$(wc -c <"$err")
    if [ "$size" -gt 0 ] && [ "$size" -lt 2000 ]; then
        pass "$command: answered in a short line"
    else
        fail "$command: answered in a short line" "$size bytes"
    fi
done
expect "a very long parameter value" 2 run "$loader:dtype=$long"
expect "a very long option" 2 run "--$long"
expect "a very long command" 2 "$long"

for bad in -1 0 abc 1x 1.5 1e3 99999999999999999999 "" " 1" +1; do
    expect "--repeat '$bad'" 2 run $loader --repeat "$bad"
    says "--repeat '$bad' is named" "--repeat"
done
for bad in -1 abc 0x 0xg 0x0x5 18446744073709551616; do
    expect "--seed '$bad'" 2 run $loader --seed "$bad"
done
for bad in -1 x 4096; do
    expect "--device '$bad'" 2 run $loader --device "$bad"
done
for bad in 0 -1 1T K 99999999999G; do
    expect "--max-bytes '$bad'" 2 cache gc --max-bytes "$bad"
done
says "--max-bytes: the units are named" "K, M or G"
expect "a slip in a run-time argument" 2 run $loader --valid-rwos 1
says "the nearest run-time argument is named" "did you mean --valid-rows?"
expect "an argument of no family here" 2 run $loader --rowz 1
says "how others take one is said" "a family of one's own takes --arg rowz=VALUE"
expect "a folder that is no family" 2 run ./nothing --target cpu:gfx950
says "what it lacks is said" "no folder of that name with a params.def"
mkdir "$work/my_loader" "$work/other"
: >"$work/my_loader/params.def"
expect "a folder by a slip" 2 run "$work/my_laoder/:rows=1" --target cpu:gfx950
says "the nearest folder is named" "did you mean '$work/my_loader'?"
expect "a folder beside none" 2 run "$work/none/at/all" --target cpu:gfx950
expect "--max-bytes without gc" 2 cache stat --max-bytes 1K
expect "cache: no subcommand" 2 cache
expect "cache: unknown subcommand" 2 cache frob
says "cache: the subcommands are named" "verify"
expect "a subcommand by a slip" 2 cache lst
says "the nearest subcommand is named" "did you mean 'list'?"
expect "cache show: no prefix" 2 cache show
expect "cache show: prefix is no hex" 2 cache show xyz
expect "cache show: prefix too long" 2 \
    cache show 0123456789abcdef0123456789abcdef0
expect "cache stat: a word too many" 2 cache stat more
expect "cache list: a word too many" 2 cache list more
expect "a family by a slip" 2 key tile_loader_ld --target cpu:gfx950
says "the nearest is named" "did you mean 'tile_loader_lds'?"
expect "a parameter by a slip" 2 key tile_loader_lds:tile_row=64 \
    --target cpu:gfx950
says "the nearest is named, too" "did you mean 'tile_rows'?"
expect "a value by a slip" 2 key tile_loader_lds:dtype=b16 --target cpu:gfx950
says "the nearest value is named" "did you mean 'bf16'?"
expect "an arch alone" 2 key tile_loader_lds --target gfx950
says "its targets are named" "did you mean hip:gfx950 or cpu:gfx950?"
expect "an arch of another backend" 2 key tile_loader_lds --target cuda:gfx950
says "its targets are named, too" "did you mean hip:gfx950 or cpu:gfx950?"
expect "blanks around commas" 0 key \
    "tile_loader_lds: tile_rows=64 , dtype=fp8" --target cpu:gfx950
cp "$out" "$work/blanks"
expect "and none" 0 key "tile_loader_lds:tile_rows=64,dtype=fp8" \
    --target cpu:gfx950
cmp -s "$out" "$work/blanks" || fail "both are one kernel"
expect "families: unknown" 2 families no_such_family
expect "families: a slip" 2 families tile_loader_lsd
says "families: the nearest is named" "did you mean tile_loader_lds"
expect "families: arguments" 0 families paged_row_indices
answers "their units are told" "  rows  "
expect "help: unknown" 2 help frobnicate
expect "--input with two SPECs" 2 run $loader $loader --input /dev/null
expect "--output with two SPECs" 2 run $loader $loader --output "$work/o"
expect "build --output with two targets" 2 build $loader --output "$work/o" \
    --target cpu:gfx950 --target cpu:sm_90a
expect "a driver's argument out of range" 2 run $loader \
    --first-row 99999999999999999
expect "a driver's argument that is no number" 2 run $loader --first-row many
says "it is named as it is typed" "--first-row is 'many'"
expect "a run-time argument at another command" 2 build $loader --first-row 1
expect "--sanitize on a GPU target" 2 run $loader --sanitize \
    --target cuda:sm_90a
expect "words behind --" 2 run -- --json
says "words behind -- are no options" "--json"
# An option that is no list and given twice is reported once.
for twice in "--seed 1 --seed 1" "--target cpu:gfx950 --target cpu:gfx90a" \
    "--repeat 1 --repeat=2" "--json --json" "--cache-dir a --cache-dir a" \
    "--grid 1 --grid 1" "--first-row 0 --first_row 0"; do
    # shellcheck disable=SC2086
    expect "run: $twice" 2 run $loader $twice
    says "run: $twice: named" "${twice%%[ =]*} is given twice"
done
for command in source key bench demo; do
    words=$loader
    case $command in bench) words=hit ;; demo) words= ;; esac
    # shellcheck disable=SC2086
    expect "$command: two targets" 2 "$command" $words --target cpu:gfx950 \
        --target cpu:gfx90a
done
expect "gc: two bounds" 2 cache gc --max-bytes 1G --max-bytes 2G
expect "build: one bad target of two" 2 build $loader --target cpu:gfx950 \
    --target tpu:v5
expect "--version" 0 --version
answers "--version prints name and number" "groat "
expect "an unknown bench" 2 bench frobnicate
# A -- that is an option's value does not end the options.
expect "a value that is two dashes" 2 build tile_loader_lds --target -- --json
json "is answered in JSON"
expect "cache verify of two bundles" 2 cache verify one two
finish
