#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Messages and exit codes of run, build and demo when library calls fail.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
case ${GROAT_SANITIZE:-no} in
no) ;;
*)
    echo "SKIP: a library cannot be put in front of a build with sanitizers"
    exit 77
    ;;
esac
if ! ${CC:-cc} -std=c11 -D_GNU_SOURCE -fPIC -shared -o "$work/inject.so" \
    -I"${top_builddir:-$tree/build}/include" -I"$tree/include" \
    "$here/inject.c" -ldl 2>"$work/cc"; then
    fail "inject.c compiles" "$(head -n 3 "$work/cc")"
    finish
fi
LD_PRELOAD=$work/inject.so
export LD_PRELOAD
injected() {
    GROAT_INJECT=$1
    export GROAT_INJECT
}

injected probe
run --version
if ! grep -q injected "$out"; then
    echo "SKIP: the tool has the library linked into it"
    exit 77
fi

injected none
expect "nothing injected" 0 run $loader

injected flip
expect "a wrong byte" 1 run $loader
answers "says NO" "verified  NO: 1 of "
answers "says where" "[9]"
expect "a wrong byte, JSON" 1 run $loader --json --output "$work/o"
json "a wrong byte is JSON"
answers "is not verified" '"verified": false'
answers "has one mismatch" '"mismatches": 1,'
answers "has its offset" '"offset": 9,'
[ -s "$work/o" ] && pass "the output is written all the same" ||
    fail "the output is written all the same"
expect "a picture of wrong bytes" 1 draw $loader -o "$work/wrong.svg" --json
says "it says so" "the picture is of a run with wrong bytes"
answers "in JSON, too" '"verified": false'
grep -q 'THE RUN WAS WRONG: 1 of ' "$work/wrong.svg" && pass "and in it" ||
    fail "and in it"
expect "a wrong byte in the second of two" 1 run $loader $loader --json
json "two with wrong bytes are JSON"

for case in judged:1 launch:1 load:1 memory:1 compile:4; do
    what=${case%:*}
    injected "$what"
    expect "$what" "${case#*:}" run $loader
    says "$what: the text is told" "groat: injected"
    says "$what: the log is told" "second line"
    expect "$what, JSON" "${case#*:}" run $loader --json
    json "$what is JSON"
    has "$what has error" error
    expect "$what, drawn" "${case#*:}" draw $loader -o "$work/$what.svg"
    says "$what, drawn: the text is told" "groat: injected"
    [ -e "$work/$what.svg" ] && fail "$what, drawn: leaves nothing" ||
        pass "$what, drawn: leaves nothing"
    expect "$what, reported" "${case#*:}" run $loader --target cpu:gfx950 \
        --report banks --json
    answers "$what has no report" '"banks": null'
    answers "$what has the log" 'first line\nsecond line'
    case $what in
    judged) answers "judged is not verified" '"verified": false' ;;
    *) answers "$what leaves it open" '"verified": null' ;;
    esac
done

injected time
expect "a launch that cannot be timed" 1 run $loader --time
says "its text is told" "groat: injected"
expect "a launch that cannot be timed, JSON" 1 run $loader --time --json
json "it is JSON"
answers "the run was right all the same" '"verified": true'
expect "launches that are not" 0 run $loader

injected compile
expect "build: the compiler refused" 4 build $loader
expect "build: the same in JSON" 4 build $loader --json
json "build: is JSON"
answers "build: the status is there" '"status": "compile failed"'

injected flip
expect "demo with a wrong byte" 1 demo --target cpu:gfx950 --json
json "demo with a wrong byte is JSON"
answers "demo says false" '"verified": false'
injected compile
expect "demo with a compiler that refuses" 4 demo --target cpu:gfx950

# A full disk loses nothing.
injected none
expect "a kernel is stored" 0 build $loader
injected full
expect "clear on a full disk" 1 cache clear
says "clear: says what to do" "the disk is full"
expect "gc on a full disk" 1 cache gc --max-bytes 1
injected none
expect "the store is sound" 0 cache verify
answers "and has its entry" "1 entr"
expect "clear with room" 0 cache clear
finish
